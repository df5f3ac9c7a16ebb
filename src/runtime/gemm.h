// Matrix products:  C = alpha * A B + beta * C_in
//
//   CLEAVE_TRY(auto gemm, Gemm::make({.m = 768, .n = 384, .k = 128, .a_row = 128, ...}, target));
//   plan(gemm->scratch_bytes());
//   gemm->run(a, b, nullptr, c, scratch, executor);
//
// A product is cut into pieces by its shape and the number of threads (gemm_cut.h). Each piece runs
// on one thread, with the kernel of gemm_block.h, whose order of summation depends on k alone. So
// bits depend on the product and the target, never on the threads.
//
//   f32, f64        summed in their own type
//   bf16, f16       summed in f32, rounded once; with VDPBF16PS for bf16, numbers below 2^-126
//                   count as 0
//   i8 to i64, u8   wrap around
//
// A product of k = 0 is beta * C_in, or zeros without C_in. Without C_in beta is ignored.
//
// Errors: Unsupported for bool and c64; Bug for negative dimensions.
#pragma once
#include "cleave/target.h"
#include "library/gemm_spec.h"
#include "library/library_function.h"
#include "run/run_context.h"

namespace cleave::runtime {

// The operands' first elements; null for those that the product doesn't have.
struct GemmOperands {
  const void* a = nullptr;
  const void* b = nullptr;
  const void* c_in = nullptr;
  std::array<const void*, 2> scales = {};
  void* c = nullptr;
};

class Gemm : public LibraryFunction {
 public:
  static Result<std::shared_ptr<Gemm>> make(const GemmSpec& spec, const Target& target);
  virtual long pieces(int threads) const = 0;  // of a run on so many
  // c_in is read if the spec has one. scratch is aligned to 64. Any number of threads may run one
  // Gemm at once, each with its own scratch. Nothing is allocated.
  virtual void run(const GemmOperands& operands, void* scratch, Executor& executor) const = 0;
  void run(const void* a, const void* b, const void* c_in, void* c, void* scratch,
           Executor& executor) const {
    run({.a = a, .b = b, .c_in = c_in, .c = c}, scratch, executor);
  }
  void call(void* const* at, void* scratch, const RunContext& context) const final;
};

}  // namespace cleave::runtime
