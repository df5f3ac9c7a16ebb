# write_ops prints doc/ops.md; script/doc runs it.
if(NOT CLEAVE_ROOMS)
  add_executable(write_ops EXCLUDE_FROM_ALL ${PROJECT_SOURCE_DIR}/doc/write_ops.cpp)
  target_link_libraries(write_ops PRIVATE cleave_internal)
endif()
