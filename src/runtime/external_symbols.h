// What generated code may call from outside: memory and mathematical functions of the C library,
// and the conversions of half precision that processors without F16C need.
#pragma once
#include <span>

namespace cleave::runtime {

struct ExternalSymbol {
  const char* name;
  void* address;
};

// Any thread; the table never changes.
std::span<const ExternalSymbol> external_symbols();

}  // namespace cleave::runtime
