// The text before the kernels: fixed-width types, the functions of libm, and kernel_functions.h.
#include "emit/c_source.h"
#include "kernel_functions_text.inc"

namespace cleave::emit {
namespace {

constexpr const char* types = R"(typedef signed char int8_t;
typedef unsigned char uint8_t;
typedef short int16_t;
typedef unsigned short uint16_t;
typedef int int32_t;
typedef unsigned int uint32_t;
typedef long int64_t;
typedef unsigned long uint64_t;

float sinf(float), cosf(float), tanf(float), asinf(float), acosf(float), atanf(float);
float sinhf(float), coshf(float), asinhf(float), acoshf(float), atanhf(float), expm1f(float);
float log1pf(float), log2f(float), log10f(float), exp2f(float), powf(float, float);
float fmodf(float, float), atan2f(float, float);
double sin(double), cos(double), tan(double), asin(double), acos(double), atan(double);
double sinh(double), cosh(double), tanh(double), asinh(double), acosh(double), atanh(double);
double exp(double), exp2(double), expm1(double), log(double), log1p(double), log2(double);
double log10(double), erf(double), pow(double, double), fmod(double, double);
double atan2(double, double);

)";

}  // namespace

std::string c_prelude() { return std::string(types).append(kernel_functions_text); }

}  // namespace cleave::emit
