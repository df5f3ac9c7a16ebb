# Libraries: `cleave_dependencies` for the rooms, `cleave_clang_dependencies` for the plug-in,
# `cleave_tool_dependencies` for the command, `cleave_test_dependencies` for tests and benchmarks.

set(CMAKE_THREAD_PREFER_PTHREAD ON)
find_package(Threads REQUIRED)
find_package(fmt 9 REQUIRED)
find_package(nlohmann_json 3.11 REQUIRED)
find_package(simdjson 3 REQUIRED)
find_package(CLI11 2 REQUIRED)
find_library(CLEAVE_XXHASH xxhash REQUIRED)
find_path(CLEAVE_XXHASH_INCLUDE xxhash.h REQUIRED)
find_library(CLEAVE_ZIP zip REQUIRED)
find_path(CLEAVE_ZIP_INCLUDE zip.h REQUIRED)
find_library(CLEAVE_PCRE2 pcre2-8 REQUIRED)
find_path(CLEAVE_PCRE2_INCLUDE pcre2.h REQUIRED)
find_library(CLEAVE_UTF8PROC utf8proc REQUIRED)
find_path(CLEAVE_UTF8PROC_INCLUDE utf8proc.h REQUIRED)

add_library(cleave_dependencies INTERFACE)
target_link_libraries(cleave_dependencies INTERFACE
  fmt::fmt simdjson::simdjson nlohmann_json::nlohmann_json ${CLEAVE_XXHASH} ${CLEAVE_ZIP}
  ${CLEAVE_PCRE2} ${CLEAVE_UTF8PROC}
  Threads::Threads ${CMAKE_DL_LIBS})

add_library(cleave_tool_dependencies INTERFACE)
target_link_libraries(cleave_tool_dependencies INTERFACE CLI11::CLI11)

# Of tests and benchmarks.
add_library(cleave_test_dependencies INTERFACE)
target_link_libraries(cleave_test_dependencies INTERFACE nlohmann_json::nlohmann_json)

# clang/LLVM 19 as shared libraries, for compiling kernels in process. Their headers are not ours to
# warn about.
if(NOT CLEAVE_CLANG MATCHES "^(AUTO|ON|OFF)$")
  message(FATAL_ERROR "CLEAVE_CLANG is ${CLEAVE_CLANG}, expected AUTO, ON or OFF")
endif()
set(CLEAVE_HAVE_CLANG OFF)
if(NOT CLEAVE_CLANG STREQUAL "OFF")
  set(llvm /usr/lib/llvm-19 CACHE PATH "Where clang/LLVM 19 is installed")
  find_library(CLEAVE_LLVM_LIBRARY NAMES LLVM-19 HINTS ${llvm}/lib)
  find_library(CLEAVE_CLANG_LIBRARY NAMES libclang-cpp.so.19.1 HINTS ${llvm}/lib)
  find_path(CLEAVE_LLVM_INCLUDE NAMES clang/Frontend/CompilerInstance.h HINTS ${llvm}/include)
  if(CLEAVE_LLVM_LIBRARY AND CLEAVE_CLANG_LIBRARY AND CLEAVE_LLVM_INCLUDE)
    set(CLEAVE_HAVE_CLANG ON)
    add_library(cleave_clang_dependencies INTERFACE)
    target_include_directories(cleave_clang_dependencies SYSTEM INTERFACE ${CLEAVE_LLVM_INCLUDE})
    target_link_libraries(cleave_clang_dependencies INTERFACE ${CLEAVE_CLANG_LIBRARY}
                                                              ${CLEAVE_LLVM_LIBRARY})
  elseif(CLEAVE_CLANG STREQUAL "ON")
    message(FATAL_ERROR "CLEAVE_CLANG=ON, but clang/LLVM 19 was not found: install libclang-19-dev, "
                        "libclang-cpp19-dev and llvm-19-dev, or use -DCLEAVE_CLANG=OFF")
  endif()
endif()
message(STATUS "in-process clang: ${CLEAVE_HAVE_CLANG}")
