// upsample_nearest2d(input; output_size, scale_factors, scales_h, scales_w) -> y
//   y[.., o] = x[.., min(floor(o * r), in - 1)], the product in f32; o if out = in, o/2 if
//   out = 2 in
// upsample_bilinear2d(input; output_size, align_corners, scale_factors, scales_h, scales_w) -> y
//   s = max((o + 0.5) r - 0.5, 0), with align_corners o (in-1)/(out-1); if out = in, x[o] is
//   read with weights 1 and 0
//   y[.., o] = (1 - f) x[.., floor s] + f x[.., min(floor s + 1, in - 1)], f = s - floor s
// Both along each of the last two dims. r = 1/scale if a scale is given, else in/out.
// upsample_nearest2d_backward, upsample_bilinear2d_backward(grad_output; output_size, input_size,
//   scales_h, scales_w): their transposes
//   (C1) input has rank 4, only its first dim may be empty   (C2) input is floating
//   (C3) one of output_size and scale_factors is given, with 2 entries; sizes >= 1
//   (C4) scales are in [2^-24, 2^24]; sizes that they multiply are known
//   (C5) in the backward: input_size has 4 entries, and grad_output the shape of the result
// One entry covers both of ATen's overloads, the default one and .vec.
// Source: ATen/native/cpu/UpSampleKernel.cpp, ATen/native/UpSample.h, PyTorch 2.13.
#include <cmath>

#include "op/pool.h"
#include "op/resampling.h"
#include "op/resize_reference.h"

