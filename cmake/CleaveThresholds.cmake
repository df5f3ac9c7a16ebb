# cleave_thresholds(var): the rule that writes generated/thresholds.inc, a line CLEAVE_THRESHOLD for
# each constant of the sources at which something may be done another way: random graphs draw sizes
# around them. A new constant enters by itself; the output is touched only where a line changes.
function(cleave_thresholds var)
  file(GLOB_RECURSE threshold_sources CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/src/*.cpp
       ${PROJECT_SOURCE_DIR}/src/*.h)
  list(FILTER threshold_sources INCLUDE REGEX
       "/src/(lower|loop|schedule|backend|emit|runtime|compile|op|pass|cut)/")
  list(SORT threshold_sources)
  list(JOIN threshold_sources "," names)
  set(script ${PROJECT_SOURCE_DIR}/cmake/write_thresholds.cmake)
  set(output ${PROJECT_BINARY_DIR}/generated/thresholds.inc)
  add_custom_command(
    OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} -DSOURCES=${names} -DOUTPUT=${output} -P ${script}
    DEPENDS ${threshold_sources} ${script}
    COMMENT "thresholds.inc")
  set(${var} ${output} PARENT_SCOPE)
endfunction()
