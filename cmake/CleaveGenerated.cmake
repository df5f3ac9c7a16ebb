# cleave_generated(var name source...): the rule that writes generated/NAME.inc of the sources by
# cmake/write_NAME.cmake. It runs when a source changes, comes or goes; the script touches its output
# only where a line changes.
function(cleave_generated var name)
  list(JOIN ARGN "," sources)  # in the command, so that a file that goes runs the rule too
  set(script ${PROJECT_SOURCE_DIR}/cmake/write_${name}.cmake)
  set(output ${PROJECT_BINARY_DIR}/generated/${name}.inc)
  add_custom_command(
    OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} -DSOURCES=${sources} -DOUTPUT=${output} -P ${script}
    DEPENDS ${ARGN} ${script}
    COMMENT "${name}.inc")
  set(${var} ${output} PARENT_SCOPE)
endfunction()
