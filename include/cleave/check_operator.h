// Checks an operator of the host program (cleave/op.h) on given operands.
//
//   OperatorReport report = check_operator(ops, "snake", {rng.normal({2, 5})}, {{"a", 1.5}});
//   if (!report.ok()) std::cerr << report.text();
//
//   kernel     each result of the kernel or callback, compiled, beside the reference's
//   gradient   that of each floating operand, under random cotangents, beside central differences
//              of the reference in f64
//
// Gradients are computed with operands in f64, or in f32 if infer refuses f64: cleave's reference
// keeps f32 in f64, too. Operands should lie off kinks and poles, where differences mean nothing.
#pragma once
#include "cleave/op.h"

namespace cleave {

// An element in which two ways to compute it differ by more than the tolerance.
struct CLEAVE_API OperatorDifference {
  std::string what;  // "kernel: result y", "gradient: operand x"
  std::vector<int64_t> element;
  double got = 0, expected = 0;
  std::string text() const;  // "kernel: result y [0,3]: got 1.5, expected 1.25"
};

struct CLEAVE_API OperatorReport {
  // Of each result and operand that differs, the element that differs most.
  std::vector<OperatorDifference> differences;
  // What couldn't be compared, and why: "gradient: the operator has none".
  std::vector<std::string> not_checked;
  bool ok() const { return differences.empty(); }
  std::string text() const;  // a line for each entry of both lists
};

// A difference is measured against the largest element of what is expected, or 1 if that is less.
struct OperatorTolerance {
  double kernel = 0;  // 0: that of the result's dtype, f64 1e-11, f32 3e-5, bf16 2^-7, f16 2^-10
  double gradient = 1e-6;
};

// The operands in the order of the signature; an empty HostTensor (f32[0]) where an optional one is
// not given. Errors (user): there is no such operator, it refuses the operands, a rule throws, the
// gradient has another type than its operand.
CLEAVE_API OperatorReport check_operator(const Operators& ops, const std::string& name,
                                         const HostTensors& operands,
                                         const Attributes& attributes = {},
                                         const OperatorTolerance& tolerance = {},
                                         Location at = Location::current());

}  // namespace cleave
