# cleave_generated(var names source...): the rule that writes generated/NAME.inc, for each of the
# names, of the sources by cmake/write_NAME.cmake of the first. It runs when a source changes, comes
# or goes; the script touches its outputs only where a line changes.
function(cleave_generated var names)
  list(JOIN ARGN "," sources)  # in the command, so that a file that goes runs the rule too
  list(GET names 0 name)
  set(script ${PROJECT_SOURCE_DIR}/cmake/write_${name}.cmake)
  set(folder ${PROJECT_BINARY_DIR}/generated)
  list(TRANSFORM names REPLACE "(.+)" "${folder}/\\1.inc" OUTPUT_VARIABLE outputs)
  add_custom_command(
    OUTPUT ${outputs}
    COMMAND ${CMAKE_COMMAND} -DSOURCES=${sources} -DOUTPUT=${folder}/${name}.inc
            -DCXX=${CMAKE_CXX_COMPILER} -P ${script}
    DEPENDS ${ARGN} ${script}
    COMMENT "${name}.inc")
  set(${var} ${outputs} PARENT_SCOPE)
endfunction()

# cleave_source_digest(var): generated/source_digest.inc, a digest of all that is compiled into
# cleave (base/build_identity.h).
function(cleave_source_digest var)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS
       ${PROJECT_SOURCE_DIR}/src/*.cpp ${PROJECT_SOURCE_DIR}/src/*.h
       ${PROJECT_SOURCE_DIR}/include/cleave/*.h)
  set(script ${PROJECT_SOURCE_DIR}/cmake/write_source_digest.cmake)
  set(output ${PROJECT_BINARY_DIR}/generated/source_digest.inc)
  add_custom_command(
    OUTPUT ${output}
    COMMAND ${CMAKE_COMMAND} -DROOT=${PROJECT_SOURCE_DIR} -DOUTPUT=${output} -P ${script}
    DEPENDS ${sources} ${script}
    COMMENT "source_digest.inc")
  set(${var} ${output} PARENT_SCOPE)
endfunction()
