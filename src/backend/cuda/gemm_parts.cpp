#include "backend/cuda/gemm_parts.h"

#include <utility>

#include "backend/cuda/gemm_plan.h"

namespace cleave::cuda {
namespace {

constexpr int64_t unit = 8;  // halves in 16 bytes

// Lines begin at multiples of 16 bytes.
bool has_whole_lines(int64_t row, int64_t col) {
  return (col == 1 && row % unit == 0) || (row == 1 && col % unit == 0);
}

bool may_be_cut(const GemmSpec& s, const GemmPartLimits& limits) {
  const DType read = s.a_stored.value_or(s.dtype);
  return (read == DType::bf16 || read == DType::f16) && s.b_stored.value_or(s.dtype) == read &&
         (s.dtype == read || s.dtype == DType::f32) && !s.b_is_nibbles && !s.b_packed &&
         !s.scales_sums && s.batch == 1 && s.flops() >= limits.flops &&
         has_whole_lines(s.a_row, s.a_col) && has_whole_lines(s.b_row, s.b_col) &&
         row_of_c(s) % unit == 0;
}

// The dense C of a part is part of a larger matrix.
GemmPart within(GemmPart part) {
  part.spec.c_row = row_of_c(part.spec), part.spec.c_batch = batch_of_c(part.spec);
  return part;
}

bool cuts(int64_t size, const GemmPartLimits& limits) {
  return size % unit != 0 && size >= limits.size;
}

std::pair<GemmPart, GemmPart> cut_columns(const GemmPart& whole) {
  GemmPart large = within(whole), rest = large;
  const int64_t n = whole.spec.n / unit * unit;
  large.spec.n = n, rest.spec.n -= n;
  rest.b += n * rest.spec.b_col, rest.c += n, rest.c_in += n * rest.spec.c_in_col;
  return {large, rest};
}

std::pair<GemmPart, GemmPart> cut_rows(const GemmPart& whole) {
  GemmPart large = within(whole), rest = large;
  const int64_t m = whole.spec.m / unit * unit;
  large.spec.m = m, rest.spec.m -= m;
  rest.a += m * rest.spec.a_row, rest.c += m * rest.spec.c_row;
  rest.c_in += m * rest.spec.c_in_row;
  return {large, rest};
}

// The rest is little, so that its rounding is too.
std::pair<GemmPart, GemmPart> cut_sums(const GemmPart& whole) {
  GemmPart large = whole, rest = whole;
  const int64_t k = whole.spec.k / unit * unit;
  large.spec.k = k, rest.spec.k -= k;
  rest.a += k * rest.spec.a_col, rest.b += k * rest.spec.b_row;
  large.adds = large.spec.has_c_in = true;
  large.spec.beta = 1, large.c_in = large.c;
  large.spec.c_in_batch = batch_of_c(large.spec), large.spec.c_in_row = row_of_c(large.spec);
  large.spec.c_in_col = 1;
  return {rest, large};
}

}  // namespace

std::vector<GemmPart> parts_of(const GemmSpec& s, const GemmPartLimits& limits) {
  const GemmPart whole{s};
  if (!may_be_cut(s, limits)) return {whole};
  std::vector<GemmPart> after;
  GemmPart large = whole;
  if (cuts(s.n, limits)) {
    auto [first, rest] = cut_columns(large);
    large = first;
    after.push_back(rest);
  }
  if (cuts(s.m, limits)) {
    auto [first, rest] = cut_rows(large);
    large = first;
    after.push_back(rest);
  }
  std::vector<GemmPart> out;
  if (cuts(s.k, limits) && !(s.has_c_in && s.beta != 0)) {
    auto [rest, last] = cut_sums(large);
    out.push_back(rest);
    large = last;
  }
  out.push_back(large);
  out.insert(out.end(), after.begin(), after.end());
  return out;
}

}  // namespace cleave::cuda
