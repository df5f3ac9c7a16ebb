# Samples of the operators' entries as graphs: a library for tests, and programs on it.
#   write_samples  every sample with its results, for the comparison with PyTorch
#   write_graphs   random graphs with their results, for the same
#   fuzz_graphs    random graphs, compiled against the oracle (make fuzz)
#   fuzz_budgets   random training graphs under memory budgets (make fuzz-budgets)
#   fuzz_passes    random instances of the passes' goldens (make fuzz-passes)
#   fuzz_rewrites  random graphs with all passes against them without (make fuzz-rewrites)
#   fuzz_strides   random graphs with strides against them without (make fuzz-strides)
#   fuzz_compile   random graphs in every way that a program can be had (make fuzz-compile)
#   fuzz_partial   random graphs taken apart: regions, halves, call by call (make fuzz-partial)
#   fuzz_reduce    random graphs with planted defects, reduced (make fuzz-reduce)
#   fuzz_cuda      kernels of random graphs as threads of a GPU, simulated (make fuzz-cuda)
#   check_device   all samples and random graphs on a device, against the oracle
#   fuzz_cache     random graphs from one cache in many processes; faults (make fuzz-cache)
file(GLOB sample_sources CONFIGURE_DEPENDS sample/*.cpp)
file(GLOB_RECURSE threshold_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/*.cpp
     ${PROJECT_SOURCE_DIR}/src/*.h)
list(FILTER threshold_sources INCLUDE REGEX "/src/(schedule|lower|loop|simt|emit|backend|runtime|compile|op|pass|cut)/")
list(SORT threshold_sources)
cleave_generated(thresholds thresholds ${threshold_sources})
add_library(cleave_test_samples STATIC EXCLUDE_FROM_ALL ${sample_sources} ${thresholds})
target_include_directories(cleave_test_samples PRIVATE ${PROJECT_BINARY_DIR}/generated)
target_link_libraries(cleave_test_samples PUBLIC cleave_test_settings)
target_precompile_headers(cleave_test_samples REUSE_FROM cleave_test_pch)
cleave_compile_together(cleave_test_samples)
if(CLEAVE_FUZZ OR CLEAVE_ROOMS)
  return()
endif()
foreach(program write_samples write_graphs check_device fuzz_graphs fuzz_budgets fuzz_passes fuzz_rewrites
        fuzz_strides fuzz_cache fuzz_compile fuzz_partial fuzz_reduce fuzz_cuda)
  add_executable(${program} EXCLUDE_FROM_ALL sample/program/${program}.cpp
                 $<TARGET_OBJECTS:cleave_test_target>)
  target_link_libraries(${program} PRIVATE cleave_test_samples)
  target_precompile_headers(${program} REUSE_FROM cleave_test_pch)
  add_dependencies(tests ${program})
endforeach()

# run_onnx_cases: cases of ONNX's node suite (make peer-onnx).
# run_exported_calls: samples of PyTorch's operators (make peer-opinfo).
# run_pretrained: models of transformers (test/peer/pretrained.py).
# run_tokenizer: texts and ids for the comparison with tokenizers (make peer-tokenizer).
foreach(program run_onnx_cases run_exported_calls run_pretrained run_tokenizer)
  add_executable(${program} EXCLUDE_FROM_ALL peer/program/${program}.cpp
                 $<TARGET_OBJECTS:cleave_test_target>)
  target_link_libraries(${program} PRIVATE cleave_test_samples)
  target_precompile_headers(${program} REUSE_FROM cleave_test_pch)
  add_dependencies(tests ${program})
endforeach()
