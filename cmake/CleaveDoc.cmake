# write_ops prints doc/ops.md, write_passes doc/passes.md; script/doc runs them. write_options prints
# doc/options.md, which script/options compares in `make test`.
if(NOT CLEAVE_ROOMS)
  foreach(program write_ops write_passes write_options)
    add_executable(${program} EXCLUDE_FROM_ALL ${PROJECT_SOURCE_DIR}/doc/${program}.cpp)
    target_link_libraries(${program} PRIVATE cleave_internal)
  endforeach()
  add_dependencies(tests write_options)
endif()