namespace cleave {
namespace {

using loop::Exprs;
using loop::KernelBuilder;
using Ints = std::vector<int64_t>;
using Mode = ResizeMode;

std::optional<double> scale_of(const OpView& op, size_t d) {
  if (op.def().schema.find("scale_factors") >= 0)
    if (const AttrList* list = op.attr("scale_factors").get<AttrList>(); list && list->size() == 2)
      return (*list)[d].as_double();
  const char* name = d == 0 ? "scales_h" : "scales_w";
  if (op.given(name)) return op.float_attr(name);
  return std::nullopt;
}

Status check_scales(const OpView& op) {
  for (size_t d = 0; d < 2; ++d)
    if (const auto s = scale_of(op, d); s && !(*s >= 0x1p-24 && *s <= 0x1p24))
      return op.broken("C4", "a scale is {}, expected a number above 0, in [2^-24, 2^24]", *s);
  return {};
}

Status check_image(const OpView& op, const Shape& shape, const std::string& text) {
  if (shape.size() != 4) return op.broken("C1", "input is {}, expected rank 4", text);
  for (size_t d = 1; d < 4; ++d)
    if (op.env().range_of(shape[d]).hi < 1)
      return op.broken("C1", "dim {} of input: {} is empty, expected at least 1", d, text);
  return {};
}

Status check_sizes(const OpView& op, const Shape& out) {
  if (out.size() != 2) return op.broken("C3", "output_size has {} entries, expected 2", out.size());
  for (const Dim& d : out)
    if (op.env().range_of(d).hi < 1)
      return op.broken("C3", "the result has size {}, expected at least 1", d.text());
  return {};
}

Result<Types> infer(const OpView& op) {
  const Type& x = op.in_type(0);
  CLEAVE_CHECK(check_image(op, x.shape, x.text()));
  CLEAVE_CHECK(check_floating(op, "C2", 0));
  if (op.given("output_size") == op.given("scale_factors"))
    return op.broken("C3", "{} given, expected one of them",
                     op.given("output_size") ? "output_size and scale_factors are"
                                             : "neither output_size nor scale_factors is");
  CLEAVE_CHECK(check_scales(op));
  Shape out = op.dims_attr("output_size");
  if (op.given("scale_factors")) {
    if (const AttrList* list = op.attr("scale_factors").get<AttrList>(); list->size() != 2)
      return op.broken("C3", "scale_factors has {} entries, expected 2", list->size());
    for (size_t d = 0; d < 2; ++d) {
      const Dim& size = x.shape[d + 2];
      const double s = *scale_of(op, d);
      if (size.is_const())
        out.emplace_back(truncate_to(DType::i64, static_cast<double>(size.value()) * s));
      else if (s == std::floor(s))
        out.push_back(size * Dim(static_cast<int64_t>(s)));
      else
        return op.broken("C4", "size {} times {} is not known", size.text(), s);
    }
  }
  CLEAVE_CHECK(check_sizes(op, out));
  return Types{typed_like(x, x.dtype, {x.shape[0], x.shape[1], out[0], out[1]})};
}

Result<Types> infer_backward(const OpView& op) {
  const Type& g = op.in_type(0);
  const Shape input = op.dims_attr("input_size"), out = op.dims_attr("output_size");
  if (input.size() != 4)
    return op.broken("C5", "input_size has {} entries, expected 4", input.size());
  CLEAVE_CHECK(check_image(op, input, shape_text(input)));
  CLEAVE_CHECK(check_floating(op, "C2", 0));
  CLEAVE_CHECK(check_scales(op));
  CLEAVE_CHECK(check_sizes(op, out));
  CLEAVE_CHECK(check_same_shape(op, "C5", "grad_output and the result", g.shape,
                                {input[0], input[1], out[0], out[1]}));
  return Types{typed_like(g, g.dtype, input)};
}

// ---- reference

// Calls f(result, element of the image, weight) for every term.
template <class F>
void for_each_term(const OpView& op, Mode mode, const Ints& image, const Ints& result, F f) {
  const bool corners = mode == Mode::bilinear && op.bool_attr("align_corners");
  std::vector<std::vector<ResizeSource>> reads[2];
  for (size_t d = 0; d < 2; ++d)
    for (int64_t o = 0; o < result[d + 2]; ++o)
      reads[d].push_back(
          resize_sources(mode, corners, scale_of(op, d), image[d + 2], result[d + 2], o));
  int64_t number = 0;
  for_each_position(result, 2, [&](int64_t plane, const Ints& at) {
    for (const ResizeSource& h : reads[0][static_cast<size_t>(at[0])])
      for (const ResizeSource& w : reads[1][static_cast<size_t>(at[1])])
        f(number, (plane * image[2] + h.at) * image[3] + w.at, h.weight * w.weight);
    ++number;
  });
}

// Of the rows and the columns.
std::vector<Resampling> nearest_of(const OpView& op, const Type& image, const Type& result) {
  std::vector<Resampling> all;
  for (size_t d = 0; d < 2; ++d)
    all.push_back(Resampling::nearest(scale_of(op, d), static_shape(image)[d + 2],
                                      static_shape(result)[d + 2],
                                      loop::compute_type(image.dtype)));
  return all;
}

// One dim after the other, by `name` of one; `sizes` are those of its results.
Values by_dims(Builder& b, const OpView& op, const std::string& name, const Shape& sizes) {
  ValueId y = op.in(0);
  for (size_t d = 0; d < 2; ++d) {
    NamedAttrs attrs = {{"dim", static_cast<int64_t>(d) + 2},
                        {"size", sizes[d + 2]},
                        {"align_corners", op.attr("align_corners")}};
    if (const auto s = scale_of(op, d)) attrs.emplace_back("scale", *s);
    y = b.call1(name, {y}, attrs);
  }
  return {y};
}

// Of nearest mode; in the other one a call is two of one dim.
loop::LowerPtr lowered(Mode mode, bool is_backward) {
  if (mode == Mode::bilinear) return loop::by_decomposition();
  return loop::elementwise([is_backward](KernelBuilder& k, const OpView& op, const Exprs& index) {
    const Type &x = op.in_type(0), &y = op.out_type(0);
    std::vector<DimTaps> dims;
    for (const Resampling& r : is_backward ? nearest_of(op, y, x) : nearest_of(op, x, y))
      dims.push_back(is_backward ? r.read_by() : r.reads());
    return Exprs{sum_of_taps(k, 0, index, dims)};
  });
}

Slot<DecomposeFn> decomposed(Mode mode, const std::string& name) {
  if (mode == Mode::nearest) return Absent{"a primitive: index arithmetic"};
  return
      [name](Builder& b, const OpView& op) { return by_dims(b, op, name, op.out_type(0).shape); };
}

// ---- entries

std::string name_of(Mode mode) {
  return mode == Mode::nearest ? "upsample_nearest2d" : "upsample_bilinear2d";
}

Values grad(Builder& b, const GradView& op, Mode mode) {
  const Shape& y = op.out_type(0).shape;
  NamedAttrs attrs = {{"output_size", Shape{y[2], y[3]}}, {"input_size", op.in_type(0).shape}};
  if (mode == Mode::bilinear) attrs.emplace_back("align_corners", op.attr("align_corners"));
  for (size_t d = 0; d < 2; ++d)
    if (const auto s = scale_of(op, d)) attrs.emplace_back(d == 0 ? "scales_h" : "scales_w", *s);
  return {b.call1(name_of(mode) + "_backward", {op.dout(0)}, attrs)};
}

Values grad_backward(Builder& b, const GradView& op, Mode mode) {
  NamedAttrs attrs = {{"output_size", op.attr("output_size")}};
  if (mode == Mode::bilinear) attrs.emplace_back("align_corners", op.attr("align_corners"));
  for (const char* name : {"scales_h", "scales_w"})
    if (op.given(name)) attrs.emplace_back(name, op.attr(name));
  return {b.call1(name_of(mode), {op.dout(0)}, attrs)};
}

struct Case {
  DType t;
  Ints image, out;
  std::vector<double> scales;
  bool corners = false;
};

std::vector<Case> cases(Mode mode) {
  std::vector<Case> all;
  for (DType t : floating_dtypes) {
    all.push_back({t, {2, 2, 3, 4}, {6, 7}, {}});
    all.push_back({t, {1, 2, 5, 4}, {3, 2}, {}, mode == Mode::bilinear});
    all.push_back({t, {1, 1, 3, 3}, {4, 7}, {1.5, 2.4}});
  }
  const auto add = [&](Ints image, Ints out, std::vector<double> scales, bool corners = false) {
    all.push_back({DType::f32, std::move(image), std::move(out), std::move(scales), corners});
  };
  add({1, 1, 1, 2}, {2, 3}, {});
  add({1, 1, 2, 2}, {2, 2}, {});
  add({1, 2, 3, 2}, {6, 4}, {2, 2});
  add({1, 1, 3, 9}, {3, 9}, {1.1, 1.05});
  add({1, 1, 4, 4}, {1, 1}, {});
  add({1, 1, 7, 5}, {3, 13}, {});
  add({1, 1, 10, 3}, {3, 3}, {0.3, 1});
  add({1, 3, 1, 1}, {3, 4}, {});
  add({0, 2, 2, 2}, {4, 3}, {});
  add({2, 3, 2, 35}, {5, 70}, {});
  add({1, 1, 6, 6}, {3, 3}, {0.5, 0.5});
  add({1, 1, 5, 3}, {1, 9}, {});
  add({3, 1, 4, 1}, {7, 1}, {});
  for (DType t : floating_dtypes) all.push_back({t, {1, 2, 2, 3}, {4, 6}, {2, 2}});
  if (mode == Mode::bilinear) {
    add({1, 1, 5, 4}, {3, 2}, {}, true);
    add({1, 1, 3, 4}, {5, 8}, {}, true);
    add({1, 1, 3, 4}, {1, 2}, {}, true);
    add({1, 1, 1, 3}, {3, 7}, {}, true);
    add({1, 1, 3, 3}, {6, 6}, {2, 2}, true);
  }
  return all;
}

SampleAttrs with_corners(SampleAttrs attrs, Mode mode, const Case& c) {
  if (mode == Mode::bilinear) attrs.emplace_back("align_corners", c.corners);
  return attrs;
}

// The elements affected by 0 times infinity are part of the tested result.
SampleTensor with_infinities(DType t, const Ints& shape) {
  SampleTensor x = any_of(t, shape);
  const double inf = std::numeric_limits<double>::infinity();
  x.values = {std::numeric_limits<double>::quiet_NaN(), inf, -inf, 2.5, -4.25, 0.5};
  for (int64_t k = 6; k < numel_of(shape); ++k)
    x.values.push_back(k == numel_of(shape) - 1 ? inf : 0.25 * static_cast<double>(k));
  return x;
}

std::vector<Sample> forward_samples(Mode mode) {
  std::vector<Sample> out;
  for (bool corners : {false, true})
    for (const Ints& size : {Ints{5, 4}, Ints{5, 2}, Ints{3, 2}})
      out.push_back({{with_infinities(DType::f32, {1, 2, 3, 2})},
                     with_corners({{"output_size", size}}, mode, {.corners = corners})});
  for (const Case& c : cases(mode)) {
    SampleAttrs attrs;
    if (c.scales.empty())
      attrs = {{"output_size", c.out}};
    else
      attrs = {{"scale_factors", AttrList{AttrValue(c.scales[0]), AttrValue(c.scales[1])}}};
    out.push_back({{any_of(c.t, c.image)}, with_corners(attrs, mode, c)});
  }
  return out;
}

std::vector<Sample> backward_samples(Mode mode) {
  std::vector<Sample> out;
  for (bool corners : {false, true})
    for (const Ints& image : {Ints{1, 2, 5, 4}, Ints{1, 2, 2, 2}, Ints{1, 2, 3, 2}})
      out.push_back({{with_infinities(DType::f32, {1, 2, 3, 2})},
                     with_corners({{"output_size", Ints{3, 2}}, {"input_size", image}}, mode,
                                  {.corners = corners})});
  for (const Case& c : cases(mode)) {
    SampleAttrs attrs = {{"output_size", c.out}, {"input_size", c.image}};
    if (!c.scales.empty()) {
      attrs.emplace_back("scales_h", c.scales[0]);
      attrs.emplace_back("scales_w", c.scales[1]);
    }
    out.push_back({{any_of(c.t, {c.image[0], c.image[1], c.out[0], c.out[1]})},
                   with_corners(attrs, mode, c)});
  }
  return out;
}

SampleAttrs attrs_for(Mode mode, SampleAttrs attrs) { return with_corners(attrs, mode, {}); }

OpDef forward(Mode mode) {
  const std::string name = name_of(mode);
  const SampleTensor x = f32({1, 1, 2, 2});
  return OpDef{
      .name = name,
      .signature = fmt::format(
          "(Tensor input, SymInt[]? output_size=None, {}float[]? scale_factors=None, float? "
          "scales_h=None, float? scales_w=None) -> Tensor",
          mode == Mode::bilinear ? "bool align_corners, " : ""),
      .summary = mode == Mode::nearest ? "An image resized by taking near elements."
                                       : "An image resized by interpolation.",
      .source = "aten::" + name + " and .vec, PyTorch 2.13",
      .traits = Trait::fusible | Trait::recomputable,
      .infer = infer,
      .reference = [mode](const OpView& op, std::span<const Array* const> in) -> Result<Arrays> {
        Array y(in[0]->dtype, static_shape(op.out_type(0)));
        for_each_term(op, mode, in[0]->shape, y.shape,
                      [&](int64_t o, int64_t i, double weight) { y.f[o] += weight * in[0]->f[i]; });
        return Arrays{y};
      },
      .decompose = decomposed(mode, "resize_linear"),
      .grad = [mode](Builder& b, const GradView& op) { return grad(b, op, mode); },
      .lower = lowered(mode, false),
      .cost = cost_per_result(mode == Mode::nearest ? 0 : 8),
      .samples = [=] { return forward_samples(mode); },
      .rejects = [=]() -> Rejects {
        return {{"C1",
                 {{f32({2, 2})}, attrs_for(mode, {{"output_size", {2, 2}}})},
                 name + ": C1: input is f32[2,2], expected rank 4"},
                {"C2",
                 {{i64({1, 1, 2, 2})}, attrs_for(mode, {{"output_size", {2, 2}}})},
                 name + ": C2: input is i64[1,1,2,2], expected a floating dtype"},
                {"C3",
                 {{x}, attrs_for(mode, {})},
                 name + ": C3: neither output_size nor scale_factors is given, expected one of "
                        "them"},
                {"C3",
                 {{x}, attrs_for(mode, {{"output_size", {0, 2}}})},
                 name + ": C3: the result has size 0, expected at least 1"},
                {"C4",
                 {{x}, attrs_for(mode, {{"output_size", {2, 2}}, {"scales_h", -1.0}})},
                 name + ": C4: a scale is -1, expected a number above 0, in [2^-24, 2^24]"}};
      },
  };
}

OpDef backward(Mode mode) {
  const std::string name = name_of(mode) + "_backward";
  return OpDef{
      .name = name,
      .signature = fmt::format("(Tensor grad_output, SymInt[2] output_size, SymInt[4] input_size, "
                               "{}float? scales_h=None, float? scales_w=None) -> Tensor",
                               mode == Mode::bilinear ? "bool align_corners, " : ""),
      .summary = "The gradient of a resized image.",
      .source = "aten::" + name + ", PyTorch 2.13",
      .traits = Trait::fusible | Trait::recomputable,
      .infer = infer_backward,
      .reference = [mode](const OpView& op, std::span<const Array* const> in) -> Result<Arrays> {
        Array y(in[0]->dtype, static_shape(op.out_type(0)));
        for_each_term(op, mode, y.shape, in[0]->shape,
                      [&](int64_t o, int64_t i, double weight) { y.f[i] += weight * in[0]->f[o]; });
        return Arrays{y};
      },
      .decompose = decomposed(mode, "resize_linear_backward"),
      .grad = [mode](Builder& b, const GradView& op) { return grad_backward(b, op, mode); },
      .lower = lowered(mode, true),
      .cost = cost_per_operand(mode == Mode::nearest ? 1 : 8),
      .samples = [=] { return backward_samples(mode); },
      .rejects = [=]() -> Rejects {
        return {{"C5",
                 {{f32({1, 1, 2, 2})},
                  attrs_for(mode, {{"output_size", {2, 2}}, {"input_size", {1, 1, 4}}})},
                 name + ": C5: input_size has 3 entries, expected 4"},
                {"C5",
                 {{f32({1, 1, 2, 3})},
                  attrs_for(mode, {{"output_size", {2, 2}}, {"input_size", {1, 1, 4, 4}}})},
                 name + ": C5: grad_output and the result: [1,1,2,3] and [1,1,2,2], expected equal "
                        "shapes"}};
      },
  };
}

}  // namespace

CLEAVE_OPS(upsample) {
  return {forward(Mode::nearest), backward(Mode::nearest), forward(Mode::bilinear),
          backward(Mode::bilinear)};
}

}  // namespace cleave
