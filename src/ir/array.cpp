#include "ir/array.h"

#include <bit>
#include <cmath>
#include <limits>

namespace cleave {

Array::Array(DType d, std::vector<int64_t> s) : dtype(d), shape(std::move(s)) {
  if (floating())
    f.resize(static_cast<size_t>(numel_of(shape)));
  else
    i.resize(static_cast<size_t>(numel_of(shape)));
}

void Array::set(int64_t k, double x) {
  if (floating())
    f[k] = x;
  else
    i[k] = dtype == DType::boolean ? x != 0 : truncate_to(dtype, x);
}

void Array::set_int(int64_t k, int64_t x) {
  if (floating())
    f[k] = static_cast<double>(x);
  else
    i[k] = wrap_to(dtype, x);
}

namespace {

// Rounds x to the nearest multiple of the format's spacing at x. mantissa: bits after the point;
// min_exponent: of the smallest normal number; largest: finite maximum.
double round_binary(double x, int mantissa, int min_exponent, double largest) {
  if (!std::isfinite(x) || x == 0) return x;
  int exponent = std::max(std::ilogb(x), min_exponent);
  double spacing = std::ldexp(1.0, exponent - mantissa);
  double r = std::nearbyint(x / spacing) * spacing;
  if (std::fabs(r) > largest) r = std::copysign(std::numeric_limits<double>::infinity(), x);
  return r == 0 ? std::copysign(0.0, x) : r;
}

}  // namespace

double round_to(DType t, double x) {
  switch (t) {
    case DType::f32: return static_cast<double>(static_cast<float>(x));
    case DType::bf16: return round_binary(x, 7, -126, std::ldexp(255.0, 120));
    case DType::f16: return round_binary(x, 10, -14, 65504.0);
    default: return x;
  }
}

int64_t wrap_to(DType t, int64_t x) {
  switch (t) {
    case DType::i32: return static_cast<int32_t>(x);
    case DType::i16: return static_cast<int16_t>(x);
    case DType::i8: return static_cast<int8_t>(x);
    case DType::u8: return static_cast<uint8_t>(x);
    case DType::boolean: return x != 0;
    default: return x;
  }
}

int64_t truncate_to(DType t, double x) {
  constexpr double edge = 9223372036854775808.0;  // 2^63
  bool in_range = x >= -edge && x < edge;
  int64_t whole = in_range ? static_cast<int64_t>(x) : std::numeric_limits<int64_t>::min();
  if (t == DType::i32 && !(x > -2147483649.0 && x < 2147483648.0))
    return std::numeric_limits<int32_t>::min();
  return wrap_to(t, whole);
}

bool next_index(std::vector<int64_t>& index, const std::vector<int64_t>& shape) {
  for (size_t d = shape.size(); d-- > 0;) {
    if (++index[d] < shape[d]) return true;
    index[d] = 0;
  }
  return false;
}

int64_t broadcast_position(const std::vector<int64_t>& index, const std::vector<int64_t>& shape) {
  int64_t at = 0;
  size_t skip = index.size() - shape.size();
  for (size_t d = 0; d < shape.size(); ++d)
    at = at * shape[d] + (shape[d] == 1 ? 0 : index[skip + d]);
  return at;
}

}  // namespace cleave
