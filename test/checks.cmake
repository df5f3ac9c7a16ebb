# The developer scripts as tests, with the label `check`: the text checks and the comparison with
# PyTorch beside g++, clang-tidy beside clang (it reads clang's commands), none in a tree with
# sanitizers.
if(CLEAVE_SANITIZE OR CLEAVE_FUZZ)
  return()
endif()
set(scripts ${PROJECT_SOURCE_DIR}/script)

function(add_check name)
  add_test(NAME check.${name} COMMAND ${ARGN} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
  set_tests_properties(check.${name} PROPERTIES LABELS check TIMEOUT 900 SKIP_RETURN_CODE 77)
endfunction()

if(CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64" AND NOT CLEAVE_ROOMS)
  add_check(targets ${scripts}/check_targets ${PROJECT_BINARY_DIR})
endif()
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  add_check(tidy ${scripts}/tidy ${PROJECT_BINARY_DIR})
  set_tests_properties(check.tidy PROPERTIES PROCESSORS 2 TIMEOUT 1800)
else()
  add_check(layers ${scripts}/check_layers)
  add_check(layers_planted python3 ${CMAKE_CURRENT_SOURCE_DIR}/layers/check_layers_test.py)
  add_check(failures ${scripts}/check_failures)
  add_check(failures_planted python3 ${CMAKE_CURRENT_SOURCE_DIR}/layers/check_failures_test.py)
  add_check(tests ${scripts}/check_tests)
  add_check(format ${scripts}/format)
  add_check(readme ${scripts}/check_readme)
  add_check(how_do_i ${scripts}/check_readme doc/how_do_i.md)
  add_check(mistakes ${scripts}/mistakes)
  add_check(example ${CMAKE_COMMAND} -E env CXX=${CMAKE_CXX_COMPILER} ${scripts}/check_example
            ${PROJECT_BINARY_DIR})
  set_tests_properties(check.example PROPERTIES PROCESSORS 2)
  if(TARGET write_samples)
    add_check(samples_beside_pytorch python3 ${CMAKE_CURRENT_SOURCE_DIR}/peer/samples.py
              $<TARGET_FILE:write_samples>)
  endif()
endif()
