// The table holds each mathematical function as NAME (f64) and NAMEf (f32).
#include "runtime/external_symbols.h"

#include <math.h>
#include <string.h>

namespace cleave::runtime {
namespace {

using F64 = double (*)(double);
using F32 = float (*)(float);
using F64x2 = double (*)(double, double);
using F32x2 = float (*)(float, float);

template <class F>
void* address_of(F function) {
  return reinterpret_cast<void*>(function);
}

#define ONE(name) \
  {#name, address_of<F64>(::name)}, { #name "f", address_of<F32>(::name##f) }
#define TWO(name) \
  {#name, address_of<F64x2>(::name)}, { #name "f", address_of<F32x2>(::name##f) }

const ExternalSymbol table[] = {
    ONE(acos),
    ONE(acosh),
    ONE(asin),
    ONE(asinh),
    ONE(atan),
    ONE(atanh),
    ONE(cbrt),
    ONE(ceil),
    ONE(cos),
    ONE(cosh),
    ONE(erf),
    ONE(erfc),
    ONE(exp),
    ONE(exp10),
    ONE(exp2),
    ONE(expm1),
    ONE(fabs),
    ONE(floor),
    ONE(lgamma),
    ONE(log),
    ONE(log10),
    ONE(log1p),
    ONE(log2),
    ONE(nearbyint),
    ONE(rint),
    ONE(round),
    ONE(roundeven),
    ONE(sin),
    ONE(sinh),
    ONE(sqrt),
    ONE(tan),
    ONE(tanh),
    ONE(tgamma),
    ONE(trunc),
    TWO(atan2),
    TWO(copysign),
    TWO(fdim),
    TWO(fmax),
    TWO(fmin),
    TWO(fmod),
    TWO(hypot),
    TWO(nextafter),
    TWO(pow),
    TWO(remainder),
    // LLVM merges sin and cos of the same operand into this call.
    {"sincos", address_of<void (*)(double, double*, double*)>(::sincos)},
    {"sincosf", address_of<void (*)(float, float*, float*)>(::sincosf)},
    {"fma", address_of<double (*)(double, double, double)>(::fma)},
    {"fmaf", address_of<float (*)(float, float, float)>(::fmaf)},
    {"ldexp", address_of<double (*)(double, int)>(::ldexp)},
    {"ldexpf", address_of<float (*)(float, int)>(::ldexpf)},
    {"memcpy", address_of<void* (*)(void*, const void*, size_t)>(::memcpy)},
    {"memmove", address_of<void* (*)(void*, const void*, size_t)>(::memmove)},
    {"memset", address_of<void* (*)(void*, int, size_t)>(::memset)},
    {"memcmp", address_of<int (*)(const void*, const void*, size_t)>(::memcmp)},
};

#undef ONE
#undef TWO

}  // namespace

std::span<const ExternalSymbol> external_symbols() { return table; }

}  // namespace cleave::runtime
