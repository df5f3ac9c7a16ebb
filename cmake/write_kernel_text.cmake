# INPUT without its comment lines as the string `kernel_functions_text` in OUTPUT.
file(READ ${INPUT} text)
string(REGEX REPLACE "\n//[^\n]*" "" text "\n${text}")
file(WRITE ${OUTPUT} "constexpr const char* kernel_functions_text = R\"clv(${text})clv\";\n")
