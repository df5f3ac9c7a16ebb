// What differs between the device's C++ and the host's, on which tests run these texts
// (test/backend/simulated_device.h).
#pragma once

#ifndef CLEAVE_DEVICE
#define CLEAVE_DEVICE __device__ __forceinline__
#define CLEAVE_SHARED __shared__
#define CLEAVE_UNROLL _Pragma("unroll")

namespace cleave::cuda::device {

CLEAVE_DEVICE float f32_of_f16(unsigned short bits) {
  float x;
  asm("cvt.f32.f16 %0, %1;" : "=f"(x) : "h"(bits));
  return x;
}
CLEAVE_DEVICE unsigned short f16_of_f32(float x) {
  unsigned short bits;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(x));
  return bits;
}
CLEAVE_DEVICE float f32_of_bits(unsigned bits) { return __uint_as_float(bits); }
CLEAVE_DEVICE unsigned bits_of_f32(float x) { return __float_as_uint(x); }
CLEAVE_DEVICE unsigned long long bits_of_f64(double x) {
  return static_cast<unsigned long long>(__double_as_longlong(x));
}

// Rounded by themselves: never one multiply-add.
CLEAVE_DEVICE float times(float a, float b) { return __fmul_rn(a, b); }
CLEAVE_DEVICE float plus(float a, float b) { return __fadd_rn(a, b); }
// a * b + c, rounded once.
CLEAVE_DEVICE float multiply_add(float a, float b, float c) { return __fmaf_rn(a, b, c); }
CLEAVE_DEVICE double multiply_add(double a, double b, double c) { return __fma_rn(a, b, c); }

}  // namespace cleave::cuda::device

#endif  // CLEAVE_DEVICE
