# cmake -DCXX=g++ -DOUTPUT=prelude.inc -P write_prelude.cmake
# The table of the prelude (src/emit/c_prelude.cpp): a row {name, text} for each definition of the
# texts in src/emit; and, beside it in one_element.inc, those for one element as C++ includes them
# (src/emit/c_functions.h). A definition begins at the beginning of a line, as
#
#   INLINE float abs_f32(float x) {      or LANES, LANES_16 (primitives.h), static, a type
#   typedef VECTOR(float, lanes_x16) f32x16;
#   enum { lanes_x16 = 16 };
#   #define EACH(R, f, a)
#
# and goes up to the next. Macros that define functions, such as MIN_MAX(float, f32), are expanded by
# the C preprocessor; #if is left to the compiler of the kernels.
set(folder ${CMAKE_CURRENT_LIST_DIR}/../src/emit)
string(ASCII 1 start)  # of a definition

function(plain var name)
  file(READ ${folder}/${name}.h text)
  string(REGEX REPLACE " *//[^\n]*" "" text "\n${text}")
  string(REGEX REPLACE "\n\n+" "\n" text "${text}")
  set(${var} "${text}" PARENT_SCOPE)
endfunction()

# With the macros expanded that the text defines itself.
function(expanded var name)
  execute_process(COMMAND ${CXX} -E -P -undef -x c ${folder}/${name}.h
                  OUTPUT_VARIABLE text COMMAND_ERROR_IS_FATAL ANY)
  string(REPLACE "INLINE " "\nINLINE " text "\n${text}")
  string(REGEX REPLACE "\n\n+" "\n" text "${text}")
  set(${var} "${text}" PARENT_SCOPE)
endfunction()

foreach(name kernel_types kernel_macros lane_types primitives lane_words lane_memory lane_philox)
  plain(${name} ${name})
endforeach()
foreach(name kernel_functions elementary_functions lane_families)
  expanded(${name} ${name})
endforeach()

# Primitives apart: for one element, for 16 lanes, for 64.
string(REGEX REPLACE "\n(INLINE|LANES|LANES_16|#define) " "\n${start}\\1 " primitives
       "${primitives}")
set(end "[^${start}]*")
string(REGEX REPLACE "${start}(LANES|#define [A-Za-z0-9_]*x16)${end}" "" one "${primitives}")
string(REGEX REPLACE "${start}(INLINE|#define [A-Z]*_f32[(])${end}" "" lanes_16 "${primitives}")
string(REGEX REPLACE "${start}LANES_16${end}" "" lanes_64 "${lanes_16}")
foreach(set one lanes_16 lanes_64)
  string(REPLACE "${start}" "" ${set} "${${set}}")
  string(REGEX REPLACE "\nLANES(_16)? " "\nINLINE " ${set} "${${set}}")
endforeach()
# What 64 lanes have as 16 have it.
set(lanes_64 "${lane_types}${lanes_64}${lane_words}")
string(REPLACE x16 x64 lanes_64 "${lanes_64}")
string(REPLACE "lanes_x64 = 16" "lanes_x64 = 64" lanes_64 "${lanes_64}")
# Elementary functions for 16 lanes: float is f32x16, exp_f32 is exp_f32x16.
set(elementary_16 "${elementary_functions}")
foreach(type float=f32 double=f64 int32_t=i32 int64_t=i64 uint32_t=u32 uint64_t=u64 uint16_t=u16)
  string(REGEX MATCH "(.*)=(.*)" type ${type})
  string(REGEX REPLACE "([^A-Za-z0-9_])${CMAKE_MATCH_1}([^A-Za-z0-9_])" "\\1${CMAKE_MATCH_2}x16\\2"
         elementary_16 "${elementary_16}")
endforeach()
string(REGEX REPLACE "_(f32|f64|i32|i64|u32|u64|u16|bf16|f16)([^A-Za-z0-9_])" "_\\1x16\\2"
       elementary_16 "${elementary_16}")

string(CONCAT one_element "${one}" "${kernel_functions}" "${elementary_functions}")
string(CONCAT text "${kernel_types}" "${kernel_macros}" "${one_element}" "${lane_types}"
       "${lanes_16}" "${lane_words}" "${elementary_16}" "${lanes_64}" "${lane_memory}"
       "${lane_families}" "${lane_philox}")
# From one row to the next.
set(row ")clv\"},\n{\"\\3\", R\"clv(\\1\\3\\4")
string(REGEX REPLACE "\n((INLINE|static|float|double)[^\n(=]*[ *])([A-Za-z0-9_]+)([(])"
       "${row}" text "${text}")
string(REGEX REPLACE "\n((typedef) [A-Za-z0-9_(), ]* )([a-z0-9_]+)(;| __attribute__)" "${row}" text "${text}")
string(REGEX REPLACE "\n((enum) { )([a-z0-9_]+)( )" "${row}" text "${text}")
string(REGEX REPLACE "\n((#define) )([A-Za-z0-9_]+)([( ])" "${row}" text "${text}")
string(FIND "${text}" "{" first)
string(SUBSTRING "${text}" ${first} -1 text)

get_filename_component(folder ${OUTPUT} DIRECTORY)
# Written only where they differ.
file(CONFIGURE OUTPUT ${folder}/one_element.inc CONTENT "${kernel_macros}${one_element}" @ONLY)
file(CONFIGURE OUTPUT ${OUTPUT} CONTENT "${text})clv\"},\n" @ONLY)
