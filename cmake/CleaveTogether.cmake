# Files of one folder that are compiled as one, a few at a time: most of a small file's compile time
# goes into the headers that it shares with its neighbours (src/ takes half the time then, tests a
# third). A name at file scope is then known to the files after it, so what declares a name that a
# neighbour declares too is compiled alone: rooms whose files have the same parts by design (an
# operator's infer, a command's Options, a kernel for each instruction set), and the files below.
set(CLEAVE_TOGETHER 6 CACHE STRING "Files that are compiled as one; 1: each alone")

set(cleave_alone_rooms "^(src/(op|pass|runtime|inspect|import/exported|import/onnx|export/onnx)|test/(runtime|train))/")
set(cleave_alone
    src/base/target_here.cpp  # tests replace its object
    src/emit/lane_reduce.cpp
    src/flow/max_flow.cpp
    src/import/safetensors_write.cpp
    src/ir/dim.cpp
    src/loop/parse_number.cpp
    src/lower/fuse_rows.cpp
    src/plan/offsets_search.cpp
    src/plan/offsets_verify.cpp
    src/pretrained/bert.cpp  # models have the same parts
    src/pretrained/gpt2.cpp
    src/pretrained/llama.cpp
    src/pretrained/vit.cpp
    src/remat/cut_graph.cpp
    src/remat/whole_candidates.cpp
    test/backend/simulated_cublas.cpp
    test/backend/simulated_cudnn.cpp
    test/backend/simulated_device.cpp
    test/backend/simulated_threads.cpp
    test/data/file_source_test.cpp
    test/emit/lane_writer_test.cpp
    test/interp/interpret_ranks_test.cpp
    test/ir/print_test.cpp
    test/loop/shared_parts_test.cpp
    test/lower/place_test.cpp
    test/lower/save_memory_test.cpp
    test/op/symbolic_shape_test.cpp
    test/pass/autocast_test.cpp
    test/schedule/share_kernels_test.cpp)

function(cleave_compile_together target)
  if(CLEAVE_TOGETHER LESS 2)
    return()
  endif()
  get_target_property(sources ${target} SOURCES)
  list(SORT sources)
  set(last "")
  foreach(source IN LISTS sources)
    cmake_path(RELATIVE_PATH source BASE_DIRECTORY ${PROJECT_SOURCE_DIR} OUTPUT_VARIABLE file)
    cmake_path(GET file PARENT_PATH folder)
    if(NOT file MATCHES "^(src|test)/.*\\.cpp$" OR file MATCHES "${cleave_alone_rooms}" OR
       file IN_LIST cleave_alone)
      continue()
    endif()
    if(NOT folder STREQUAL last)
      set(last ${folder})
      set(number 0)
    endif()
    math(EXPR group "${number} / ${CLEAVE_TOGETHER}")
    math(EXPR number "${number} + 1")
    string(REPLACE "/" "_" name ${folder})
    set_property(SOURCE ${source} PROPERTY UNITY_GROUP ${name}_${group})
  endforeach()
  set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_MODE GROUP)
endfunction()
