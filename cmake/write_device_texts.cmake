# cmake -DSOURCES=a.h,b.h -DOUTPUT=device_texts.inc -P write_device_texts.cmake
# The texts of src/backend/cuda/device as rows {name, text} of C++ (backend/cuda/device_source.h).
string(REPLACE "," ";" sources "${SOURCES}")
set(rows "")
foreach(source IN LISTS sources)
  get_filename_component(name ${source} NAME)
  file(READ ${source} text)
  string(REPLACE "#pragma once\n" "" text "${text}")
  string(APPEND rows "{\"${name}\", R\"device(${text})device\"},\n")
endforeach()
file(WRITE ${OUTPUT}.new "${rows}")
file(COPY_FILE ${OUTPUT}.new ${OUTPUT} ONLY_IF_DIFFERENT)
file(REMOVE ${OUTPUT}.new)
