# Each of INPUTS without its comment lines as the string `NAME_text` in OUTPUT.
set(out "")
foreach(input ${INPUTS})
  get_filename_component(name ${input} NAME_WE)
  file(READ ${input} text)
  string(REGEX REPLACE "\n//[^\n]*" "" text "\n${text}")
  string(APPEND out "constexpr const char* ${name}_text = R\"clv(${text})clv\";\n")
endforeach()
file(WRITE ${OUTPUT} "${out}")
