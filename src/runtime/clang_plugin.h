// What the library and its plug-in libcleave_clang.so know of each other.
//
//   make_clang_compiler --first call: dlopen--> libcleave_clang.so --needs--> libclang-cpp, libLLVM
//
// The plug-in (src/clang) is opened where the first kernel is compiled, so that a program that
// compiles none neither loads LLVM nor needs it. It lies beside the library or program that holds
// this code, or in ../lib of that; both must come from one build.
#pragma once
#include <span>
#include <string_view>

#include "runtime/compiler.h"
#include "runtime/external_symbols.h"
#include "version.h"

namespace cleave::runtime {

struct ClangPlugin {
  const char* build;  // clang_plugin_build, as the plug-in was compiled with
  // `target_text` is target.text(); `outside` is what generated code may call.
  Result<std::shared_ptr<Compiler>> (*make)(const Target& target, std::string_view target_text,
                                            std::span<const ExternalSymbol> outside);
};

// Objects cross the border, so both sides must be compiled alike.
constexpr const char* clang_plugin_build = CLEAVE_VERSION ", compiled by " __VERSION__;

constexpr const char* clang_plugin_file = "libcleave_clang.so";
constexpr const char* clang_plugin_symbol = "cleave_clang_plugin";

}  // namespace cleave::runtime
