# cleave_kernel_text(var): the rule that writes generated/kernel_functions_text.inc, the text of
# src/emit/kernel_functions.h without its comment lines as a string constant.
function(cleave_kernel_text var)
  set(input ${PROJECT_SOURCE_DIR}/src/emit/kernel_functions.h)
  set(script ${PROJECT_SOURCE_DIR}/cmake/write_kernel_text.cmake)
  set(output ${PROJECT_BINARY_DIR}/generated/kernel_functions_text.inc)
  add_custom_command(
    OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} -DINPUT=${input} -DOUTPUT=${output} -P ${script}
    DEPENDS ${input} ${script}
    COMMENT "kernel_functions_text.inc")
  set(${var} ${output} PARENT_SCOPE)
endfunction()
