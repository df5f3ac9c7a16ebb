# cmake -DROOT=folder -DOUTPUT=source_digest.inc -P write_source_digest.cmake
# A string of C++: a digest of the sources below ROOT, their names and contents, wherever ROOT is.
file(GLOB_RECURSE sources RELATIVE ${ROOT} ${ROOT}/src/*.cpp ${ROOT}/src/*.h
     ${ROOT}/include/cleave/*.h)
list(SORT sources)
set(digests "")
foreach(source IN LISTS sources)
  file(SHA256 ${ROOT}/${source} digest)
  string(APPEND digests "${digest} ${source}\n")
endforeach()
string(SHA256 digest "${digests}")
file(CONFIGURE OUTPUT ${OUTPUT} CONTENT "\"${digest}\"\n" @ONLY)  # written only where it differs
