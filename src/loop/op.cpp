#include "loop/op.h"

namespace cleave::loop {

std::string_view name_of(Op op) {
  constexpr std::string_view names[] = {
      "constant",   "var",      "load",    "add",     "sub",         "mul",      "div",
      "min",        "max",      "pow",     "fmod",    "atan2",       "truncdiv", "truncmod",
      "floordiv",   "floormod", "bit_and", "bit_or",  "bit_xor",     "shl",      "shr",
      "eq",         "ne",       "lt",      "le",      "gt",          "ge",       "logical_and",
      "logical_or", "neg",      "abs",     "sign",    "logical_not", "bit_not",  "exp",
      "exp2",       "expm1",    "log",     "log2",    "log10",       "log1p",    "sqrt",
      "rsqrt",      "sin",      "cos",     "tan",     "asin",        "acos",     "atan",
      "sinh",       "cosh",     "tanh",    "asinh",   "acosh",       "atanh",    "erf",
      "sigmoid",    "floor",    "ceil",    "trunc",   "round",       "isnan",    "isinf",
      "select",     "cast",     "philox",  "round_to"};
  return names[static_cast<int>(op)];
}

}  // namespace cleave::loop
