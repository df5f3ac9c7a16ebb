// Complex tensors of a file as pairs (real part, imaginary part), on the oracle.
// tests: complex_number.cpp complex_rules.cpp complex_views.cpp
// tests: complex_part_rules.cpp complex_pointwise_rules.cpp complex_product_rules.cpp
// tests: complex_reduction_rules.cpp complex_shape_rules.cpp complex_fourier_rules.cpp
// tests: short_time_fourier.cpp window_rules.cpp
#include <complex>

#include "test/import/reading.h"

namespace cleave::exported {
namespace {

using Z = std::complex<double>;

Argument complex_argument_of(Z z) {
  Argument a = of_kind(Kind::complex);
  a.floating = z.real();
  a.imaginary = z.imag();
  return a;
}

TensorMeta complex_meta(std::vector<int64_t> sizes, DType t = DType::f32) {
  TensorMeta m = meta_of(std::move(sizes), t);
  m.is_complex = true;
  return m;
}

struct ComplexReading : Reading {
  std::map<std::string, Numbers> values;

  void complex(const std::string& name, std::vector<int64_t> sizes, const std::vector<Z>& z,
               bool is_param = false) {
    source.tensors[name] = complex_meta(sizes);
    Shape shape(sizes.begin(), sizes.end());
    shape.emplace_back(2);
    const Role role = is_param ? Role::param : Role::input;
    reader.bind(name,
                value_or_bug(graph.add_placeholder(role, name, Type(DType::f32, shape), is_param)));
    for (const Z& v : z) values[name].insert(values[name].end(), {v.real(), v.imag()});
  }
  void real(const std::string& name, std::vector<int64_t> sizes, const Numbers& x) {
    input(name, std::move(sizes));
    values[name] = x;
  }
  void complex_node(const std::string& name, std::vector<int64_t> sizes, const std::string& op,
                    std::vector<NamedArgument> inputs, DType t = DType::f32) {
    node(name, {}, op, std::move(inputs));
    source.tensors[name] = complex_meta(std::move(sizes), t);
  }
};

void expect_complex(const Answer& got, const std::vector<Z>& want, double tolerance = 1e-6) {
  EXPECT_EQ(got.failure, "");
  Numbers flat;
  for (const Z& z : want) flat.insert(flat.end(), {z.real(), z.imag()});
  expect_near(got.value, flat, tolerance);
}

// One call of one or two complex tensors of three numbers.
const std::vector<Z> a = {{1, 2}, {-3, 0.5}, {0, -1}}, b = {{2, -1}, {1, 1}, {-0.5, 3}};
Answer of_one(const std::string& op, std::vector<NamedArgument> more = {}) {
  ComplexReading r;
  r.complex("a", {3}, a);
  more.insert(more.begin(), {"self", tensor("a")});
  r.complex_node("y", {3}, op, std::move(more));
  return answer(r, "y", r.values);
}
Answer of_two(const std::string& op) {
  ComplexReading r;
  r.complex("a", {3}, a);
  r.complex("b", {3}, b);
  r.complex_node("y", {3}, op, {{"self", tensor("a")}, {"other", tensor("b")}});
  return answer(r, "y", r.values);
}
template <class F>
std::vector<Z> mapped(const F& f) {
  std::vector<Z> out;
  for (size_t k = 0; k < a.size(); ++k) out.push_back(f(a[k], b[k]));
  return out;
}

TEST(ComplexRules, Arithmetic) {
  expect_complex(of_two("add.Tensor"), mapped([](Z x, Z y) { return x + y; }));
  expect_complex(of_two("sub.Tensor"), mapped([](Z x, Z y) { return x - y; }));
  expect_complex(of_two("mul.Tensor"), mapped([](Z x, Z y) { return x * y; }));
  expect_complex(of_two("div.Tensor"), mapped([](Z x, Z y) { return x / y; }));
  expect_complex(of_one("mul.Tensor", {{"other", complex_argument_of({0, 2})}}),
                 mapped([](Z x, Z) { return x * Z(0, 2); }));
  expect_complex(of_one("add.Tensor", {{"other", real(2)}, {"alpha", complex_argument_of({1, 1})}}),
                 mapped([](Z x, Z) { return x + Z(2, 2); }));
  expect_complex(of_one("rsub.Scalar", {{"other", number(1)}}),
                 mapped([](Z x, Z) { return 1.0 - x; }));
  expect_complex(of_one("neg.default"), mapped([](Z x, Z) { return -x; }));
  expect_complex(of_one("_conj.default"), mapped([](Z x, Z) { return std::conj(x); }));
}

TEST(ComplexRules, FunctionsOfOneNumber) {
  expect_complex(of_one("exp.default"), mapped([](Z x, Z) { return std::exp(x); }));
  expect_complex(of_one("log.default"), mapped([](Z x, Z) { return std::log(x); }));
  expect_complex(of_one("sqrt.default"), mapped([](Z x, Z) { return std::sqrt(x); }));
  expect_complex(of_one("reciprocal.default"), mapped([](Z x, Z) { return 1.0 / x; }));
  expect_complex(of_one("sin.default"), mapped([](Z x, Z) { return std::sin(x); }));
  expect_complex(of_one("cos.default"), mapped([](Z x, Z) { return std::cos(x); }));
  expect_complex(of_one("sinh.default"), mapped([](Z x, Z) { return std::sinh(x); }));
  expect_complex(of_one("cosh.default"), mapped([](Z x, Z) { return std::cosh(x); }));
  expect_complex(of_one("tanh.default"), mapped([](Z x, Z) { return std::tanh(x); }));
  expect_complex(of_one("sgn.default"), mapped([](Z x, Z) { return x / std::abs(x); }));
  for (const double p : {0.0, 1.0, 2.0, 5.0, -3.0, 0.5, 1.5})
    expect_complex(of_one("pow.Tensor_Scalar", {{"exponent", real(p)}}),
                   mapped([&](Z x, Z) { return p == 0 ? Z(1) : std::pow(x, p); }));
}

TEST(ComplexRules, MagnitudesAndAngles) {
  ComplexReading r;
  r.complex("a", {4}, {{3, -4}, {0, 0}, {3e30, 4e30}, {-1, 0}}, true);
  r.node("y", {4}, "abs.default", {{"self", tensor("a")}});
  const Answer got = answer(r, "y", r.values);
  expect_near(got.value, {5, 0, 5e30, 1}, 1e-6);
  expect_near(got.gradient, {0.6, -0.8, 0, 0, 0.6, 0.8, -1, 0}, 1e-6);  // 0 at 0
  ComplexReading s;
  s.complex("a", {4}, {{1, 1}, {0, 0}, {-1, 0}, {0, -2}}, true);
  s.node("y", {4}, "angle.default", {{"self", tensor("a")}});
  const Answer angles = answer(s, "y", s.values);
  expect_near(angles.value, {M_PI / 4, 0, M_PI, -M_PI / 2}, 1e-6);
  expect_near(angles.gradient, {-0.5, 0.5, 0, 0, 0, -1, 0.5, 0}, 1e-6);
}

// Real tensors meet both parts of a number; a number's dtype is the file's.
TEST(ComplexRules, MixedOperands) {
  ComplexReading r;
  r.complex("a", {2}, {{1, 2}, {3, 4}});
  r.real("x", {2, 1}, {2, -1});
  r.complex_node("y", {2, 2}, "mul.Tensor", {{"self", tensor("x")}, {"other", tensor("a")}});
  r.complex_node("z", {2, 2}, "sub.Tensor", {{"self", tensor("x")}, {"other", tensor("y")}},
                 DType::f32);
  expect_complex(answer(r, "z", r.values), {{0, -4}, {-4, -8}, {0, 2}, {2, 4}});
}

TEST(ComplexRules, ViewsShareMemory) {
  ComplexReading r;
  r.complex("a", {2, 3}, {{1, 2}, {3, 4}, {5, 6}, {7, 8}, {9, 10}, {11, 12}});
  r.complex_node("z", {2, 3}, "mul.Tensor", {{"self", tensor("a")}, {"other", number(1)}});
  r.complex_node("t", {3, 2}, "t.default", {{"self", tensor("z")}});
  r.complex_node("row", {2}, "select.int",
                 {{"self", tensor("t")}, {"dim", number(-2)}, {"index", number(-1)}});
  r.node("i", {2}, "imag.default", {{"self", tensor("row")}});
  r.node("w", {2}, "mul_.Tensor", {{"self", tensor("i")}, {"other", number(10)}});
  r.node("pairs", {2, 3, 2}, "view_as_real.default", {{"self", tensor("z")}});
  r.node("first", {2, 3}, "select.int",
         {{"self", tensor("pairs")}, {"dim", number(2)}, {"index", number(0)}});
  r.node("v", {2, 3}, "zero_.default", {{"self", tensor("first")}});
  expect_complex(answer(r, "z", r.values), {{0, 2}, {0, 4}, {0, 60}, {0, 8}, {0, 10}, {0, 120}});
}

TEST(ComplexRules, ViewsCountDimsOfNumbers) {
  const auto view = [](std::vector<int64_t> sizes, const std::string& op,
                       std::vector<NamedArgument> more) {
    ComplexReading r;
    r.complex("a", {2, 2}, {{1, 2}, {3, 4}, {5, 6}, {7, 8}});
    more.insert(more.begin(), {"self", tensor("a")});
    r.complex_node("y", std::move(sizes), op, std::move(more));
    return answer(r, "y", r.values);
  };
  const Z p(1, 2), q(3, 4), u(5, 6), v(7, 8);
  expect_complex(view({4}, "view.default", {{"size", numbers({-1})}}), {p, q, u, v});
  expect_complex(view({2, 2}, "permute.default", {{"dims", numbers({-1, 0})}}), {p, u, q, v});
  expect_complex(view({2}, "diagonal.default", {}), {p, v});
  expect_complex(view({2, 2, 1}, "unsqueeze.default", {{"dim", number(-1)}}), {p, q, u, v});
  expect_complex(view({2, 1, 2}, "unfold.default",
                      {{"dimension", number(1)}, {"size", number(2)}, {"step", number(1)}}),
                 {p, q, u, v});
  expect_complex(
      view({2, 1}, "slice.Tensor", {{"dim", number(-1)}, {"start", number(1)}, {"end", number(2)}}),
      {q, v});
  expect_complex(view({2, 2}, "mH.default", {}),
                 {std::conj(p), std::conj(u), std::conj(q), std::conj(v)});
  expect_complex(view({2, 2}, "flip.default", {{"dims", numbers({-1})}}), {q, p, v, u});
  expect_complex(view({2, 2}, "cumsum.default", {{"dim", number(-1)}}), {p, p + q, u, u + v});
  expect_complex(view({2, 4}, "constant_pad_nd.default",
                      {{"pad", numbers({1, 1})}, {"value", complex_argument_of({0, 9})}}),
                 {{0, 9}, p, q, {0, 9}, {0, 9}, u, v, {0, 9}});
}

TEST(ComplexRules, Reductions) {
  const auto reduced = [](std::vector<int64_t> sizes, const std::string& op,
                          std::vector<NamedArgument> more) {
    ComplexReading r;
    r.complex("a", {2, 3}, {{1, 2}, {3, 4}, {5, 6}, {1, 1}, {2, -1}, {0, 1}});
    more.insert(more.begin(), {"self", tensor("a")});
    r.complex_node("y", std::move(sizes), op, std::move(more));
    return answer(r, "y", r.values);
  };
  expect_complex(reduced({}, "sum.default", {}), {{12, 13}});
  expect_complex(reduced({2}, "mean.dim", {{"dim", numbers({-1})}}), {{3, 4}, {1, 1.0 / 3}});
  const Z rows[] = {Z(1, 2) * Z(3, 4) * Z(5, 6), Z(1, 1) * Z(2, -1) * Z(0, 1)};
  expect_complex(reduced({2}, "prod.dim_int", {{"dim", number(1)}}), {rows[0], rows[1]});
  expect_complex(reduced({}, "prod.default", {}), {rows[0] * rows[1]});
}

TEST(ComplexRules, Products) {
  ComplexReading r;
  r.complex("a", {1, 2}, {{1, 2}, {3, -1}});
  r.complex("b", {2, 1}, {{0, 1}, {2, 2}});
  r.complex_node("y", {1, 1}, "matmul.default", {{"self", tensor("a")}, {"other", tensor("b")}});
  const Z want = Z(1, 2) * Z(0, 1) + Z(3, -1) * Z(2, 2);
  expect_complex(answer(r, "y", r.values), {want});
  ComplexReading s;
  s.complex("a", {1, 2}, {{1, 2}, {3, -1}});
  s.complex("b", {2, 1}, {{0, 1}, {2, 2}});
  s.complex("c", {1}, {{0, 1}});
  s.complex_node("e", {1, 1}, "einsum.default",
                 {{"equation", of_kind(Kind::text, "ij,jk,k->ik")},
                  {"tensors", list({tensor("a"), tensor("b"), tensor("c")})}});
  expect_complex(answer(s, "e", s.values), {want * Z(0, 1)});
}

TEST(ComplexRules, JoinsAndConstants) {
  ComplexReading r;
  r.complex("a", {1, 2}, {{1, 2}, {3, 4}});
  r.real("x", {1, 2}, {5, 6});
  r.complex_node("y", {1, 4}, "cat.default",
                 {{"tensors", list({tensor("a"), tensor("x")})}, {"dim", number(-1)}});
  expect_complex(answer(r, "y", r.values), {{1, 2}, {3, 4}, 5.0, 6.0});
  ComplexReading s;
  s.complex_node("y", {2}, "full.default",
                 {{"size", numbers({2})}, {"fill_value", complex_argument_of({1, -2})}});
  expect_complex(answer(s, "y", s.values), {{1, -2}, {1, -2}});
  ComplexReading t;
  t.complex("a", {2}, {{1, 2}, {3, 4}});
  t.node("y", {2}, "_to_copy.default",
         {{"self", tensor("a")}, {"dtype", of_kind(Kind::dtype, "", 7)}});
  expect_near(answer(t, "y", t.values).value, {1, 3});
}

TEST(ComplexRules, Transforms) {
  ComplexReading r;
  r.real("x", {4}, {1, 2, 3, 4});
  r.complex_node("y", {3}, "fft_rfft.default", {{"self", tensor("x")}});
  expect_complex(answer(r, "y", r.values), {{10, 0}, {-2, 2}, {-2, 0}});
  ComplexReading s;
  s.complex("z", {3}, {{10, 5}, {-2, 2}, {-2, 0}});
  s.node("y", {4}, "fft_irfft.default", {{"self", tensor("z")}, {"n", number(4)}});
  expect_near(answer(s, "y", s.values).value, {1, 2, 3, 4}, 1e-6);
  ComplexReading t;
  t.complex("z", {2}, {{1, 1}, {3, 0}});
  t.complex_node(
      "y", {3}, "fft_fft.default",
      {{"self", tensor("z")}, {"n", number(3)}, {"norm", of_kind(Kind::text, "forward")}});
  const Z w = std::exp(Z(0, -2 * M_PI / 3)), one(1, 1);
  expect_complex(answer(t, "y", t.values),
                 {(one + 3.0) / 3.0, (one + 3.0 * w) / 3.0, (one + 3.0 * w * w) / 3.0});
}

TEST(ComplexRules, ShortTimeTransforms) {
  ComplexReading r;
  r.real("x", {8}, {1, 2, 3, 4, 5, 6, 7, 8});
  r.real("w", {4}, {0.5, 1, 1, 0.5});
  r.complex_node("z", {3, 3}, "stft.default",
                 {{"self", tensor("x")},
                  {"n_fft", number(4)},
                  {"hop_length", number(2)},
                  {"window", tensor("w")},
                  {"return_complex", flag(true)}});
  r.node("y", {8}, "istft.default",
         {{"self", tensor("z")},
          {"n_fft", number(4)},
          {"hop_length", number(2)},
          {"window", tensor("w")},
          {"center", flag(false)}});
  expect_near(answer(r, "y", r.values).value, {1, 2, 3, 4, 5, 6, 7, 8}, 1e-6);
}

TEST(ComplexRules, Windows) {
  const auto window = [](const std::string& op, std::vector<NamedArgument> more) {
    Reading r;
    more.insert(more.begin(), {"window_length", number(4)});
    r.node("y", {4}, op, std::move(more));
    return answer(r, "y", {}).value;
  };
  expect_near(window("hann_window.default", {}), {0, 0.5, 1, 0.5}, 1e-6);
  expect_near(window("hamming_window.periodic", {{"periodic", flag(false)}}),
              {0.08, 0.77, 0.77, 0.08}, 1e-6);
  expect_near(window("bartlett_window.default", {}), {0, 0.5, 1, 0.5}, 1e-6);
  expect_near(window("blackman_window.default", {}), {0, 0.34, 1, 0.34}, 1e-6);
  expect_near(window("kaiser_window.beta", {{"periodic", flag(true)}, {"beta", real(0)}}),
              {1, 1, 1, 1}, 1e-6);
}

TEST(ComplexRules, RefusesByName) {
  ComplexReading r;
  r.complex("a", {3}, a);
  r.complex_node("y", {3}, "tan.default", {{"self", tensor("a")}});
  EXPECT_EQ(answer(r, "y", r.values).failure,
            "\"y\" = aten.tan.default: the operator tan of complex tensors is not covered");
  EXPECT_EQ(uncovered(r.source, all_ops()),
            (std::map<std::string, int64_t>{{"aten.tan.default of complex tensors", 1}}));
  ComplexReading s;
  s.complex("a", {3}, a);
  s.complex_node("c", {3}, "_conj.default", {{"self", tensor("a")}});
  s.complex_node("w", {3}, "mul_.Tensor", {{"self", tensor("a")}, {"other", number(2)}});
  s.complex_node("y", {3}, "neg.default", {{"self", tensor("c")}});
  EXPECT_NE(answer(s, "y", s.values).failure.find("may be a copy or a view"), std::string::npos);
}

}  // namespace
}  // namespace cleave::exported
