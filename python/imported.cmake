# cleave::cleave of the build folder CLEAVE_BUILD.
get_filename_component(cleave_build ${CLEAVE_BUILD} ABSOLUTE BASE_DIR ${CMAKE_CURRENT_SOURCE_DIR}/..)
set(cleave_library ${cleave_build}/lib/libcleave.so.0)
if(NOT EXISTS ${cleave_library})
  message(FATAL_ERROR "CLEAVE_BUILD: ${cleave_library} isn't there: run make first")
endif()
add_library(cleave::cleave SHARED IMPORTED)
set_target_properties(cleave::cleave PROPERTIES
  IMPORTED_LOCATION ${cleave_library} IMPORTED_SONAME libcleave.so.0
  INTERFACE_INCLUDE_DIRECTORIES ${CMAKE_CURRENT_SOURCE_DIR}/../include)
