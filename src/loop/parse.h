// Reads the text of kernels, as print (kernel.h) writes it and `cleave compile --dump DIR` puts it
// into NN_lower.loops:
//
//   kernel %y(%x: f32[8192] read, %y: f32[64] write) work 8256 {
//     for p in 64 parallel {
//       fold over j in 128 {
//         let t = %x[p*128 + j]
//         s = sum of t*t
//       }
//       %y[p] = sqrt(s)
//     }
//   }
//
//   file      = {kernel}
//   kernel    = "kernel" %name "(" [argument {"," argument}] ")" ["work" integer] ["scheduled"]
//               block
//   argument  = %name ":" dtype "[" integer "]" access     buffers first, of them `local` ones last
//             | name ":" ["f32"] "scalar" [values]         an i64, or an f32
//   values    = "(" expr {"," expr} ")"                    those of its calls, for the reader
//   access    = "read" | "write" | "update" | "local"
//   block     = "{" {statement newline} "}"
//   statement = "for" loop ["parallel" | "lanes" | "independent"] [rows] [vectors] [next] block
//             | "let" name "=" expr                        immutable
//             | "var" name "=" expr                        mutable
//             | name "=" expr                              of a var
//             | "fold" "over" part {"," part} ["ordered"] [vectors] block
//             | name "=" fold "of" expr                    a fold, at the end of that block
//             | %name "[" expr "]" "=" expr                an element, counted in elements
//             | "if" expr block
//             | "check" expr string ["index" expr "bound" expr ["from" "0"]]
//   loop      = name "in" expr                             0 <= name < expr
//   part      = loop ["blocks" integer]
//   how loops run, in a scheduled kernel (kernel.h):
//   rows      = "rows" expr "shared" integer               iterations, statements
//   vectors   = ["by" ("16" | "64") ["tail"]] ["ahead" load {"," load}]
//   next      = "next" name                                the number of the next row
//   fold      = "sum" | "prod" | "max" | "min" | "any" | "all"
//   expr      = product {("+"|"-") product};  product = factor {"*" factor}
//   factor    = ["-"] number | "true" | "false" | name | %name "[" expr "]" | "(" expr ")"
//             | operation "(" expr {"," expr} ")"          the operations of expr.h: lt(i, 2)
//             | type "(" expr ")"                          a conversion, of a number its type
//             | "round_" dtype "(" expr ")"                to what the dtype holds
//
// Values are f64, f32, i64, i32 or bool. A number gets its type from where it is: indices, extents
// and bounds are i64, a stored value has its buffer's type, an operand that of the other operand;
// else 1.0 is f32 and 1 is i64, and other types are written f64(1.0). A comment goes from `#` to
// the end of its line. The list of arguments may be wrapped. A kernel is named after the value that
// it computes; several may have the same name.
//
// Errors are file:line:column: rule: what is, what was expected, with the line (ir/lex.h):
//
//   P1 syntax   P3 limit   P4 number   P5 string    as in doc/ir.md
//   L1 a name is taken, or reserved    L2 a name is not known    L3 a type
//   L4 what is written or changed, and may not be
//   L5 the place of a statement or a buffer
//   L6 a function, or the number of its operands
//
// The result passes verify (kernel.h). Both are linear in the text, whose nesting is limited by
// text_limit of parse_expr.h.
#pragma once
#include "loop/kernel.h"

namespace cleave::loop {

// A text of one kernel; parse_kernel(print(k)) is equal to k (difference.h). `file` is used in
// messages.
Result<Kernel> parse_kernel(std::string_view text, const std::string& file);
Result<std::vector<Kernel>> parse_kernels(std::string_view text, const std::string& file);

}  // namespace cleave::loop
