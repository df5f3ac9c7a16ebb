// Fourier transforms of complex tensors, which are real ones with a last dim of 2: (real part,
// imaginary part). dim counts the dims before that one.
//
// fft_c2c(self; dim, normalization, forward) -> y         self [*s,2]   y [*s,2]
//   y[k] = scale * sum_j self[j] exp(-+ 2 pi i j k / n), - forward; over each of dim
// fft_r2c(self; dim, normalization, onesided) -> y        self [*s]     y [*r,2]
//   the forward transform of a real tensor; r is s, with n / 2 + 1 for the n of the last of dim
//   where it is one-sided
// fft_c2r(self; dim, normalization, last_dim_size) -> y   self [*s,2]   y [*r]
//   the backward transform to a real tensor: r is s, with last_dim_size for the last of dim, along
//   which self has the first last_dim_size / 2 + 1; more are cut off, missing ones are 0
//
//   scale: 1, 1 / sqrt(n) or 1 / n for the normalization 0, 1 or 2; n is the product of the sizes
//
//   (C1) self is floating     (C2) the last dim of a complex self is of 2
//   (C3) dims are in range    (C4) each once    (C5) one dim at least, but for fft_c2c
//   (C6) the sizes along dim, and last_dim_size, are known, from 1 to 2^24
//   (C7) normalization is 0, 1 or 2
//
// The operators are those of ATen by the names _fft_c2c, _fft_r2c and _fft_c2r, for tensors of
// torch.view_as_real. f16 and bf16 are computed in f32 and rounded once.
// Source: aten/src/ATen/native/SpectralOps.cpp, PyTorch 2.13.
#include <cmath>
#include <numbers>
#include <utility>

#include "op/cost.h"
#include "op/dims.h"
#include "op/entry.h"
#include "op/fourier_transform.h"
#include "op/grad_of_parts.h"
#include "op/reference_sum.h"
#include "op/sample_sets.h"
#include "op/wide_grad.h"

