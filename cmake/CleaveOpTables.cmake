# cleave_op_tables(var): the rule that writes generated/op_tables.inc, a line CLEAVE_OP_TABLE(X) for
# each src/op/X.cpp that says CLEAVE_OPS(X). A new operator file needs no other edit. The rule runs
# when a file of src/op changes, and touches its output only where a line changes.
function(cleave_op_tables var)
  file(GLOB op_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/op/*.cpp)
  list(SORT op_sources)
  list(JOIN op_sources "," names)  # in the command, so that a file that goes runs the rule too
  set(script ${PROJECT_SOURCE_DIR}/cmake/write_op_tables.cmake)
  set(output ${PROJECT_BINARY_DIR}/generated/op_tables.inc)
  add_custom_command(
    OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} -DSOURCES=${names} -DOUTPUT=${output} -P ${script}
    DEPENDS ${op_sources} ${script}
    COMMENT "op_tables.inc")
  set(${var} ${output} PARENT_SCOPE)
endfunction()
