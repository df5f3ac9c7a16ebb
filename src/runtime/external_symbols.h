// External functions that generated code may call: memory and mathematical functions of the C
// library.
#pragma once
#include <span>

namespace cleave::runtime {

struct ExternalSymbol {
  const char* name;
  void* address;
};

// Thread safe; the table is constant.
std::span<const ExternalSymbol> external_symbols();

}  // namespace cleave::runtime
