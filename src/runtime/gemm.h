// Matrix products:  C = alpha * A B + beta * C_in
//
//   GemmCache cache(target);                                // one for each program
//   CLEAVE_TRY(auto gemm, cache.get({.m = 768, .n = 384, .k = 128, .a_row = 128, ...}));
//   plan(gemm->scratch_bytes());
//   gemm->run(a, b, nullptr, c, scratch, executor);
//
// A product is cut into pieces by its shape alone (gemm_cut.h). Each piece runs on one thread, in
// the kernel of gemm_block.h. So the bits depend on the product and the target, never on the
// threads.
//
//   f32, f64        summed in their own type
//   bf16, f16       summed in f32, rounded once; where VDPBF16PS sums bf16, numbers below 2^-126
//                   count as 0
//   i8 to i64, u8   wrap around
//
// A product of k = 0 is beta * C_in, or zeros without C_in. Beta doesn't matter without C_in.
//
// Errors: Unsupported for bool and c64; Bug for negative dimensions.
#pragma once
#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>

#include "base/result.h"
#include "cleave/dtype.h"
#include "cleave/executor.h"
#include "cleave/target.h"

namespace cleave::runtime {

// A [batch, m, k], B [batch, k, n], C [batch, m, n] row-major without gaps, C_in [batch, m, n].
// Strides are in elements and may be 0 or in any order: a transposed operand is one whose row and
// col are exchanged, a row vector C_in has c_in_row = 0. C overlaps nothing.
struct GemmSpec {
  DType dtype = DType::f32;
  int64_t batch = 1, m = 0, n = 0, k = 0;
  int64_t a_batch = 0, a_row = 0, a_col = 1;
  int64_t b_batch = 0, b_row = 0, b_col = 1;
  bool has_c_in = false;
  int64_t c_in_batch = 0, c_in_row = 0, c_in_col = 1;
  double alpha = 1, beta = 1;
  // The operand's type in memory, where it is another: reads_as of gemm_block.h.
  std::optional<DType> a_stored, b_stored;
  // Of f32 whose operands are i8: sums in i32, converted, then multiplied by alpha and by the
  // scales of f32 that there are, rounded each time, before C_in is added; beta is 1 then.
  struct Scale {
    bool is_given = false;
    int64_t row = 0, col = 0;
    auto operator<=>(const Scale&) const = default;
  };
  bool scales_sums = false;
  std::array<Scale, 2> scales = {};
  // B is u8 [k / 2, n]: steps 2i and 2i + 1 of k are the low and high four bits of its row i, each
  // less 8. Of f32 and the halves, without a batch.
  bool b_is_nibbles = false;

  auto operator<=>(const GemmSpec&) const = default;
};

// Where a product's operands begin; null where there is none.
struct GemmOperands {
  const void* a = nullptr;
  const void* b = nullptr;
  const void* c_in = nullptr;
  std::array<const void*, 2> scales = {};
  void* c = nullptr;
};

class Gemm {
 public:
  static Result<std::shared_ptr<Gemm>> make(const GemmSpec& spec, const Target& target);
  virtual ~Gemm() = default;
  // What run needs: a multiple of 64, depends on the spec and the target.
  virtual int64_t scratch_bytes() const = 0;
  virtual long pieces() const = 0;
  // c_in is read if the spec has one. scratch is aligned to 64. Any number of threads may run one
  // Gemm at once, each with its own scratch. Nothing is allocated.
  virtual void run(const GemmOperands& operands, void* scratch, Executor& executor) const = 0;
  void run(const void* a, const void* b, const void* c_in, void* c, void* scratch,
           Executor& executor) const {
    run({.a = a, .b = b, .c_in = c_in, .c = c}, scratch, executor);
  }
};

// Products for one target; equal ones share one Gemm. Any thread.
class GemmCache {
 public:
  explicit GemmCache(const Target& target) : target_(target) {}
  const Target& target() const { return target_; }
  Result<std::shared_ptr<Gemm>> get(const GemmSpec& spec);
  size_t size() const;

 private:
  const Target target_;
  mutable std::mutex mutex_;
  std::map<GemmSpec, std::shared_ptr<Gemm>> gemms_;
};

}  // namespace cleave::runtime
