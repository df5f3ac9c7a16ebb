// A shared library of object files and of libcleave_rt.a, by the system's compiler. It needs libc
// and libm alone, and holds no path, date or name of this machine.
#pragma once
#include "ahead/compile_units.h"

namespace cleave::ahead {

struct LibraryParts {
  std::vector<ObjectFile> objects;
  std::vector<std::string> own_symbols;  // by object: the one that others see; empty: all
  std::string c_text;                    // includes "program.bin" and "weights.bin"
  std::string program;
  std::span<const std::byte> weights;
  std::string file;                   // its name, for programs that are linked with it
  std::vector<std::string> exported;  // symbols
};

// Whether link_library finds what it needs. Error (unsupported): with the package.
Status check_link_tools();

// The bytes of the library. Errors: Unsupported, with the package, for what this machine lacks to
// link it; bug: what the linker says.
Result<std::vector<std::byte>> link_library(const LibraryParts& parts);

}  // namespace cleave::ahead
