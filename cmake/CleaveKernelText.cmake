# cleave_kernel_text(var): the rule that writes generated/kernel_text.inc, the texts that kernels
# are written with (src/emit/{kernel_functions,elementary_functions,lane_words,lane_scale,
# lane_memory,lane_philox}.h) without their comment lines, as string constants.
function(cleave_kernel_text var)
  set(folder ${PROJECT_SOURCE_DIR}/src/emit)
  set(inputs ${folder}/kernel_functions.h ${folder}/elementary_functions.h ${folder}/lane_words.h
             ${folder}/lane_scale.h ${folder}/lane_memory.h ${folder}/lane_philox.h)
  set(script ${PROJECT_SOURCE_DIR}/cmake/write_kernel_text.cmake)
  set(output ${PROJECT_BINARY_DIR}/generated/kernel_text.inc)
  add_custom_command(
    OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} "-DINPUTS=${inputs}" -DOUTPUT=${output} -P ${script}
    DEPENDS ${inputs} ${script}
    COMMENT "kernel_text.inc"
    VERBATIM)
  set(${var} ${output} PARENT_SCOPE)
endfunction()
