# cmake -DSOURCES=a.cpp,b.h -DOUTPUT=thresholds.inc -P write_thresholds.cmake
# A line CLEAVE_THRESHOLD(name, value, "file") for each whole number that a constexpr of the sources
# is made from: 1 << 15 and int64_t{64} too, not what is computed from other constants. At these
# something may be done another way, so random graphs draw sizes around them; a new one enters by
# itself.
string(REPLACE "," ";" sources "${SOURCES}")
set(number "(u?int(32|64)_t[{])?[0-9]+[}]?( *<< *[0-9]+)?")
set(text "")
foreach(source IN LISTS sources)
  get_filename_component(file ${source} NAME)
  file(STRINGS ${source} lines REGEX "constexpr (u?int64_t|u?int32_t|int|size_t) [a-z_]+ *= *[0-9iu]")
  foreach(line IN LISTS lines)
    string(REGEX REPLACE ".*constexpr (u?int64_t|u?int32_t|int|size_t) " "" line "${line}")
    string(REGEX REPLACE "//.*" "" line "${line}")
    string(REPLACE ";" "," line "${line}")
    string(REGEX MATCHALL "[a-z_]+ *= *${number} *," constants "${line},")
    foreach(constant IN LISTS constants)
      string(REGEX REPLACE "^([a-z_]+) *= *(.*[^ ]) *[,]$" "\\1, \\2" constant "${constant}")
      string(APPEND text "CLEAVE_THRESHOLD(${constant}, \"${file}\")\n")
    endforeach()
  endforeach()
endforeach()
file(CONFIGURE OUTPUT ${OUTPUT} CONTENT "${text}" @ONLY)  # written only where it differs
