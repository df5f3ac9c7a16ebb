// What clang's identity (Compiler::identity) was when it was opened last, so that a process that
// finds all its code in a cache opens neither the plug-in nor LLVM, which takes longer than all the
// rest of a warm start.
//
//   to be asked      the plug-in's path, cleave's build, the target, the processor: known_clang_key
//   is remembered    the identity, and the files that it came from: the plug-in, clang's and LLVM's
//                    libraries, each with its size and time of change
//
// It holds as long as none of the files has changed.
#pragma once
#include <optional>
#include <string>

#include "cleave/target.h"

namespace cleave::runtime {

// All that clang's identity depends on and that is cheap to know; empty: there is no plug-in.
std::string known_clang_key(const Target& target);

// A text to remember, for a compiler that this process has opened.
std::string remembered_clang(const std::string& identity);
// The identity in it; nullopt if a file has changed or the text is none of these.
std::optional<std::string> known_identity(const std::string& remembered);

}  // namespace cleave::runtime
