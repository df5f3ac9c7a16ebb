# bench/X.cpp is the executable bench_X; `benches` builds them all.
add_custom_target(benches)
file(GLOB bench_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/bench/*.cpp)
if(bench_sources)
  find_package(benchmark REQUIRED)
endif()
# What several benchmarks run on.
file(GLOB bench_graph_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/bench/graphs/*.cpp)
add_library(cleave_bench_graphs STATIC EXCLUDE_FROM_ALL ${bench_graph_sources})
target_include_directories(cleave_bench_graphs PUBLIC ${PROJECT_SOURCE_DIR})
target_link_libraries(cleave_bench_graphs PUBLIC cleave_internal)
foreach(source IN LISTS bench_sources)
  get_filename_component(name ${source} NAME_WE)
  add_executable(bench_${name} EXCLUDE_FROM_ALL ${source})
  target_include_directories(bench_${name} PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(bench_${name} PRIVATE cleave_bench_graphs cleave_internal
                                              cleave_test_dependencies
                                              benchmark::benchmark_main benchmark::benchmark)
  add_dependencies(benches bench_${name})
endforeach()
# The model that `cleave train` trains.
foreach(bench bench_step bench_budget bench_budget_reach bench_compile_time bench_sizes bench_pass_effect bench_frozen
              bench_ahead_of_time bench_partial)
  if(TARGET ${bench})
    target_sources(${bench} PRIVATE ${PROJECT_SOURCE_DIR}/tool/gpt.cpp)
  endif()
endforeach()
foreach(bench bench_step bench_budget_reach bench_compile_time bench_sizes bench_pass_effect bench_ahead_of_time
              bench_partial)
  if(TARGET ${bench})
    target_sources(${bench} PRIVATE ${PROJECT_SOURCE_DIR}/bench/models/step_models.cpp)
  endif()
endforeach()
# The reader of `cleave plan`.
if(TARGET bench_offsets)
  target_sources(bench_offsets PRIVATE ${PROJECT_SOURCE_DIR}/tool/buffer_table.cpp)
endif()
# The random calls of the CUDA backend's tests.
if(TARGET bench_device_library)
  target_sources(bench_device_library PRIVATE ${PROJECT_SOURCE_DIR}/test/backend/library_cases.cpp)
endif()
