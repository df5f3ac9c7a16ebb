#include "backend/cuda/gemm_plan.h"

#include <algorithm>

#include "base/alignment.h"

namespace cleave::cuda {
namespace {

constexpr int64_t line_bytes = 16;  // of the fast algorithms

bool is_half(DType t) { return t == DType::bf16 || t == DType::f16; }

// A matrix [rows, columns] in memory: its transpose, as cuBLASLt sees it; nullopt: it can't.
std::optional<CublasMatrix> matrix_of(DType dtype, int64_t rows, int64_t columns, int64_t row,
                                      int64_t col, int64_t batch) {
  if ((col == 1 || columns == 1) && (rows == 1 || row >= columns))
    return CublasMatrix{.dtype = dtype,
                        .rows = columns,
                        .columns = rows,
                        .leading = rows == 1 ? columns : row,
                        .batch_stride = batch};
  if ((row == 1 || rows == 1) && (columns == 1 || col >= rows))
    return CublasMatrix{.dtype = dtype,
                        .rows = rows,
                        .columns = columns,
                        .leading = columns == 1 ? rows : col,
                        .is_transposed = true,
                        .batch_stride = batch};
  return std::nullopt;
}

// An operand, in a copy if it must be one.
struct Operand {
  DType stored;
  int64_t rows, columns, batch_stride, row, col;
  bool is_packed = false;  // in panels, or of four bits

  CublasMatrix placed(DType dtype, int64_t batch, std::optional<GemmPlan::Copy>& copy) const {
    if (stored == dtype && !is_packed)
      if (const auto m = matrix_of(dtype, rows, columns, row, col, batch_stride)) return *m;
    // As it lies, by rows or by columns, with lines that begin at multiples of line_bytes.
    const bool by_columns = !is_packed && row == 1 && columns > 1;
    const int64_t lines = by_columns ? columns : rows, width = by_columns ? rows : columns,
                  unit = line_bytes / size_of(dtype),
                  apart = is_packed ? width : (width + unit - 1) / unit * unit;
    const bool is_one = batch == 1 || batch_stride == 0;
    const int64_t stride = is_one ? 0 : lines * apart;
    copy = {.from = stored,
            .dtype = dtype,
            .at = {is_one ? 1 : batch, lines, width, batch_stride, by_columns ? col : row,
                   by_columns ? row : col, stride, apart}};
    return by_columns ? CublasMatrix{.dtype = dtype,
                                     .rows = width,
                                     .columns = lines,
                                     .leading = apart,
                                     .is_transposed = true,
                                     .batch_stride = stride}
                      : CublasMatrix{.dtype = dtype,
                                     .rows = width,
                                     .columns = lines,
                                     .leading = apart,
                                     .batch_stride = stride};
  }
};

// Split sums of large products are in the library's workspace.
int64_t workspace_of(const GemmSpec& s) {
  const int64_t flops = s.flops();
  if (flops < int64_t{1} << 22) return 0;
  return flops < int64_t{1} << 28 ? int64_t{4} << 20 : int64_t{32} << 20;
}

GemmPlan::CIn kind_of_c_in(const GemmSpec& s) {
  using CIn = GemmPlan::CIn;
  if (!s.has_c_in || s.beta == 0) return CIn::none;
  const bool is_shared = s.batch > 1 && s.c_in_batch == 0;
  const bool is_row = s.c_in_col == 1 || s.n == 1;
  if (is_row && s.c_in_row == 0 && s.m > 1 && (s.batch == 1 || is_shared) && s.beta == 1 &&
      s.dtype != DType::f64)
    return CIn::bias;
  if (is_row && !is_shared && (s.m == 1 || s.c_in_row >= s.n)) return CIn::direct;
  return CIn::placed;
}

}  // namespace

std::optional<GemmPlan> plan_gemm(const GemmSpec& s) {
  if (!is_floating(s.dtype) || s.scales_sums || s.k == 0) return std::nullopt;
  if (s.batch > INT32_MAX) return std::nullopt;
  const Operand a{.stored = s.a_stored.value_or(s.dtype),
                  .rows = s.m,
                  .columns = s.k,
                  .batch_stride = s.a_batch,
                  .row = s.a_row,
                  .col = s.a_col};
  const Operand b{.stored = s.b_is_nibbles ? DType::u8 : s.b_stored.value_or(s.dtype),
                  .rows = s.k,
                  .columns = s.n,
                  .batch_stride = s.b_batch,
                  .row = s.b_row,
                  .col = s.b_col,
                  .is_packed = s.b_is_nibbles || s.b_packed};
  // Halves whose product is f32 stay halves.
  const bool stays = s.dtype == DType::f32 && is_half(a.stored) && b.stored == a.stored;
  const DType read = stays ? a.stored : s.dtype;

  GemmPlan plan;
  CublasProductSpec& p = plan.product;
  p.a = b.placed(read, s.batch, plan.b);
  p.b = a.placed(read, s.batch, plan.a);
  p.d = {.dtype = s.dtype,
         .rows = s.n,
         .columns = s.m,
         .leading = row_of_c(s),
         .batch_stride = batch_of_c(s)};
  p.c = p.d;
  p.batch = s.batch;
  p.alpha = s.alpha;
  plan.c_in = kind_of_c_in(s);
  using CIn = GemmPlan::CIn;
  p.has_bias = plan.c_in == CIn::bias;
  p.beta = plan.c_in == CIn::direct || plan.c_in == CIn::placed ? s.beta : 0;
  if (plan.c_in == CIn::direct) {
    p.c.leading = s.m == 1 ? s.n : s.c_in_row;
    p.c.batch_stride = s.c_in_batch;
  }
  if (plan.c_in == CIn::placed)
    plan.placed = {s.batch,    s.m,        s.n,           s.c_in_batch,
                   s.c_in_row, s.c_in_col, batch_of_c(s), row_of_c(s)};

  p.workspace_bytes = workspace_of(s);
  plan.scratch_bytes = p.workspace_bytes;
  for (auto* copy : {&plan.a, &plan.b})
    if (*copy) {
      (*copy)->offset = plan.scratch_bytes;
      const device::CopyArguments& at = (*copy)->at;
      const int64_t bytes = at.batch * at.rows * at.to_row * size_of((*copy)->dtype);
      plan.scratch_bytes += (bytes + 255) / 256 * 256;
    }
  if (plan.scratch_bytes > 0) plan.scratch_bytes += workspace_alignment - storage_alignment;
  return plan;
}

}  // namespace cleave::cuda
