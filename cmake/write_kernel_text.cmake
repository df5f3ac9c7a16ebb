# cmake -DSOURCES=a.h,b.h -DOUTPUT=kernel_text.inc -P write_kernel_text.cmake
# Each source without its comment lines, as the string constant `NAME_text`.
string(REPLACE "," ";" sources "${SOURCES}")
set(out "")
foreach(source IN LISTS sources)
  get_filename_component(name ${source} NAME_WE)
  file(READ ${source} text)
  string(REGEX REPLACE "\n//[^\n]*" "" text "\n${text}")
  string(APPEND out "constexpr const char* ${name}_text = R\"clv(${text})clv\";\n")
endforeach()
file(CONFIGURE OUTPUT ${OUTPUT} CONTENT "${out}" @ONLY)  # written only where it differs
