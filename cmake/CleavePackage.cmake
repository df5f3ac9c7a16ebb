# `make package` writes build/release/package/cleave_VERSION_ARCHITECTURE.deb: what CleaveInstall
# installs, below /usr. dpkg-shlibdeps finds the libraries that it depends on, the plug-in's too;
# what is called as programs is recommended.
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_DIRECTORY ${PROJECT_BINARY_DIR}/package)
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_PACKAGE_NAME cleave)
set(CPACK_PACKAGE_VENDOR "The cleave authors")
set(CPACK_PACKAGE_CONTACT "The cleave authors <cleave@localhost>")
set(CPACK_PACKAGE_DESCRIPTION_SUMMARY "A compiler for training tensor programs")
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_DEBIAN_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_PACKAGE_DESCRIPTION
"It takes a model, derives the joint forward-and-backward graph, decides what
is saved and what is recomputed, compiles the rest to machine code over one
planned arena, and runs it.

This package has the library, the headers, the CMake package, the command, the
plug-in that compiles by clang, the pages of the manual and the examples.")
set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)  # and ldconfig runs after it is installed
# Programs that include cleave are C++20; `cleave build` links with gcc and binutils.
set(CPACK_DEBIAN_PACKAGE_RECOMMENDS "g++ (>= 4:12), binutils")
set(CPACK_DEBIAN_PACKAGE_SUGGESTS "cmake (>= 3.16), pkg-config, libcurl4")
include(CPack)
