// The interface between the library and its plug-in libcleave_clang.so.
//
//   make_clang_compiler --first call: dlopen--> libcleave_clang.so --needs--> libclang-cpp, libLLVM
//
// The plug-in (src/clang) is opened when the first kernel is compiled, so that a program that
// compiles none neither loads nor needs LLVM. It is searched in the folder of the library or
// program that contains this code, then in ../lib of that folder; both must come from one build.
#pragma once
#include <string_view>

#include "runtime/compiler.h"
#include "version.h"

namespace cleave::runtime {

struct ClangPlugin {
  const char* build;  // the plug-in's clang_plugin_build
  // `target_text` is target.text().
  Result<std::shared_ptr<Compiler>> (*make)(const Target& target, std::string_view target_text);
};

// C++ objects are passed between the two, so both must be compiled in the same way.
constexpr const char* clang_plugin_build = CLEAVE_VERSION ", compiled by " __VERSION__;

constexpr const char* clang_plugin_file = "libcleave_clang.so";
constexpr const char* clang_plugin_symbol = "cleave_clang_plugin";

// Where it is; empty: nowhere. Opens nothing.
std::string clang_plugin_path();

}  // namespace cleave::runtime
