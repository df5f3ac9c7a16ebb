# cleave_emulated(var target): bin/emulated/NAME, a script that runs the program NAME of ${target} in the
# emulator, for tests that start it themselves.
function(cleave_emulated var target)
  set(script ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/emulated/$<TARGET_FILE_NAME:${target}>)
  list(JOIN CMAKE_CROSSCOMPILING_EMULATOR " " emulator)
  file(GENERATE OUTPUT ${script} CONTENT
"#!/bin/sh
exec ${emulator} \"$<TARGET_FILE:${target}>\" \"$@\"
"    FILE_PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE GROUP_READ GROUP_EXECUTE WORLD_READ
                     WORLD_EXECUTE)
  set(${var} ${script} PARENT_SCOPE)
endfunction()
