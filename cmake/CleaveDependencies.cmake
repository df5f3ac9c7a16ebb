# Libraries: `cleave_dependencies` for the rooms, `cleave_clang_dependencies` for the plug-in,
# `cleave_tool_dependencies` for the command, `cleave_test_dependencies` for tests and benchmarks.

set(CMAKE_THREAD_PREFER_PTHREAD ON)
find_package(Threads REQUIRED)

# What is missing is said at once, by the names of Debian's packages.
set(missing "")
macro(cleave_expect found package)
  if(NOT ${found})
    list(APPEND missing ${package})
  endif()
endmacro()
find_package(fmt 9 QUIET)
cleave_expect(fmt_FOUND libfmt-dev)
find_package(nlohmann_json 3.11 QUIET)
cleave_expect(nlohmann_json_FOUND nlohmann-json3-dev)
find_package(simdjson 3 QUIET)
cleave_expect(simdjson_FOUND libsimdjson-dev)
find_library(CLEAVE_XXHASH xxhash)
find_path(CLEAVE_XXHASH_INCLUDE xxhash.h)
if(NOT CLEAVE_XXHASH OR NOT CLEAVE_XXHASH_INCLUDE)
  list(APPEND missing libxxhash-dev)
endif()
find_library(CLEAVE_ZIP zip)
find_path(CLEAVE_ZIP_INCLUDE zip.h)
if(NOT CLEAVE_ZIP OR NOT CLEAVE_ZIP_INCLUDE)
  list(APPEND missing libzip-dev)
endif()
find_library(CLEAVE_PCRE2 pcre2-8)
find_path(CLEAVE_PCRE2_INCLUDE pcre2.h)
if(NOT CLEAVE_PCRE2 OR NOT CLEAVE_PCRE2_INCLUDE)
  list(APPEND missing libpcre2-dev)
endif()
find_library(CLEAVE_UTF8PROC utf8proc)
find_path(CLEAVE_UTF8PROC_INCLUDE utf8proc.h)
if(NOT CLEAVE_UTF8PROC OR NOT CLEAVE_UTF8PROC_INCLUDE)
  list(APPEND missing libutf8proc-dev)
endif()
if(CLEAVE_DEVELOP)
  find_package(CLI11 2 QUIET)
  cleave_expect(CLI11_FOUND libcli11-dev)
endif()
if(missing)
  list(JOIN missing " " packages)
  message(FATAL_ERROR "cleave is built with libraries that are missing here, or older than it takes. "
                      "In Debian 12 they are in:\n  apt-get install ${packages}\n"
                      "README.md lists their versions (Dependencies).")
endif()

add_library(cleave_dependencies INTERFACE)
target_link_libraries(cleave_dependencies INTERFACE
  fmt::fmt simdjson::simdjson nlohmann_json::nlohmann_json ${CLEAVE_XXHASH} ${CLEAVE_ZIP}
  ${CLEAVE_PCRE2} ${CLEAVE_UTF8PROC}
  Threads::Threads ${CMAKE_DL_LIBS})

add_library(cleave_tool_dependencies INTERFACE)
if(CLEAVE_DEVELOP)
  target_link_libraries(cleave_tool_dependencies INTERFACE CLI11::CLI11)
endif()

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
if(NOT CLEAVE_HAVE_CLANG AND NOT CLEAVE_CLANG STREQUAL "OFF")
  message(STATUS "kernels will be compiled by cc, in ten times the time; for clang: "
                 "apt-get install libclang-19-dev libclang-cpp19-dev llvm-19-dev")
endif()
