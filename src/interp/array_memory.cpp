#include "interp/array_memory.h"

#include <fmt/ranges.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <unordered_map>

#include "ir/strides.h"

namespace cleave {
namespace {

// bf16 and f16 as bits. `x` is a value of the type, as round_to returns it.
uint16_t bf16_bits(double x) {
  if (std::isnan(x)) return 0x7fc0;
  return static_cast<uint16_t>(std::bit_cast<uint32_t>(static_cast<float>(x)) >> 16);
}

double bf16_value(uint16_t bits) {
  return static_cast<double>(std::bit_cast<float>(uint32_t{bits} << 16));
}

uint16_t f16_bits(double x) {
  if (std::isnan(x)) return 0x7e00;
  const uint16_t sign = std::signbit(x) ? 0x8000 : 0;
  const double m = std::fabs(x);
  if (std::isinf(m)) return static_cast<uint16_t>(sign | 0x7c00);
  if (m < 0x1p-14) return static_cast<uint16_t>(sign | static_cast<uint16_t>(m * 0x1p24));
  const int exponent = std::ilogb(m);
  const auto fraction = static_cast<uint16_t>((std::ldexp(m, -exponent) - 1) * 1024);
  return static_cast<uint16_t>(sign | (exponent + 15) << 10 | fraction);
}

double f16_value(uint16_t bits) {
  const int exponent = bits >> 10 & 31, fraction = bits & 1023;
  double m = exponent == 0    ? fraction * 0x1p-24
             : exponent == 31 ? (fraction ? std::nan("") : HUGE_VAL)
                              : std::ldexp(1024 + fraction, exponent - 25);
  return bits & 0x8000 ? -m : m;
}

template <class T, class U>
void put(void* out, int64_t k, U value) {
  const T t = static_cast<T>(value);
  std::memcpy(static_cast<std::byte*>(out) + k * static_cast<int64_t>(sizeof(T)), &t, sizeof(T));
}

template <class T>
T take(const void* data, int64_t k) {
  T t;
  std::memcpy(&t, static_cast<const std::byte*>(data) + k * static_cast<int64_t>(sizeof(T)),
              sizeof(T));
  return t;
}

}  // namespace

namespace {

// Writes element k of `a` as element `at` of the memory.
void put_element(const Array& a, int64_t k, void* out, int64_t at) {
  switch (a.dtype) {
    case DType::f64: put<double>(out, at, a.f[k]); break;
    case DType::f32: put<float>(out, at, a.f[k]); break;
    case DType::bf16: put<uint16_t>(out, at, bf16_bits(round_to(DType::bf16, a.f[k]))); break;
    case DType::f16: put<uint16_t>(out, at, f16_bits(round_to(DType::f16, a.f[k]))); break;
    case DType::i64: put<int64_t>(out, at, a.i[k]); break;
    case DType::i32: put<int32_t>(out, at, a.i[k]); break;
    case DType::i16: put<int16_t>(out, at, a.i[k]); break;
    case DType::i8: put<int8_t>(out, at, a.i[k]); break;
    case DType::u8: put<uint8_t>(out, at, a.i[k]); break;
    case DType::boolean: put<uint8_t>(out, at, a.i[k] != 0); break;
    case DType::c64: break;
  }
}

void take_element(Array& a, int64_t k, const void* data, int64_t at) {
  switch (a.dtype) {
    case DType::f64: a.f[k] = take<double>(data, at); break;
    case DType::f32: a.f[k] = static_cast<double>(take<float>(data, at)); break;
    case DType::bf16: a.f[k] = bf16_value(take<uint16_t>(data, at)); break;
    case DType::f16: a.f[k] = f16_value(take<uint16_t>(data, at)); break;
    case DType::i64: a.i[k] = take<int64_t>(data, at); break;
    case DType::i32: a.i[k] = take<int32_t>(data, at); break;
    case DType::i16: a.i[k] = take<int16_t>(data, at); break;
    case DType::i8: a.i[k] = take<int8_t>(data, at); break;
    case DType::u8: a.i[k] = take<uint8_t>(data, at); break;
    case DType::boolean: a.i[k] = take<uint8_t>(data, at) != 0; break;
    case DType::c64: break;
  }
}

// Calls f(k, place) for each element in row-major order, with its offset by the strides.
template <class F>
void each_place(const Type& t, F f) {
  const std::vector<int64_t> shape = static_shape(t), strides = strides_of(t);
  if (numel_of(shape) == 0) return;
  std::vector<int64_t> index(shape.size());
  int64_t k = 0;
  do {
    int64_t place = 0;
    for (size_t d = 0; d < shape.size(); ++d) place += index[d] * strides[d];
    f(k++, place);
  } while (next_index(index, shape));
}

std::string index_text(int64_t k, const std::vector<int64_t>& shape) {
  std::vector<int64_t> index(shape.size());
  for (size_t d = shape.size(); d-- > 0; k /= shape[d]) index[d] = k % shape[d];
  return fmt::format("[{}]", fmt::join(index, ","));
}

bool same_value(const Array& a, int64_t j, int64_t k) {
  if (!a.floating()) return a.i[j] == a.i[k];
  return std::bit_cast<uint64_t>(a.f[j]) == std::bit_cast<uint64_t>(a.f[k]) ||
         (std::isnan(a.f[j]) && std::isnan(a.f[k]));
}

}  // namespace

void to_memory(const Array& a, void* out) {
  for (int64_t k = 0; k < a.numel(); ++k) put_element(a, k, out, k);
}

void to_memory(const Array& a, const Type& t, void* out) {
  each_place(t, [&](int64_t k, int64_t place) { put_element(a, k, out, place); });
}

std::vector<std::byte> to_memory(const Array& a) {
  std::vector<std::byte> out(static_cast<size_t>(a.numel() * size_of(a.dtype)));
  to_memory(a, out.data());
  return out;
}

Array from_memory(DType dtype, std::vector<int64_t> shape, const void* data) {
  Array a(dtype, std::move(shape));
  for (int64_t k = 0; k < a.numel(); ++k) take_element(a, k, data, k);
  return a;
}

Array from_memory(const Type& t, const void* data) {
  Array a(t.dtype, static_shape(t));
  each_place(t, [&](int64_t k, int64_t place) { take_element(a, k, data, place); });
  return a;
}

std::string conflict_in_memory(const Array& a, const Type& t) {
  if (!overlaps_itself(t)) return "";
  std::unordered_map<int64_t, int64_t> first;  // by place
  std::string conflict;
  each_place(t, [&](int64_t k, int64_t place) {
    const int64_t other = first.try_emplace(place, k).first->second;
    if (conflict.empty() && !same_value(a, k, other))
      conflict = fmt::format("elements {} and {} share their memory in {}, but are {} and {}",
                             index_text(other, a.shape), index_text(k, a.shape), t.text(),
                             a.number(other), a.number(k));
  });
  return conflict;
}

void share_memory(Array& a, const Type& t) {
  if (!overlaps_itself(t)) return;
  std::unordered_map<int64_t, int64_t> first;  // by place
  each_place(t, [&](int64_t k, int64_t place) {
    const int64_t other = first.try_emplace(place, k).first->second;
    if (a.floating())
      a.f[k] = a.f[other];
    else
      a.i[k] = a.i[other];
  });
}

}  // namespace cleave
