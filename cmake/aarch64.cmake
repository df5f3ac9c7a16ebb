# Toolchain file: builds for aarch64 with Debian's cross compiler (g++-aarch64-linux-gnu), against
# Debian's arm64 libraries (script/cross_packages), and runs what is built in qemu's user emulation
# (qemu-user).
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR aarch64)
set(triplet aarch64-linux-gnu)
set(CMAKE_CXX_COMPILER ${triplet}-g++)
set(CMAKE_CXX_FLAGS_INIT -Wno-psabi)  # notes of what GCC 10 passed otherwise
# An emulated program runs the cross compiler for its kernels, a real aarch64 its own by the same
# name.
set(CLEAVE_TOOL_PREFIX ${triplet}- CACHE STRING "Begins the names of gcc and objcopy")
set(CMAKE_LIBRARY_ARCHITECTURE ${triplet})

set(CLEAVE_CROSS_PACKAGES ${CMAKE_CURRENT_LIST_DIR}/../build/aarch64-packages CACHE PATH
    "Debian's libraries for aarch64, as script/cross_packages unpacks them")
cmake_path(ABSOLUTE_PATH CLEAVE_CROSS_PACKAGES NORMALIZE)
list(APPEND CMAKE_TRY_COMPILE_PLATFORM_VARIABLES CLEAVE_CROSS_PACKAGES)
set(CMAKE_FIND_ROOT_PATH ${CLEAVE_CROSS_PACKAGES} /usr/${triplet})
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_INCLUDE ONLY)

# Programs find their own dynamic linker and libc, not by `qemu -L`, which shows another folder in
# the place of / when a program opens that.
option(CLEAVE_EMULATED "Programs are for the emulator of this machine, not for one of aarch64" ON)
if(CLEAVE_EMULATED)
  set(lib /usr/${triplet}/lib)
  set(CMAKE_EXE_LINKER_FLAGS_INIT
      "-Wl,--dynamic-linker=${lib}/ld-linux-aarch64.so.1 -Wl,-rpath,${lib} -Wl,--disable-new-dtags")
endif()
find_program(CLEAVE_QEMU qemu-${CMAKE_SYSTEM_PROCESSOR})
set(CMAKE_CROSSCOMPILING_EMULATOR ${CLEAVE_QEMU})