namespace cleave {
namespace {

using Ints = std::vector<int64_t>;
using fourier::Transform;

bool reads_pairs(const OpView& op) { return op.name() != "fft_r2c"; }
bool gives_pairs(const OpView& op) { return op.name() != "fft_c2r"; }

Shape complex_shape(const OpView& op) {
  Shape s = op.in_type(0).shape;
  if (reads_pairs(op)) s.pop_back();
  return s;
}

// Of a call that infer has checked.
Ints dims_of(const OpView& op) {
  return from_front(op.ints_attr("dim"), std::ssize(complex_shape(op)));
}

// Along each of dim; the last one of fft_c2r has the result's.
Ints lengths_of(const OpView& op) {
  Ints out;
  const Shape s = complex_shape(op);
  for (const int64_t d : dims_of(op)) out.push_back(s[static_cast<size_t>(d)].value());
  if (!gives_pairs(op)) out.back() = op.int_attr("last_dim_size");
  return out;
}

double scale_of(const OpView& op) {
  double n = 1;
  for (const int64_t length : lengths_of(op)) n *= static_cast<double>(length);
  const int64_t normalization = op.int_attr("normalization");
  return normalization == 0 ? 1 : normalization == 1 ? 1 / std::sqrt(n) : 1 / n;
}

bool is_onesided(const OpView& op) { return op.name() == "fft_r2c" && op.bool_attr("onesided"); }
int sign_of(const OpView& op) {
  return op.name() == "fft_r2c" || (op.name() == "fft_c2c" && op.bool_attr("forward")) ? -1 : 1;
}

Status check_length(const OpView& op, const Dim& n, std::string_view what) {
  if (n.is_const() && n.value() >= 1 && n.value() <= fourier::longest) return {};
  return op.broken("C6", "{} is {}, expected a number that is known, from 1 to {}", what, n.text(),
                   fourier::longest);
}

Result<Types> infer(const OpView& op) {
  const Type& x = op.in_type(0);
  CLEAVE_CHECK(check_floating(op, "C1", 0));
  if (reads_pairs(op) && (x.rank() == 0 || !(x.shape.back() == Dim(2))))
    return op.broken("C2", "self is {}, expected a last dim of 2: a real and an imaginary part",
                     x.text());
  Type whole = x;
  whole.shape = complex_shape(op);
  Shape shape = whole.shape;
  CLEAVE_TRY(const Ints dims, checked_dims(op, "C3", "C4", op.ints_attr("dim"), whole));
  if (dims.empty() && op.name() != "fft_c2c")
    return op.broken("C5", "dim has no entries, expected at least one");
  if (!dims.empty() && shape.empty())
    return op.broken("C3", "self is {}, which has no dims", x.text());
  for (const int64_t d : dims) {
    const bool is_given = !gives_pairs(op) && d == dims.back();
    if (!is_given)
      CLEAVE_CHECK(
          check_length(op, shape[static_cast<size_t>(d)], fmt::format("the size of dim {}", d)));
  }
  if (const int64_t n = op.int_attr("normalization"); n < 0 || n > 2)
    return op.broken("C7", "normalization is {}, expected 0, 1 or 2", n);
  if (!gives_pairs(op)) {
    CLEAVE_CHECK(check_length(op, op.dim_attr("last_dim_size"), "last_dim_size"));
    shape[static_cast<size_t>(dims.back())] = op.dim_attr("last_dim_size");
  } else if (is_onesided(op)) {
    Dim& n = shape[static_cast<size_t>(dims.back())];
    n = Dim(n.value() / 2 + 1);
  }
  if (gives_pairs(op)) shape.push_back(Dim(2));
  return Types{typed_like(x, x.dtype, std::move(shape))};
}

// ---- the oracle: sums over all places of a dim

struct Points {
  Ints shape;
  std::vector<double> re, im;
};

// Along a dim, of which `count` results are made of `given` places, the places' period n.
Points summed(const Points& x, size_t dim, int64_t n, int64_t count, int sign) {
  Points y{x.shape, {}, {}};
  y.shape[dim] = count;
  const int64_t given = x.shape[dim];
  int64_t inner = 1, outer = 1;
  for (size_t d = 0; d < x.shape.size(); ++d)
    (d < dim ? outer : inner) *= d == dim ? 1 : x.shape[d];
  std::vector<double> cosine, sine;
  for (int64_t k = 0; k < n; ++k) {
    const double angle = 2 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(n);
    cosine.push_back(std::cos(angle));
    sine.push_back(sign * std::sin(angle));
  }
  for (int64_t o = 0; o < outer; ++o)
    for (int64_t k = 0; k < count; ++k)
      for (int64_t i = 0; i < inner; ++i) {
        ReferenceSum re, im;
        for (int64_t j = 0; j < given; ++j) {
          const auto at = static_cast<size_t>((o * given + j) * inner + i);
          const auto turn = static_cast<size_t>(j * k % n);
          re += x.re[at] * cosine[turn];
          re -= x.im[at] * sine[turn];
          im += x.re[at] * sine[turn];
          im += x.im[at] * cosine[turn];
        }
        y.re.push_back(re);
        y.im.push_back(im);
      }
  return y;
}

// The missing half of a dim, conjugated; imaginary parts that it can't have are left out.
Points mirrored(const Points& x, size_t dim, int64_t n) {
  Points y{x.shape, {}, {}};
  y.shape[dim] = n;
  const int64_t given = x.shape[dim], half = n / 2 + 1;
  int64_t inner = 1, outer = 1;
  for (size_t d = 0; d < x.shape.size(); ++d)
    (d < dim ? outer : inner) *= d == dim ? 1 : x.shape[d];
  for (int64_t o = 0; o < outer; ++o)
    for (int64_t k = 0; k < n; ++k)
      for (int64_t i = 0; i < inner; ++i) {
        const int64_t from = k < half ? k : n - k;
        const auto at = static_cast<size_t>((o * given + from) * inner + i);
        const bool is_lone = k == 0 || 2 * k == n, is_there = from < given;
        y.re.push_back(is_there ? x.re[at] : 0);
        y.im.push_back(is_lone || !is_there ? 0 : k < half ? x.im[at] : -x.im[at]);
      }
  return y;
}

Result<Arrays> reference(const OpView& op, std::span<const Array* const> in) {
  const Array& x = *in[0];
  Points p{x.shape, x.f, std::vector<double>(x.f.size())};
  if (reads_pairs(op)) {
    p = {{x.shape.begin(), x.shape.end() - 1}, {}, {}};
    for (size_t k = 0; k < x.f.size(); ++k) (k % 2 == 0 ? p.re : p.im).push_back(x.f[k]);
  }
  const Ints dims = dims_of(op), lengths = lengths_of(op);
  for (size_t k = 0; k < dims.size(); ++k) {
    const auto d = static_cast<size_t>(dims[k]);
    const bool is_last = k + 1 == dims.size();
    if (is_last && !gives_pairs(op)) p = mirrored(p, d, lengths[k]);
    const int64_t count = is_last && is_onesided(op) ? lengths[k] / 2 + 1 : lengths[k];
    p = summed(p, d, lengths[k], count, sign_of(op));
  }
  Array y(x.dtype, static_shape(op.out_type(0)));
  const double scale = scale_of(op);
  for (size_t k = 0; k < p.re.size(); ++k) {
    if (!gives_pairs(op)) {
      y.f[k] = scale * p.re[k];
      continue;
    }
    y.f[2 * k] = scale * p.re[k];
    y.f[2 * k + 1] = scale * p.im[k];
  }
  return Arrays{std::move(y)};
}

// ---- parts

using Along = ValueId (*)(Builder&, ValueId, const Transform&);

// `f` for rows along one dim of x, whose last dim is that of pairs if `from` says so.
ValueId along(Builder& b, ValueId x, int64_t dim, Along f, const Transform& t, bool from, bool to) {
  if (!b.status().ok()) return ValueId::none();
  const int64_t rank = b.type(x).rank() - (from ? 1 : 0);
  const auto moved = [&](ValueId v) {
    if (dim == rank - 1) return v;
    return b.call1("transpose", {v}, {{"dim0", dim}, {"dim1", rank - 1}});
  };
  x = moved(x);
  if (!b.status().ok()) return ValueId::none();
  Shape lead = b.type(x).shape;
  Dim rows = 1;
  const Dim given = lead[static_cast<size_t>(rank - 1)];
  lead.resize(static_cast<size_t>(rank - 1));
  for (const Dim& d : lead) rows = rows * d;
  Shape flat{rows, given};
  if (from) flat.emplace_back(2);
  ValueId y = f(b, b.view(x, flat), t);
  if (!b.status().ok()) return ValueId::none();
  lead.push_back(b.type(y).shape[1]);
  if (to) lead.emplace_back(2);
  return moved(b.view(y, lead));
}

// Along a dim so many: cut off, or filled with zeros.
ValueId fitted(Builder& b, ValueId x, int64_t dim, int64_t count) {
  if (!b.status().ok()) return ValueId::none();
  const int64_t rank = b.type(x).rank();
  const Dim have = b.type(x).shape[static_cast<size_t>(dim)];
  if (have == Dim(count)) return x;
  if (have.is_const() && have.value() > count) return b.slice(x, dim, Dim(0), Dim(count));
  std::vector<Dim> pad(static_cast<size_t>(2 * (rank - dim)), Dim(0));
  pad.back() = Dim(count) - have;
  return b.call1("constant_pad_nd", {x}, {{"pad", pad}});
}

Values decompose(Builder& b, const OpView& op) {
  const DType t = op.in_type(0).dtype;
  const Ints dims = dims_of(op), lengths = lengths_of(op);
  const int sign = sign_of(op);
  ValueId x = b.convert(op.in(0), wide(t));
  double scale = scale_of(op);  // goes with the first transform
  const auto take = [&](size_t k) { return Transform{lengths[k], sign, std::exchange(scale, 1)}; };
  const size_t last = dims.size() - 1;
  if (op.name() == "fft_r2c") {
    if (is_onesided(op)) {
      x = along(b, x, dims[last], fourier::of_real, take(last), false, true);
    } else {
      x = b.call1("stack", {CallOperand(Values{x, b.mul(x, 0.0)})}, {{"dim", -1}});
      x = along(b, x, dims[last], fourier::of_pairs, take(last), true, true);
    }
    for (size_t k = 0; k < last; ++k)
      x = along(b, x, dims[k], fourier::of_pairs, take(k), true, true);
  } else if (op.name() == "fft_c2r") {
    x = fitted(b, x, dims[last], lengths[last] / 2 + 1);
    for (size_t k = 0; k < last; ++k)
      x = along(b, x, dims[k], fourier::of_pairs, take(k), true, true);
    x = along(b, x, dims[last], fourier::to_real, take(last), true, false);
  } else {
    for (size_t k = 0; k < dims.size(); ++k)
      x = along(b, x, dims[k], fourier::of_pairs, take(k), true, true);
  }
  x = b.convert(x, t);
  return {x == op.in(0) ? b.call1("clone", {x}) : x};
}

Cost cost_of_transforms(const OpView& op) {
  const int64_t numbers = std::max(numel_hint(op, op.in_type(0)), numel_hint(op, op.out_type(0)));
  int64_t flops = 0;
  for (const int64_t n : lengths_of(op)) flops += 4 * std::min<int64_t>(n, 192);
  return {flops * numbers, bytes_moved(op)};
}

OpDef entry(std::string name, std::string signature, std::string summary, Samples (*samples)(),
            Rejects (*rejects)()) {
  return OpDef{
      .name = name,
      .signature = std::move(signature),
      .summary = std::move(summary),
      .source = "aten::_" + name + ", PyTorch 2.13",
      .traits = Trait::recomputable,
      .infer = infer,
      .reference = reference,
      .decompose = decompose,
      .grad = grad_of_parts(decompose),
      .lower = loop::by_decomposition(),
      .cost = cost_of_transforms,
      .samples = samples,
      .rejects = rejects,
  };
}

Samples samples_of_pairs() {
  Samples out = over_dtypes({DType::f64, DType::f32}, {3, 5, 2},
                            {{"dim", Ints{1}}, {"normalization", 0}, {"forward", true}});
  const auto add = [&](Ints shape, Ints dims, int64_t normalization, bool forward) {
    out.push_back({{f32(std::move(shape))},
                   {{"dim", dims}, {"normalization", normalization}, {"forward", forward}}});
  };
  add({4, 3, 2}, {0, 1}, 1, false);
  add({2, 3, 4, 2}, {-1, 0}, 2, true);
  add({2, 1, 2}, {1}, 0, true);
  add({0, 3, 2}, {1}, 0, true);
  add({6, 2}, {}, 0, true);
  for (const int64_t n : {67, 130, 257}) add({n, 2}, {0}, 1, n % 2 == 0);
  for (const DType t : {DType::bf16, DType::f16})
    out.push_back(
        {{sample(t, {2, 4, 2})}, {{"dim", Ints{1}}, {"normalization", 0}, {"forward", true}}});
  return out;
}

Samples samples_of_reals() {
  Samples out = over_dtypes(floating_dtypes, {3, 4},
                            {{"dim", Ints{1}}, {"normalization", 0}, {"onesided", true}});
  const auto add = [&](Ints shape, Ints dims, int64_t normalization, bool onesided) {
    out.push_back({{f32(std::move(shape))},
                   {{"dim", dims}, {"normalization", normalization}, {"onesided", onesided}}});
  };
  add({4, 5}, {0, 1}, 1, true);
  add({2, 3, 4}, {2, 0}, 2, false);
  add({3, 1}, {1}, 0, true);
  for (const int64_t n : {67, 81, 130, 263}) add({n}, {0}, 1, true);
  return out;
}

Samples samples_of_halves() {
  Samples out = over_dtypes(floating_dtypes, {2, 3, 2},
                            {{"dim", Ints{1}}, {"normalization", 0}, {"last_dim_size", 4}});
  const auto add = [&](Ints shape, Ints dims, int64_t normalization, int64_t size) {
    out.push_back({{f32(std::move(shape))},
                   {{"dim", dims}, {"normalization", normalization}, {"last_dim_size", size}}});
  };
  add({4, 3, 2}, {0, 1}, 1, 5);
  add({4, 3, 2}, {1, 0}, 2, 3);
  add({2, 3, 2}, {1}, 0, 8);
  add({2, 5, 2}, {1}, 0, 1);
  add({0, 3, 2}, {1}, 0, 4);
  for (const int64_t n : {67, 81, 130, 263}) add({n / 2 + 1, 2}, {0}, 1, n);
  return out;
}

}  // namespace

CLEAVE_OPS(fourier) {
  return {
      entry("fft_c2c", "(Tensor self, int[] dim, int normalization=0, bool forward=True) -> Tensor",
            "Fourier transforms of pairs (real part, imaginary part).", samples_of_pairs,
            []() -> Rejects {
              return {{"C1",
                       {{i64({3, 2})}, {{"dim", Ints{0}}}},
                       "fft_c2c: C1: self is i64[3,2], expected a floating dtype"},
                      {"C2",
                       {{f32({2, 3})}, {{"dim", Ints{0}}}},
                       "fft_c2c: C2: self is f32[2,3], expected a last dim of 2: a real and an "
                       "imaginary part"},
                      {"C3",
                       {{f32({3, 2})}, {{"dim", Ints{1}}}},
                       "fft_c2c: C3: dim 1 is outside [-1, 1) of self: f32[3]"},
                      {"C4",
                       {{f32({3, 3, 2})}, {{"dim", Ints{0, -2}}}},
                       "fft_c2c: C4: dim 0 is named twice in [0,-2], expected once"},
                      {"C6",
                       {{f32({0, 2})}, {{"dim", Ints{0}}}},
                       "fft_c2c: C6: the size of dim 0 is 0, expected a number that is known, "
                       "from 1 to 16777216"},
                      {"C7",
                       {{f32({3, 2})}, {{"dim", Ints{0}}, {"normalization", 3}}},
                       "fft_c2c: C7: normalization is 3, expected 0, 1 or 2"}};
            }),
      entry("fft_r2c",
            "(Tensor self, int[] dim, int normalization=0, bool onesided=True) -> Tensor",
            "The Fourier transform of a real tensor, as pairs (real part, imaginary part).",
            samples_of_reals,
            []() -> Rejects {
              return {{"C1",
                       {{i64({3})}, {{"dim", Ints{0}}}},
                       "fft_r2c: C1: self is i64[3], expected a floating dtype"},
                      {"C5",
                       {{f32({3})}, {{"dim", Ints{}}}},
                       "fft_r2c: C5: dim has no entries, expected at least one"},
                      {"C6",
                       {{f32({0})}, {{"dim", Ints{0}}}},
                       "fft_r2c: C6: the size of dim 0 is 0, expected a number that is known, "
                       "from 1 to 16777216"}};
            }),
      entry("fft_c2r", "(Tensor self, int[] dim, int normalization, int last_dim_size) -> Tensor",
            "The real tensor whose Fourier transform begins with the given pairs.",
            samples_of_halves,
            []() -> Rejects {
              return {
                  {"C1",
                   {{i64({3, 2})}, {{"dim", Ints{0}}, {"normalization", 0}, {"last_dim_size", 4}}},
                   "fft_c2r: C1: self is i64[3,2], expected a floating dtype"},
                  {"C2",
                   {{f32({3})}, {{"dim", Ints{0}}, {"normalization", 0}, {"last_dim_size", 4}}},
                   "fft_c2r: C2: self is f32[3], expected a last dim of 2: a real and an "
                   "imaginary part"},
                  {"C6",
                   {{f32({3, 2})}, {{"dim", Ints{0}}, {"normalization", 0}, {"last_dim_size", 0}}},
                   "fft_c2r: C6: last_dim_size is 0, expected a number that is known, from 1 "
                   "to 16777216"}};
            }),
  };
}

}  // namespace cleave
