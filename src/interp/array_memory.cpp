#include "interp/array_memory.h"

#include <bit>
#include <cmath>
#include <cstring>

namespace cleave {
namespace {

// bf16 and f16 as bits. `x` is a value of the type, as round_to gives.
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

void to_memory(const Array& a, void* out) {
  for (int64_t k = 0; k < a.numel(); ++k) switch (a.dtype) {
      case DType::f64: put<double>(out, k, a.f[k]); break;
      case DType::f32: put<float>(out, k, a.f[k]); break;
      case DType::bf16: put<uint16_t>(out, k, bf16_bits(round_to(DType::bf16, a.f[k]))); break;
      case DType::f16: put<uint16_t>(out, k, f16_bits(round_to(DType::f16, a.f[k]))); break;
      case DType::i64: put<int64_t>(out, k, a.i[k]); break;
      case DType::i32: put<int32_t>(out, k, a.i[k]); break;
      case DType::i16: put<int16_t>(out, k, a.i[k]); break;
      case DType::i8: put<int8_t>(out, k, a.i[k]); break;
      case DType::u8: put<uint8_t>(out, k, a.i[k]); break;
      case DType::boolean: put<uint8_t>(out, k, a.i[k] != 0); break;
      case DType::c64: break;
    }
}

std::vector<std::byte> to_memory(const Array& a) {
  std::vector<std::byte> out(static_cast<size_t>(a.numel() * size_of(a.dtype)));
  to_memory(a, out.data());
  return out;
}

Array from_memory(DType dtype, std::vector<int64_t> shape, const void* data) {
  Array a(dtype, std::move(shape));
  for (int64_t k = 0; k < a.numel(); ++k) switch (dtype) {
      case DType::f64: a.f[k] = take<double>(data, k); break;
      case DType::f32: a.f[k] = static_cast<double>(take<float>(data, k)); break;
      case DType::bf16: a.f[k] = bf16_value(take<uint16_t>(data, k)); break;
      case DType::f16: a.f[k] = f16_value(take<uint16_t>(data, k)); break;
      case DType::i64: a.i[k] = take<int64_t>(data, k); break;
      case DType::i32: a.i[k] = take<int32_t>(data, k); break;
      case DType::i16: a.i[k] = take<int16_t>(data, k); break;
      case DType::i8: a.i[k] = take<int8_t>(data, k); break;
      case DType::u8: a.i[k] = take<uint8_t>(data, k); break;
      case DType::boolean: a.i[k] = take<uint8_t>(data, k) != 0; break;
      case DType::c64: break;
    }
  return a;
}

}  // namespace cleave
