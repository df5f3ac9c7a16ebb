# What a wheel holds beside the package's Python files: the extension, libcleave and its plug-in,
# which it finds beside itself; the extension's stub.
set_target_properties(cleave_python PROPERTIES INSTALL_RPATH "$ORIGIN")
install(TARGETS cleave_python LIBRARY DESTINATION cleave)
if(CLEAVE_BUILD)
  get_filename_component(real ${cleave_library} REALPATH)
  install(FILES ${real} DESTINATION cleave RENAME libcleave.so.0)
  install(FILES ${cleave_build}/lib/libcleave_clang.so DESTINATION cleave OPTIONAL)
else()
  set_target_properties(cleave PROPERTIES VERSION 0)  # a wheel holds no links: one file, libcleave.so.0
  install(TARGETS cleave LIBRARY DESTINATION cleave NAMELINK_SKIP)
  if(TARGET cleave_clang)
    add_dependencies(cleave_python cleave_clang)
    install(TARGETS cleave_clang LIBRARY DESTINATION cleave)
  endif()
endif()
nanobind_add_stub(cleave_stub MODULE _core OUTPUT _core.pyi PYTHON_PATH $<TARGET_FILE_DIR:cleave_python>
                  DEPENDS cleave_python)
install(FILES ${CMAKE_CURRENT_BINARY_DIR}/_core.pyi DESTINATION cleave)
