# Installed: libcleave.so and its plug-in, include/cleave, and the CMake package that
# find_package(cleave) reads.
include(CMakePackageConfigHelpers)
set(package ${CMAKE_INSTALL_LIBDIR}/cmake/cleave)

install(TARGETS cleave EXPORT cleave LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
if(TARGET cleave_clang)
  install(TARGETS cleave_clang LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR})
endif()
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/cleave DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
        FILES_MATCHING PATTERN "*.h")
install(EXPORT cleave NAMESPACE cleave:: FILE cleaveConfig.cmake DESTINATION ${package})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/cleaveConfigVersion.cmake
                                 COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/cleaveConfigVersion.cmake DESTINATION ${package})
