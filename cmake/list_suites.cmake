# Read by ctest: one entry for each GoogleTest suite of ${program}, named ${room}.Suite. A program
# that isn't built or can't list its tests is an entry that fails.
set(output "")
if(EXISTS "${program}")
  execute_process(COMMAND "${program}" --gtest_list_tests OUTPUT_VARIABLE output
                  RESULT_VARIABLE status)
endif()
string(REGEX MATCHALL "(^|\n)[A-Za-z0-9_/]+\\.[^\n]*" lines "${output}")
if(NOT lines OR NOT status EQUAL 0)
  add_test(${room}.not_built "${program}")
endif()
foreach(line IN LISTS lines)
  string(REGEX REPLACE "^\n?([A-Za-z0-9_/]+)\\..*" "\\1" suite "${line}")
  add_test(${room}.${suite} "${program}" "--gtest_filter=${suite}.*" --gtest_brief=1)
  set_tests_properties(${room}.${suite} PROPERTIES LABELS ${room} TIMEOUT 600
                       WORKING_DIRECTORY "${folder}")
endforeach()
