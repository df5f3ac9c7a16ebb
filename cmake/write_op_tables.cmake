# cmake -DSOURCES=a.cpp,b.cpp -DOUTPUT=op_tables.inc -P write_op_tables.cmake
# A line CLEAVE_OP_TABLE(X) for each X.cpp that says CLEAVE_OPS(X): a new file of operators needs no
# other edit.
# Error: a file that begins a line with CLEAVE_OPS(name) where name is not its own.
string(REPLACE "," ";" sources "${SOURCES}")
set(text "")
foreach(source IN LISTS sources)
  get_filename_component(name ${source} NAME_WE)
  file(STRINGS ${source} marks REGEX "^ *CLEAVE_OPS\\(")
  foreach(mark IN LISTS marks)
    if(NOT mark MATCHES "CLEAVE_OPS\\( *${name} *\\)")
      message(FATAL_ERROR "${source}: ${mark}: expected CLEAVE_OPS(${name}), the file's own name")
    endif()
  endforeach()
  if(marks)
    string(APPEND text "CLEAVE_OP_TABLE(${name})\n")
  endif()
endforeach()
file(CONFIGURE OUTPUT ${OUTPUT} CONTENT "${text}" @ONLY)  # written only where it differs
