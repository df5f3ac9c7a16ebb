// Expressions over sizes, as .pt2 files write them, to sizes of the graph.
//
//   Mul(Integer(2), Symbol('s77', positive=True, integer=True))     s77*2
//   FloorDiv(Symbol('s0', integer=True), Integer(2))                floordiv(s0,2)
//   2*s0 + s1//2                                                    of older files
//
// Functions: Integer Symbol Add Mul Pow (of whole exponents to 8) Max Min FloorDiv CleanDiv CeilDiv
// Mod PythonMod ModularIndexing; others are refused by name. The text is hostile:
// nested at most 64 deep, at most 64 KiB.
// Source: torch/utils/_sympy/functions.py, PyTorch 2.13.
#pragma once
#include <string_view>

#include "base/result.h"
#include "import/exported/program.h"
#include "ir/dim.h"

namespace cleave::exported {

Result<Dim> read_expression(std::string_view text);
// The number, or the expression.
Result<Dim> dim_of(const SymValue& v);
// A name of a symbol that the graph can have.
bool is_symbol_name(std::string_view name);

}  // namespace cleave::exported
