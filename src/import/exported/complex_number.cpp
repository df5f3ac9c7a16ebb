#include "import/exported/complex_number.h"

#include <algorithm>
#include <cmath>

#include "import/exported/target.h"

namespace cleave::exported {
namespace {

using V = ValueId;
using Kind = Argument::Kind;

constexpr double most_products = 16;  // of a whole exponent; larger ones are polar

V part(Call& c, V parts, int64_t index) {
  return c.op("select", {parts}, {{"dim", -1}, {"index", index}});
}

V full(Call& c, double value) {
  return c.op("full", {}, {{"size", Shape{}}, {"fill_value", value}, {"dtype", parts_dtype(c)}});
}

// The size of an infinite or vanishing product: z over its larger part, which is not derived by.
struct Scaled {
  Complex z;
  V size;
};
Scaled normalised(Call& c, const Complex& z) {
  const V most = c.op("maximum", {c.op("abs", {z.re}), c.op("abs", {z.im})});
  const V usable = c.op("logical_and", {c.op("gt", {most, 0}), c.op("lt", {most, INFINITY})});
  const V size = c.op("detach", {c.op("where", {usable, most, 1.0})});
  return {{c.op("div", {z.re, size}), c.op("div", {z.im, size})}, size};
}

V square_of_size(Call& c, const Complex& z) {
  return c.op("add", {c.op("mul", {z.re, z.re}), c.op("mul", {z.im, z.im})});
}

V is_zero(Call& c, const Complex& z) {
  return c.op("logical_and", {c.op("eq", {z.re, 0}), c.op("eq", {z.im, 0})});
}

Complex with_imaginary(Call& c, const Complex& z) {
  return z.is_real() ? Complex{z.re, c.op("zeros_like", {z.re})} : z;
}

Complex whole_power(Call& c, Complex z, int64_t n) {
  if (n == 0) return {c.op("ones_like", {z.re})};
  if (n < 0) return reciprocal(c, whole_power(c, z, -n));
  Complex y;
  for (bool is_first = true; n > 0; n /= 2) {
    if (n % 2 != 0) y = is_first ? z : mul(c, y, z);
    is_first = is_first && n % 2 == 0;
    if (n > 1) z = mul(c, z, z);
  }
  return y;
}

Shape broadcast(Call& c, V a, V b) {
  Shape wide = c.type(a).shape, other = c.type(b).shape;
  if (wide.size() < other.size()) std::swap(wide, other);
  for (size_t k = 0; k < other.size(); ++k)
    if (Dim& d = wide[wide.size() - other.size() + k]; d == Dim(1)) d = other[k];
  return wide;
}

}  // namespace

const TensorMeta* result_meta(Call& c) {
  const std::vector<std::string> names = result_names(c.node());
  return names.empty() || !c.context().meta ? nullptr : c.context().meta(names[0]);
}

DType parts_dtype(Call& c) {
  if (const TensorMeta* m = result_meta(c); m && m->is_complex) return m->dtype;
  bool is_wide = false;
  const auto note = [&](const Argument& a) {
    const TensorMeta* m = c.meta(a);
    is_wide = is_wide || (m && m->dtype == DType::f64);
  };
  for (const NamedArgument& a : c.node().inputs) {
    note(a.value);
    std::ranges::for_each(a.value.items, note);
  }
  return is_wide ? DType::f64 : DType::f32;
}

std::optional<std::complex<double>> number_of(Call& c, std::string_view name) {
  const Argument* a = c.find(name);
  if (!a) return std::nullopt;
  if (a->kind == Kind::complex) return std::complex<double>(a->floating, a->imaginary);
  if (a->kind == Kind::floating) return a->floating;
  if (a->kind == Kind::integer || a->kind == Kind::boolean) return static_cast<double>(a->number);
  return std::nullopt;
}

Complex complex_number(Call& c, std::complex<double> z) {
  return {full(c, z.real()), z.imag() == 0 ? V::none() : full(c, z.imag())};
}

Complex split(Call& c, V parts) { return {part(c, parts, 0), part(c, parts, 1)}; }

Complex complex_argument(Call& c, const Argument& a) {
  if (!c.ok()) return {};
  if (a.kind == Kind::complex) return complex_number(c, {a.floating, a.imaginary});
  const DType t = parts_dtype(c);
  if (a.kind == Kind::tensor) {
    const V x = c.to(c.tensor(a), t);
    return c.is_complex(a) ? split(c, x) : Complex{x};
  }
  return {c.op("full", {}, {{"size", Shape{}}, {"fill_value", c.value(a)}, {"dtype", t}})};
}

Complex complex_argument(Call& c, std::string_view name) {
  const Argument* a = c.find(name);
  if (!a || a->kind == Kind::none) return {c.fail("the argument {} is missing", name)};
  return complex_argument(c, *a);
}

V joined(Call& c, const Complex& given) {
  Complex z = with_imaginary(c, given);
  const Shape shape = broadcast(c, z.re, z.im);
  for (V* x : {&z.re, &z.im})
    if (!(c.type(*x).shape == shape)) *x = c.op("expand", {*x}, {{"size", shape}});
  return c.op("stack", {CallOperand(Values{z.re, z.im})}, {{"dim", -1}});
}

V parts_of(Call& c, const Argument& a) {
  if (c.ok() && a.kind == Kind::tensor && c.is_complex(a)) return c.to(c.tensor(a), parts_dtype(c));
  return joined(c, complex_argument(c, a));
}

V parts_of(Call& c, std::string_view name) {
  const Argument* a = c.find(name);
  if (!a || a->kind == Kind::none) return c.fail("the argument {} is missing", name);
  return parts_of(c, *a);
}

Complex conjugate(Call& c, const Complex& z) {
  return z.is_real() ? z : Complex{z.re, c.op("neg", {z.im})};
}

Complex add(Call& c, const Complex& a, const Complex& b) {
  const V im = a.is_real() ? b.im : b.is_real() ? a.im : c.op("add", {a.im, b.im});
  return {c.op("add", {a.re, b.re}), im};
}

Complex negative(Call& c, const Complex& z) {
  return {c.op("neg", {z.re}), z.is_real() ? z.im : c.op("neg", {z.im})};
}

Complex scaled(Call& c, const Complex& z, V factor) {
  return {c.op("mul", {z.re, factor}), z.is_real() ? z.im : c.op("mul", {z.im, factor})};
}

Complex mul(Call& c, const Complex& a, const Complex& b) {
  if (b.is_real()) return scaled(c, a, b.re);
  if (a.is_real()) return scaled(c, b, a.re);
  return {c.op("sub", {c.op("mul", {a.re, b.re}), c.op("mul", {a.im, b.im})}),
          c.op("add", {c.op("mul", {a.re, b.im}), c.op("mul", {a.im, b.re})})};
}

// conj(z / s) / (|z / s|^2 s)
Complex reciprocal(Call& c, const Complex& z) {
  if (z.is_real()) return {c.op("reciprocal", {z.re})};
  const Scaled n = normalised(c, z);
  const V below = c.op("mul", {square_of_size(c, n.z), n.size});
  return {c.op("div", {n.z.re, below}), c.op("neg", {c.op("div", {n.z.im, below})})};
}

Complex div(Call& c, const Complex& a, const Complex& b) {
  if (!b.is_real()) return mul(c, a, reciprocal(c, b));
  return {c.op("div", {a.re, b.re}), a.is_real() ? a.im : c.op("div", {a.im, b.re})};
}

V magnitude(Call& c, const Complex& z) {
  if (z.is_real()) return c.op("abs", {z.re});
  const V a = c.op("abs", {z.re}), b = c.op("abs", {z.im});
  const V most = c.op("maximum", {a, b}), least = c.op("minimum", {a, b});
  const V ratio = c.op("div", {least, c.op("where", {c.op("eq", {most, 0}), 1.0, most})});
  const V y = c.op("mul", {most, c.op("sqrt", {c.op("add", {c.op("mul", {ratio, ratio}), 1.0})})});
  return c.op("where", {c.op("eq", {most, INFINITY}), INFINITY, y});
}

V angle(Call& c, const Complex& given) {
  const Complex z = with_imaginary(c, given);
  const V zero = is_zero(c, z);
  const V y = c.op("atan2", {z.im, c.op("where", {zero, 1.0, z.re})});
  return c.op("where", {zero, c.op("detach", {c.op("atan2", {z.im, z.re})}), y});
}

Complex polar(Call& c, V size, V angle) {
  return {c.op("mul", {size, c.op("cos", {angle})}), c.op("mul", {size, c.op("sin", {angle})})};
}

Complex exp(Call& c, const Complex& z) {
  const V size = c.op("exp", {z.re});
  return z.is_real() ? Complex{size} : polar(c, size, z.im);
}

Complex log(Call& c, const Complex& z) { return {c.op("log", {magnitude(c, z)}), angle(c, z)}; }

// The root whose real part isn't negative, without a difference of near numbers.
Complex sqrt(Call& c, const Complex& given) {
  const Complex z = with_imaginary(c, given);
  const V zero = is_zero(c, z);
  const Complex usable{c.op("where", {zero, 1.0, z.re}), z.im};
  const V half = c.op("mul", {c.op("add", {c.op("abs", {usable.re}), magnitude(c, usable)}), 0.5});
  const V large = c.op("sqrt", {half});
  const V small = c.op("div", {c.op("mul", {z.im, 0.5}), large});
  const V right = c.op("ge", {z.re, 0}), below = c.op("lt", {z.im, 0});
  const V re = c.op("where", {right, large, c.op("abs", {small})});
  const V im = c.op("where", {right, small, c.op("where", {below, c.op("neg", {large}), large})});
  return {c.op("where", {zero, 0.0, re}), c.op("where", {zero, z.im, im})};
}

Complex power(Call& c, const Complex& z, std::complex<double> exponent) {
  const double p = exponent.real();
  if (exponent.imag() != 0) return power(c, z, complex_number(c, exponent));
  if (p == std::floor(p) && std::fabs(p) <= most_products)
    return whole_power(c, z, static_cast<int64_t>(p));
  if (p == 0.5) return sqrt(c, z);
  return power(c, z, complex_number(c, exponent));
}

// exp(p log z); of 0 it is 0, and 1 where p is 0.
Complex power(Call& c, const Complex& given, const Complex& exponent) {
  const Complex z = with_imaginary(c, given);
  const V zero = is_zero(c, z);
  const Complex usable{c.op("where", {zero, 1.0, z.re}), z.im};
  const Complex y = with_imaginary(c, exp(c, mul(c, exponent, log(c, usable))));
  const Complex p = with_imaginary(c, exponent);
  const V one = c.to(is_zero(c, p), parts_dtype(c));
  return {c.op("where", {zero, one, y.re}), c.op("where", {zero, 0.0, y.im})};
}

}  // namespace cleave::exported
