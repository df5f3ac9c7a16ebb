# Installed: libcleave.so, its plug-in and libcleave_rt.a, include/cleave, the CMake package that
# find_package(cleave) reads and the pkg-config file; the command with its manual page; the pages of
# doc/ and the examples.
include(CMakePackageConfigHelpers)
set(package ${CMAKE_INSTALL_LIBDIR}/cmake/cleave)

install(TARGETS cleave EXPORT cleave LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
if(TARGET cleave_clang)
  install(TARGETS cleave_clang LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()
if(TARGET cleave_rt)
  install(TARGETS cleave_rt ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/cleave DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
        FILES_MATCHING PATTERN "*.h")
install(EXPORT cleave NAMESPACE cleave:: FILE cleaveConfig.cmake DESTINATION ${package})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/cleaveConfigVersion.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/cleaveConfigVersion.cmake DESTINATION ${package})

# The prefix from where the file lies, so that an installed folder may be moved.
file(RELATIVE_PATH pc_prefix /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
string(REGEX REPLACE "/$" "" pc_prefix ${pc_prefix})
configure_file(${PROJECT_SOURCE_DIR}/cmake/cleave.pc.in ${PROJECT_BINARY_DIR}/cleave.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/cleave.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

if(TARGET cleave_tool AND NOT CLEAVE_FUZZ)
  install(TARGETS cleave_tool DESTINATION ${CMAKE_INSTALL_BINDIR})
  add_custom_command(OUTPUT ${PROJECT_BINARY_DIR}/cleave.1
                     COMMAND cleave_tool help --man > ${PROJECT_BINARY_DIR}/cleave.1
                     DEPENDS cleave_tool VERBATIM)
  add_custom_target(cleave_man ALL DEPENDS ${PROJECT_BINARY_DIR}/cleave.1)
  install(FILES ${PROJECT_BINARY_DIR}/cleave.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
endif()
install(DIRECTORY ${PROJECT_SOURCE_DIR}/doc/ DESTINATION ${CMAKE_INSTALL_DOCDIR}
        FILES_MATCHING PATTERN "*.md" PATTERN "*.svg" PATTERN "*.clv")
install(FILES ${PROJECT_SOURCE_DIR}/README.md DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} RENAME copyright)
install(DIRECTORY ${PROJECT_SOURCE_DIR}/example DESTINATION ${CMAKE_INSTALL_DOCDIR})
