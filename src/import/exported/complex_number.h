// Complex values while a program is read. A complex tensor is a real one with a last dim of 2, as
// torch.view_as_real shows it; rules take it apart into real and imaginary parts and join those.
//
//   complex64 [3,4]   f32[3,4,2]        z[..., 0] real, z[..., 1] imaginary
//
// Gradients are those of the parts: what PyTorch calls the gradient of a complex tensor has the
// derivative by the real part as its real part, by the imaginary part as its imaginary one.
#pragma once
#include <complex>
#include <string_view>

#include "import/exported/call.h"

namespace cleave::exported {

struct Complex {
  ValueId re, im;  // of one shape, or shapes that broadcast; im none: it is 0
  bool is_real() const { return !im.valid(); }
};

// What the file says of the call's first result; null: nothing.
const TensorMeta* result_meta(Call& c);
// The dtype of the parts of the call's first result, if that is complex; else the widest of
// its arguments.
DType parts_dtype(Call& c);

// An argument: a complex tensor, a real one or a number, with parts of parts_dtype.
Complex complex_argument(Call& c, std::string_view name);
Complex complex_argument(Call& c, const Argument& a);
Complex complex_number(Call& c, std::complex<double> z);
Complex split(Call& c, ValueId parts);
// The tensor [*s,2] of parts that broadcast to [*s].
ValueId joined(Call& c, const Complex& z);
// The tensor [*s,2] that an argument is, without taking it apart.
ValueId parts_of(Call& c, std::string_view name);
ValueId parts_of(Call& c, const Argument& a);

// The number that an argument is; nothing: it is a tensor, or a size that isn't known.
std::optional<std::complex<double>> number_of(Call& c, std::string_view name);

Complex conjugate(Call& c, const Complex& z);
Complex add(Call& c, const Complex& a, const Complex& b);
Complex negative(Call& c, const Complex& z);
Complex mul(Call& c, const Complex& a, const Complex& b);
Complex div(Call& c, const Complex& a, const Complex& b);
Complex reciprocal(Call& c, const Complex& z);
Complex scaled(Call& c, const Complex& z, ValueId factor);
// |z|, by the larger part, so that no square overflows; its gradient at 0 is 0.
ValueId magnitude(Call& c, const Complex& z);
// In [-pi, pi]; its gradient at 0 is 0.
ValueId angle(Call& c, const Complex& z);
Complex polar(Call& c, ValueId size, ValueId angle);
Complex exp(Call& c, const Complex& z);
Complex log(Call& c, const Complex& z);
Complex sqrt(Call& c, const Complex& z);
Complex power(Call& c, const Complex& z, std::complex<double> exponent);
Complex power(Call& c, const Complex& z, const Complex& exponent);

}  // namespace cleave::exported
