# Read by ctest: one entry for each GoogleTest suite of ${program}, named ${room}.Suite; a suite of
# many tests (a law over all operators) is split into entries ${room}.Suite.1, .2, ... so that all
# cores have work. A program that isn't built or can't list its tests is an entry that fails.
# ${emulator} is what runs programs of another architecture, empty for this machine's own.
set(part 200)  # tests

set(output "")
if(EXISTS "${program}")
  execute_process(COMMAND ${emulator} "${program}" --gtest_list_tests OUTPUT_VARIABLE output
                  RESULT_VARIABLE status)
endif()
string(REGEX MATCHALL "(^|\n)[A-Za-z0-9_/ ]+\\.?" lines "${output}")
if(NOT lines OR NOT status EQUAL 0)
  add_test(${room}.not_built ${emulator} "${program}")
endif()

function(add_entry name suite)
  add_test(${name} ${emulator} "${program}" "--gtest_filter=${suite}.*" --gtest_brief=1)
  set_tests_properties(${name} PROPERTIES LABELS ${room} TIMEOUT 600
                       WORKING_DIRECTORY "${folder}" ENVIRONMENT "${ARGN}")
  if(emulator)
    set_tests_properties(${name} PROPERTIES ENVIRONMENT "${ARGN};CLEAVE_TEST_EMULATED=1" TIMEOUT 3000)
  endif()
endfunction()

function(add_suite suite tests)
  if(suite MATCHES "^Peer(Optimizer)?$")  # run beside what PyTorch writes: test/CMakeLists.txt
    return()
  endif()
  math(EXPR parts "(${tests} + ${part} - 1) / ${part}")
  if(parts LESS 2)
    add_entry(${room}.${suite} ${suite})
    return()
  endif()
  foreach(k RANGE 1 ${parts})
    math(EXPR index "${k} - 1")
    add_entry(${room}.${suite}.${k} ${suite} GTEST_TOTAL_SHARDS=${parts} GTEST_SHARD_INDEX=${index})
  endforeach()
endfunction()

set(suite "")
set(tests 0)
foreach(line IN LISTS lines)
  string(REGEX REPLACE "^\n" "" line "${line}")
  if(line MATCHES "^ ")
    math(EXPR tests "${tests} + 1")
  elseif(line MATCHES "^(.+)\\.$")
    if(suite)
      add_suite(${suite} ${tests})
    endif()
    set(suite "${CMAKE_MATCH_1}")
    set(tests 0)
  endif()
endforeach()
if(suite)
  add_suite(${suite} ${tests})
endif()
