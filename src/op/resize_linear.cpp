// resize_linear(input; dim, size, align_corners, scale) -> y
//   y[.., o, ..] = (1 - f) x[.., floor s, ..] + f x[.., min(floor s + 1, in - 1), ..]
//   f = s - floor s
//   s = max((o + 0.5) r - 0.5, 0), with align_corners o (in-1)/(size-1); if size = in, x[o] is
//   read with weights 1 and 0. r = 1/scale if a scale is given, else in/size.
// resize_linear_backward(grad_output; dim, size, align_corners, scale): its transpose; size is in
//   (C1) dim is in [-rank, rank) of an operand of rank >= 1   (C2) it is floating
//   (C3) size and the operand's size along dim are at least 1
//   (C4) a scale is in [2^-24, 2^24]
// One dim of upsample_bilinear2d, which runs as two of these: an element of its gradient adds up as
// many terms as the two dims have together, not as their product.
// Source: upsample_bilinear2d's of ATen along one dim, PyTorch 2.13.
#include "op/pool.h"
#include "op/resampling.h"
#include "op/resize_reference.h"

namespace cleave {
namespace {

using loop::Exprs;
using loop::KernelBuilder;
using Ints = std::vector<int64_t>;

std::optional<double> scale_of(const OpView& op) {
  return op.given("scale") ? std::optional(op.float_attr("scale")) : std::nullopt;
}

Result<Types> infer(const OpView& op) {
  const Type& x = op.in_type(0);
  CLEAVE_TRY(const int64_t dim,
             checked_dim(op, "C1", op.int_attr("dim"), x, Rank0::refused, operand_name(op, 0)));
  CLEAVE_CHECK(check_floating(op, "C2", 0));
  const Dim size = op.dim_attr("size");
  for (const Dim& d : {size, x.shape[static_cast<size_t>(dim)]})
    if (op.env().range_of(d).hi < 1)
      return op.broken("C3", "a size is {}, expected at least 1", d.text());
  if (const auto s = scale_of(op); s && !(*s >= 0x1p-24 && *s <= 0x1p24))
    return op.broken("C4", "a scale is {}, expected a number above 0, in [2^-24, 2^24]", *s);
  Shape shape = x.shape;
  shape[static_cast<size_t>(dim)] = size;
  return Types{typed_like(x, x.dtype, std::move(shape))};
}

size_t dim_of(const OpView& op) {
  return static_cast<size_t>(from_front(op.int_attr("dim"), op.in_type(0).rank()));
}

Resampling resampling(const OpView& op, const Type& image, const Type& result) {
  const size_t dim = dim_of(op);
  return Resampling::linear(op.bool_attr("align_corners"), scale_of(op), static_shape(image)[dim],
                            static_shape(result)[dim], loop::compute_type(image.dtype));
}

// Calls f(result, element of the image, weight) for every term.
template <class F>
void for_each_term(const OpView& op, const Ints& image, const Ints& result, F f) {
  const size_t dim = dim_of(op);
  int64_t inner = 1, outer = 1;
  for (size_t d = 0; d < image.size(); ++d) (d < dim ? outer : inner) *= d == dim ? 1 : image[d];
  for (int64_t a = 0; a < outer; ++a)
    for (int64_t o = 0; o < result[dim]; ++o)
      for (const ResizeSource& s :
           resize_sources(ResizeMode::bilinear, op.bool_attr("align_corners"), scale_of(op),
                          image[dim], result[dim], o))
        for (int64_t b = 0; b < inner; ++b)
          f((a * result[dim] + o) * inner + b, (a * image[dim] + s.at) * inner + b, s.weight);
}

Values grad(Builder& b, const GradView& op, const std::string& transpose) {
  NamedAttrs attrs = {{"dim", op.attr("dim")},
                      {"size", op.in_type(0).shape[dim_of(op)]},
                      {"align_corners", op.attr("align_corners")}};
  if (op.given("scale")) attrs.emplace_back("scale", op.attr("scale"));
  return {b.call1(transpose, {op.dout(0)}, attrs)};
}

std::vector<Sample> samples() {
  std::vector<Sample> out;
  const auto add = [&](DType t, const Ints& shape, int64_t dim, int64_t size, bool corners,
                       std::optional<double> scale = std::nullopt) {
    SampleAttrs attrs = {{"dim", dim}, {"size", size}, {"align_corners", corners}};
    if (scale) attrs.emplace_back("scale", *scale);
    out.push_back({{any_of(t, shape)}, std::move(attrs)});
  };
  for (DType t : floating_dtypes)
    for (bool corners : {false, true}) {
      add(t, {2, 3, 4}, 1, 6, corners);
      add(t, {2, 3, 4}, -1, 7, corners);
    }
  for (bool corners : {false, true}) {
    add(DType::f32, {5}, 0, 5, corners);
    add(DType::f32, {1, 7}, 1, 1, corners);
    add(DType::f32, {3, 1, 2}, 1, 4, corners);
    add(DType::f32, {9, 2}, 0, 4, corners);
    add(DType::f32, {2, 35}, 1, 70, corners);
    add(DType::f32, {35, 70}, 0, 17, corners);
    add(DType::f32, {0, 2, 3}, 2, 5, corners);
  }
  add(DType::f32, {3, 9}, 1, 10, false, 1.1);
  add(DType::f32, {2, 10, 3}, 1, 3, false, 0.3);
  return out;
}

SampleAttrs attrs_for(int64_t dim, int64_t size) {
  return {{"dim", dim}, {"size", size}, {"align_corners", false}};
}

Rejects rejects(const std::string& name, const char* operand) {
  SampleAttrs scaled = attrs_for(1, 2);
  scaled.emplace_back("scale", -1.0);
  return {{"C1",
           {{f32({2, 2})}, attrs_for(2, 2)},
           fmt::format("{}: C1: dim 2 is outside [-2, 2) of {}: f32[2,2]", name, operand)},
          {"C2",
           {{i64({2, 2})}, attrs_for(1, 2)},
           fmt::format("{}: C2: {} is i64[2,2], expected a floating dtype", name, operand)},
          {"C3", {{f32({2, 2})}, attrs_for(1, 0)}, name + ": C3: a size is 0, expected at least 1"},
          {"C4",
           {{f32({2, 2})}, scaled},
           name + ": C4: a scale is -1, expected a number above 0, in [2^-24, 2^24]"}};
}

// The resize, or its transpose, in which the image is the result.
OpDef entry(bool is_transposed) {
  const std::string name = is_transposed ? "resize_linear_backward" : "resize_linear";
  const char* operand = is_transposed ? "grad_output" : "input";
  return OpDef{
      .name = name,
      .signature = fmt::format("(Tensor {}, int dim, SymInt size, bool align_corners, float? "
                               "scale=None) -> Tensor",
                               operand),
      .summary =
          is_transposed ? "The gradient of a resized dim." : "A dim resized by interpolation.",
      .source = fmt::format("upsample_bilinear2d{}'s along one dim, PyTorch 2.13",
                            is_transposed ? "_backward" : ""),
      .traits = Trait::fusible | Trait::recomputable,
      .infer = infer,
      .reference = [is_transposed](const OpView& op,
                                   std::span<const Array* const> in) -> Result<Arrays> {
        Array y(in[0]->dtype, static_shape(op.out_type(0)));
        const std::vector<double>& x = in[0]->f;
        if (is_transposed)
          for_each_term(op, y.shape, in[0]->shape,
                        [&](int64_t o, int64_t i, double weight) { y.f[i] += weight * x[o]; });
        else
          for_each_term(op, in[0]->shape, y.shape,
                        [&](int64_t o, int64_t i, double weight) { y.f[o] += weight * x[i]; });
        return Arrays{y};
      },
      .decompose = Absent{"a primitive: index arithmetic"},
      .grad =
          [is_transposed](Builder& b, const GradView& op) {
            return grad(b, op, is_transposed ? "resize_linear" : "resize_linear_backward");
          },
      .lower = loop::elementwise(
          [is_transposed](KernelBuilder& k, const OpView& op, const Exprs& index) {
            const Type &x = op.in_type(0), &y = op.out_type(0);
            const DimTaps taps =
                is_transposed ? resampling(op, y, x).read_by() : resampling(op, x, y).reads();
            return Exprs{sum_of_taps_from(k, 0, index, dim_of(op), {taps})};
          }),
      .cost = is_transposed ? cost_per_operand(4) : cost_per_result(4),
      .samples = samples,
      .rejects = [=] { return rejects(name, operand); },
  };
}

}  // namespace

CLEAVE_OPS(resize_linear) { return {entry(false), entry(true)}; }

}  // namespace cleave
