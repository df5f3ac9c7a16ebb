// What has no name in CUDA C, or another meaning. The integer functions, conversions and random
// bits are those of the CPU (emit/kernel_functions.h); elementary functions are CUDA's own, without
// fast math: on sm_90, of all f32, exp is within 1.93 ulp of float64, tanh 1.82, expm1 1.45, erf
// 1.04, and sigmoid, which is ours, 2.68.
#include "simt/cuda_prelude.h"

#include <vector>

#include "emit/c_source.h"
#include "emit/used_text.h"

namespace cleave::simt {
namespace {

constexpr std::string_view types = R"(typedef signed char int8_t;
typedef unsigned char uint8_t;
typedef short int16_t;
typedef unsigned short uint16_t;
typedef int int32_t;
typedef unsigned int uint32_t;
typedef long long int64_t;
typedef unsigned long long uint64_t;
#define INLINE static __device__ __forceinline__
)";

#define CLEAVE_CUDA_ONE(name, cuda) \
  {#name "_f32", "INLINE float " #name "_f32(float x) { return " #cuda "(x); }\n"}
// A definition precedes its uses.
constexpr emit::Definition items[] = {
    CLEAVE_CUDA_ONE(exp, expf),
    CLEAVE_CUDA_ONE(exp2, exp2f),
    CLEAVE_CUDA_ONE(expm1, expm1f),
    CLEAVE_CUDA_ONE(log, logf),
    CLEAVE_CUDA_ONE(log2, log2f),
    CLEAVE_CUDA_ONE(log1p, log1pf),
    CLEAVE_CUDA_ONE(tanh, tanhf),
    CLEAVE_CUDA_ONE(erf, erff),
    CLEAVE_CUDA_ONE(sin, sinf),
    CLEAVE_CUDA_ONE(cos, cosf),
    CLEAVE_CUDA_ONE(tan, tanf),
    CLEAVE_CUDA_ONE(asin, asinf),
    CLEAVE_CUDA_ONE(acos, acosf),
    CLEAVE_CUDA_ONE(atan, atanf),
    CLEAVE_CUDA_ONE(sinh, sinhf),
    CLEAVE_CUDA_ONE(cosh, coshf),
    CLEAVE_CUDA_ONE(asinh, asinhf),
    CLEAVE_CUDA_ONE(acosh, acoshf),
    CLEAVE_CUDA_ONE(atanh, atanhf),
    CLEAVE_CUDA_ONE(log10, log10f),
    {"atan2_f32", "INLINE float atan2_f32(float y, float x) { return atan2f(y, x); }\n"},
    {"fmod_f32", "INLINE float fmod_f32(float x, float y) { return fmodf(x, y); }\n"},
    {"pow_f32", "INLINE float pow_f32(float x, float y) { return powf(x, y); }\n"},
    {"exp_f64", "INLINE double exp_f64(double x) { return exp(x); }\n"},
    {"log_f64", "INLINE double log_f64(double x) { return log(x); }\n"},
    {"log1p_f64", "INLINE double log1p_f64(double x) { return log1p(x); }\n"},
    {"sigmoid_f64",
     "INLINE double sigmoid_f64(double x) {\n"
     "  const double e = exp(-fabs(x));\n"
     "  return (x < 0.0 ? e : 1.0) / (1.0 + e);\n"
     "}\n"},
    {"sigmoid_f32",
     "// e / (1 + e) or 1 / (1 + e), e = exp(-|x|), as of - of * (e / (1 + e)): at most 2.7 ulp\n"
     "// from float64, of which expf has 1.9. The divisor is in [1, 2], so that the processor's\n"
     "// own reciprocal and a step of Newton's give a division.\n"
     "INLINE float sigmoid_f32(float x) {\n"
     "  const float e = expf(-fabsf(x)), d = 1.0f + e, of = x < 0.0f ? e : 1.0f;\n"
     "  float r;\n"
     "  asm(\"rcp.approx.ftz.f32 %0, %1;\" : \"=f\"(r) : \"f\"(d));\n"
     "  return fmaf(-of, e * fmaf(fmaf(-d, r, 1.0f), r, r), of);\n"
     "}\n"},
    {"bits_f32", "INLINE float bits_f32(uint32_t u) { return __uint_as_float(u); }\n"},
    {"load_bf16",
     "INLINE float load_bf16(uint16_t h) { return __uint_as_float((uint32_t)h << 16); }\n"},
    {"store_bf16",
     "INLINE uint16_t store_bf16(float x) {\n"
     "  uint16_t h;\n"
     "  asm(\"cvt.rn.bf16.f32 %0, %1;\" : \"=h\"(h) : \"f\"(x));\n"
     "  return h;\n"
     "}\n"},
    {"load_f16",
     "INLINE float load_f16(uint16_t h) {\n"
     "  float x;\n"
     "  asm(\"cvt.f32.f16 %0, %1;\" : \"=f\"(x) : \"h\"(h));\n"
     "  return x;\n"
     "}\n"},
    {"store_f16",
     "INLINE uint16_t store_f16(float x) {\n"
     "  uint16_t h;\n"
     "  asm(\"cvt.rn.f16.f32 %0, %1;\" : \"=h\"(h) : \"f\"(x));\n"
     "  return h;\n"
     "}\n"},
    {"round_bf16", "INLINE float round_bf16(float x) { return load_bf16(store_bf16(x)); }\n"},
    {"round_f16", "INLINE float round_f16(float x) { return load_f16(store_f16(x)); }\n"},
    {"max_f32",
     "INLINE float max_f32(float a, float b) {\n"
     "#if __CUDA_ARCH__ >= 800\n"
     "  asm(\"max.NaN.f32 %0, %0, %1;\" : \"+f\"(a) : \"f\"(b));\n"
     "  return a;\n"
     "#else\n"
     "  return a > b || a != a ? a : b;\n"
     "#endif\n"
     "}\n"},
    {"min_f32",
     "INLINE float min_f32(float a, float b) {\n"
     "#if __CUDA_ARCH__ >= 800\n"
     "  asm(\"min.NaN.f32 %0, %0, %1;\" : \"+f\"(a) : \"f\"(b));\n"
     "  return a;\n"
     "#else\n"
     "  return a < b || a != a ? a : b;\n"
     "#endif\n"
     "}\n"},
    {"max_f64", "INLINE double max_f64(double a, double b) { return a > b || a != a ? a : b; }\n"},
    {"min_f64", "INLINE double min_f64(double a, double b) { return a < b || a != a ? a : b; }\n"},
    {"max_i64", "INLINE int64_t max_i64(int64_t a, int64_t b) { return a > b ? a : b; }\n"},
    {"min_i64", "INLINE int64_t min_i64(int64_t a, int64_t b) { return a < b ? a : b; }\n"},
    {"max_i32", "INLINE int32_t max_i32(int32_t a, int32_t b) { return a > b ? a : b; }\n"},
    {"min_i32", "INLINE int32_t min_i32(int32_t a, int32_t b) { return a < b ? a : b; }\n"},
    {"sign_f32", "INLINE float sign_f32(float x) { return (float)((x > 0) - (x < 0)); }\n"},
    {"sign_f64", "INLINE double sign_f64(double x) { return (double)((x > 0) - (x < 0)); }\n"},
    {"sign_i64", "INLINE int64_t sign_i64(int64_t x) { return (x > 0) - (x < 0); }\n"},
    {"sign_i32", "INLINE int32_t sign_i32(int32_t x) { return (x > 0) - (x < 0); }\n"},
    {"__builtin_fabsf", "#define __builtin_fabsf fabsf\n"},
    {"__builtin_fabs", "#define __builtin_fabs fabs\n"},
    {"__builtin_sqrtf", "#define __builtin_sqrtf sqrtf\n"},
    {"__builtin_sqrt", "#define __builtin_sqrt sqrt\n"},
    {"__builtin_floorf", "#define __builtin_floorf floorf\n"},
    {"__builtin_floor", "#define __builtin_floor floor\n"},
    {"__builtin_ceilf", "#define __builtin_ceilf ceilf\n"},
    {"__builtin_ceil", "#define __builtin_ceil ceil\n"},
    {"__builtin_truncf", "#define __builtin_truncf truncf\n"},
    {"__builtin_trunc", "#define __builtin_trunc trunc\n"},
    {"__builtin_rintf", "#define __builtin_rintf rintf\n"},
    {"__builtin_rint", "#define __builtin_rint rint\n"},
    {"__builtin_inff", "#define __builtin_inff() __int_as_float(0x7f800000)\n"},
    {"__builtin_inf", "#define __builtin_inf() __longlong_as_double(0x7ff0000000000000ll)\n"},
    {"__builtin_nanf", "#define __builtin_nanf(s) __int_as_float(0x7fc00000)\n"},
    {"__builtin_nan", "#define __builtin_nan(s) __longlong_as_double(0x7ff8000000000000ll)\n"},
    {"copy_bytes",
     "// As many bytes as said, in accesses of up to 16.\n"
     "template <int bytes>\n"
     "INLINE void copy_bytes(void *to, const void *from) {\n"
     "  if constexpr (bytes % 16 == 0) {\n"
     "#pragma unroll\n"
     "    for (int i = 0; i < bytes / 16; ++i) ((uint4 *)to)[i] = ((const uint4 *)from)[i];\n"
     "  } else if constexpr (bytes == 8) {\n"
     "    *(uint2 *)to = *(const uint2 *)from;\n"
     "  } else if constexpr (bytes == 4) {\n"
     "    *(uint32_t *)to = *(const uint32_t *)from;\n"
     "  } else {\n"
     "#pragma unroll\n"
     "    for (int i = 0; i < bytes; ++i) ((uint8_t *)to)[i] = ((const uint8_t *)from)[i];\n"
     "  }\n"
     "}\n"},
    {"copy_ahead",
     "// To shared memory, 16 bytes at a time, past registers and the first cache.\n"
     "template <int bytes>\n"
     "INLINE void copy_ahead(void *to, const void *from) {\n"
     "#if __CUDA_ARCH__ >= 800\n"
     "  const uint32_t at = (uint32_t)__cvta_generic_to_shared(to);\n"
     "#pragma unroll\n"
     "  for (int i = 0; i < bytes; i += 16)\n"
     "    asm volatile(\"cp.async.cg.shared.global [%0], [%1], 16;\" ::\"r\"(at + i),\n"
     "                 \"l\"((const char *)from + i) : \"memory\");\n"
     "#else\n"
     "#pragma unroll\n"
     "  for (int i = 0; i < bytes / 16; ++i) ((uint4 *)to)[i] = ((const uint4 *)from)[i];\n"
     "#endif\n"
     "}\n"},
    {"wait_for_copies",
     "INLINE void wait_for_copies() {\n"
     "#if __CUDA_ARCH__ >= 800\n"
     "  asm volatile(\"cp.async.wait_all;\" ::: \"memory\");\n"
     "#endif\n"
     "}\n"},
    {"team_mask",
     "// The lanes of this thread's team of `width`.\n"
     "INLINE uint32_t team_mask(int width) {\n"
     "  const uint32_t lane = threadIdx.x % 32;\n"
     "  return width == 32 ? 0xffffffffu : ((1u << width) - 1) << (lane / width * width);\n"
     "}\n"},
    {"fail",
     "// The first check that fails says what it saw.\n"
     "INLINE void fail(int64_t *fault, int64_t kernel, int64_t check, int64_t value, int64_t "
     "bound) "
     "{\n"
     "  const uint64_t said = (uint64_t)kernel << 32 | (uint64_t)check;\n"
     "  if (atomicCAS((uint64_t *)fault, 0ull, said) != 0) return;\n"
     "  fault[1] = value, fault[2] = bound;\n"
     "}\n"},
};
#undef CLEAVE_CUDA_ONE

// Functions of one element that both machines have.
constexpr std::string_view shared[] = {
    "truncdiv_i64", "truncmod_i64", "floordiv_i64", "floormod_i64", "pow_i64", "shl_i64", "shr_i64",
    "truncdiv_i32", "truncmod_i32", "floordiv_i32", "floormod_i32", "pow_i32", "shl_i32", "shr_i32",
    "f32_to_i64",   "f32_to_i32",   "f64_to_i64",   "f64_to_i32",   "philox"};

}  // namespace

std::string cuda_prelude_for(const std::string& kernels) {
  std::vector<emit::Definition> all(std::begin(items), std::end(items));
  for (const std::string_view name : shared) all.push_back({name, emit::c_function(name)});
  std::string out = std::string(types) + emit::used_text(all, kernels);
  constexpr std::string_view of_gcc = "#pragma GCC unroll";
  for (size_t at; (at = out.find(of_gcc)) != std::string::npos;)
    out.replace(at, of_gcc.size(), "#pragma unroll");
  return out;
}

}  // namespace cleave::simt
