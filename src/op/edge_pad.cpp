// reflection_pad1d/2d/3d(self; padding) -> y      extends x by its mirror image, without the edge
//   x[-i] = x[i], x[n-1+i] = x[n-1-i]
// replication_pad1d/2d/3d(self; padding) -> y     extends x by its edge
//   x[-i] = x[0], x[n-1+i] = x[n-1]
// ..._backward(grad_output, self; padding)        their transposes
//   padding = [before last dim, after last dim, before the dim preceding it, ...]; below 0 crops
//   (C1) padding has two entries for each padded dim
//   (C2) self is floating, with one or two dims more than are padded
//   (C3) reflection: pads are less than the size; the padded size is at least 1, as is the size
//   (C4) in the backward: grad_output has the result's shape and the dtype of self
// Source: ATen/native/ReflectionPad.cpp, ReplicationPadding.cpp, PyTorch 2.13.
#include "op/pool.h"

namespace cleave {
namespace {

using loop::Expr;
using loop::Exprs;
using loop::KernelBuilder;
using Ints = std::vector<int64_t>;

struct Form {
  bool mirror;
  size_t rank;
  std::string name() const {
    return fmt::format("{}_pad{}d", mirror ? "reflection" : "replication", rank);
  }
};

Result<Shape> padded_shape(const OpView& op, int input, Form form) {
  const Type& x = op.in_type(input);
  const std::vector<Dim> pad = op.dims_attr("padding");
  if (pad.size() != 2 * form.rank)
    return op.broken("C1", "padding has {} entries, expected {}", pad.size(), 2 * form.rank);
  const int64_t lead = x.rank() - static_cast<int64_t>(form.rank);
  if (lead != 1 && lead != 2)
    return op.broken("C2", "self is {}, expected rank {} or {}", x.text(), form.rank + 1,
                     form.rank + 2);
  CLEAVE_CHECK(check_floating(op, "C2", input));
  Shape shape = x.shape;
  for (size_t d = 0; d < form.rank; ++d) {
    const size_t dim = shape.size() - 1 - d;
    const Dim size = shape[dim];
    if (op.env().range_of(size).hi < 1)
      return op.broken("C3", "dim {} of self: {} is empty, expected at least 1", dim, x.text());
    for (const Dim& p : {pad[2 * d], pad[2 * d + 1]})
      if (form.mirror && op.env().range_of(size - p).hi < 1)
        return op.broken("C3", "a pad of {} for dim {} of self: {}, expected less than its size",
                         p.text(), dim, x.text());
    shape[dim] = size + pad[2 * d] + pad[2 * d + 1];
    if (op.env().range_of(shape[dim]).hi < 1)
      return op.broken("C3", "pads {} and {} of dim {} of self: {} leave {}, expected at least 1",
                       pad[2 * d].text(), pad[2 * d + 1].text(), dim, x.text(), shape[dim].text());
  }
  return shape;
}

Result<Types> infer(const OpView& op, Form form) {
  CLEAVE_TRY(Shape shape, padded_shape(op, 0, form));
  return Types{typed_like(op.in_type(0), op.in_type(0).dtype, std::move(shape))};
}

Result<Types> infer_backward(const OpView& op, Form form) {
  CLEAVE_TRY(const Shape shape, padded_shape(op, 1, form));
  const Type &g = op.in_type(0), &x = op.in_type(1);
  CLEAVE_CHECK(check_same_dtype(op, "C4", 0, 1));
  CLEAVE_CHECK(check_same_shape(op, "C4", "grad_output and self padded", g.shape, shape));
  return Types{typed_like(x, x.dtype, x.shape)};
}

// Calls f(element of the result, element of self) for every element of the result, by plain loops.
template <class F>
void for_each_element_read(const OpView& op, Form form, const Ints& self, const Ints& result, F f) {
  const Ints pad = op.ints_attr("padding");
  const Ints size(self.end() - static_cast<std::ptrdiff_t>(form.rank), self.end());
  int64_t number = 0;
  for_each_position(result, form.rank, [&](int64_t plane, const Ints& at) {
    int64_t from = plane;
    for (size_t d = 0; d < form.rank; ++d) {
      int64_t i = at[d] - pad[2 * (form.rank - 1 - d)];
      if (form.mirror) {
        if (i < 0) i = -i;
        if (i >= size[d]) i = 2 * (size[d] - 1) - i;
      } else {
        if (i < 0) i = 0;
        if (i >= size[d]) i = size[d] - 1;
      }
      from = from * size[d] + i;
    }
    f(number++, from);
  });
}

// ---- loops

struct PaddedDim {
  int64_t size, before, after;
  int64_t padded() const { return size + before + after; }
};

std::vector<PaddedDim> padded_dims(const OpView& op, const Type& self, Form form) {
  const Ints shape = static_shape(self), pad = op.ints_attr("padding");
  std::vector<PaddedDim> out;
  for (size_t d = form.rank; d-- > 0;)
    out.push_back({shape[shape.size() - 1 - d], pad[2 * d], pad[2 * d + 1]});
  return out;
}

DimTaps reads(PaddedDim p, bool mirror) {
  return {1, [=](KernelBuilder&, const Expr& o, const Expr&) {
            Expr i = o - Expr(p.before);
            if (!mirror) return Tap{clamped(i, p.size), {}, {}};
            if (p.before > 0) i = at_least(i, Expr(0) - i);
            if (p.after > 0) i = at_most(i, Expr(2 * (p.size - 1)) - i);
            return Tap{i, {}, {}};
          }};
}

// Result i + before reads element i; if the element is mirrored, its images read it too.
DimTaps mirrored_by(PaddedDim p) {
  std::vector<int64_t> images;  // 0: itself; 1: before; 2: after
  images.push_back(0);
  if (p.before > 0) images.push_back(1);
  if (p.after > 0) images.push_back(2);
  const auto count = std::ssize(images);
  return {count, [=](KernelBuilder&, const Expr& i, const Expr& tap) {
            const Expr& number = tap;
            const auto image = [&](int64_t which) {
              if (which == 0) return i + Expr(p.before);
              if (which == 1) return Expr(p.before) - i;
              return Expr(p.before + 2 * (p.size - 1)) - i;
            };
            // An edge is not its own image.
            const auto counts = [&](int64_t which) {
              const Expr inside = in_range(image(which), p.padded());
              if (which == 0) return inside;
              return both_hold(inside, binary(loop::Op::ne, i, Expr(which == 1 ? 0 : p.size - 1)));
            };
            if (const int64_t* t = number.as_const_int()) {
              const int64_t which = images[static_cast<size_t>(*t)];
              return Tap{clamped(image(which), p.padded()), {}, counts(which)};
            }
            Expr at = image(images[0]), inside = counts(images[0]);
            for (int64_t t = 1; t < count; ++t) {
              const Expr here = binary(loop::Op::eq, number, Expr(t));
              at = select(here, image(images[static_cast<size_t>(t)]), at);
              inside = select(here, counts(images[static_cast<size_t>(t)]), inside);
            }
            return Tap{clamped(at, p.padded()), {}, inside};
          }};
}

// Result i + before reads element i; pad positions also read the edges, with one tap for each.
DimTaps replicated_by(PaddedDim p) {
  const int64_t front = std::max<int64_t>(p.before, 0), after = std::max<int64_t>(p.after, 0);
  return {1 + front + after, [=](KernelBuilder&, const Expr& i, const Expr& tap) {
            const Expr own = i + Expr(p.before);
            const Expr is_front = binary(loop::Op::lt, tap, Expr(front));
            const Expr is_own = binary(loop::Op::eq, tap, Expr(front));
            // Taps in the order of the results: those before, the element itself, those after.
            const Expr at = select(is_front, tap,
                                   select(is_own, own, Expr(p.padded() - after - front - 1) + tap));
            const Expr edge = select(is_front, Expr(0), Expr(p.size - 1));
            const Expr counts = binary(loop::Op::logical_or, is_own, binary(loop::Op::eq, i, edge));
            return Tap{clamped(at, p.padded()), {}, both_hold(counts, in_range(at, p.padded()))};
          }};
}

// ---- entries

struct Case {
  DType t;
  Ints self, padding;
};

Ints result_of(const Case& c) {
  Ints shape = c.self;
  for (size_t k = 0; k < c.padding.size(); ++k) shape[shape.size() - 1 - k / 2] += c.padding[k];
  return shape;
}

std::vector<Case> cases(Form form) {
  std::vector<Case> all;
  const auto padding = [&](Ints pads) {
    pads.resize(2 * form.rank, 1);
    return pads;
  };
  Ints self = {2, 2}, single = {2}, wide = {1, 1}, empty = {0, 2};
  for (size_t d = 0; d < form.rank; ++d) {
    self.push_back(3 + static_cast<int64_t>(d));
    single.push_back(3);
    wide.push_back(d == 0 && form.rank == 1 ? 8 : 4);
    empty.push_back(3);
  }
  for (DType t : floating_dtypes) {
    all.push_back({t, self, padding({1, 2, 2, 1})});
    all.push_back({t, single, padding({0, 1, 1, 0})});
  }
  const auto add = [&](Ints x, Ints pads) {
    all.push_back({DType::f32, std::move(x), padding(std::move(pads))});
  };
  add(single, {2, 2, 0, 0});
  add(single, {2, 0, 0, 2});
  add(self, {-1, 2, 1, -1});
  add(self, {-1, -1, 0, 1});
  add(wide, {3, 3, 3, 2});
  add(wide, {0, 0, 0, 0});
  add(empty, {1, 1});
  for (DType t : floating_dtypes) all.push_back({t, self, padding({2, -1, -1, 2})});
  add(self, {2, 2, 2, 2});
  add(self, {2, 0, 0, 0});
  add(self, {0, 2, 2, 0});
  add(single, {-2, 1, 1, -2});
  add(single, {-1, -1, -1, -1});
  Ints long_row = single;
  long_row.back() = 70;
  add(long_row, {5, 40});
  if (form.rank == 1) add({1, 2}, {1, 1});
  if (!form.mirror) add(single, {4, 5, 0, 3});
  return all;
}

// For f32[3,..,3], with one dim more than is padded.
SampleTensor cube(Form form) { return f32(Ints(form.rank + 1, 3)); }
SampleAttrs pads_of_one(Form form) { return {{"padding", Ints(2 * form.rank, 1)}}; }

std::vector<Reject> rejects(Form form) {
  const std::string name = form.name();
  const SampleTensor flat = f32(Ints(form.rank, 3));
  std::vector<Reject> out = {
      {"C1",
       {{cube(form)}, {{"padding", {1}}}},
       fmt::format("{}: C1: padding has 1 entries, expected {}", name, 2 * form.rank)},
      {"C2",
       {{flat}, pads_of_one(form)},
       fmt::format("{}: C2: self is {}, expected rank {} or {}", name, flat.type.text(),
                   form.rank + 1, form.rank + 2)}};
  if (form.rank != 2) return out;
  const std::vector<Reject> more = {
      {"C2",
       {{i64({1, 3, 3})}, {{"padding", {1, 1, 1, 1}}}},
       name + ": C2: self is i64[1,3,3], expected a floating dtype"},
      {"C3",
       {{f32({1, 0, 3})}, {{"padding", {1, 1, 1, 1}}}},
       name + ": C3: dim 1 of self: f32[1,0,3] is empty, expected at least 1"},
      {"C3",
       {{f32({1, 3, 3})}, {{"padding", {-2, -1, 1, 1}}}},
       name + ": C3: pads -2 and -1 of dim 2 of self: f32[1,3,3] leave 0, expected at least 1"}};
  out.insert(out.end(), more.begin(), more.end());
  if (form.mirror)
    out.push_back({"C3",
                   {{f32({1, 3, 3})}, {{"padding", {3, 1, 1, 1}}}},
                   name + ": C3: a pad of 3 for dim 2 of self: f32[1,3,3], expected less than its "
                          "size"});
  return out;
}

OpDef forward(Form form) {
  const std::string name = form.name();
  const auto samples = [form] {
    Samples out;
    for (const Case& c : cases(form))
      out.push_back({{any_of(c.t, c.self)}, {{"padding", c.padding}}});
    return out;
  };
  return OpDef{
      .name = name,
      .signature = fmt::format("(Tensor self, SymInt[{}] padding) -> Tensor", 2 * form.rank),
      .summary = form.mirror ? "The last dims continued by their mirror image."
                             : "The last dims continued by their edges.",
      .source = "aten::" + name + ", PyTorch 2.13",
      .traits = Trait::fusible | Trait::recomputable,
      .infer = [form](const OpView& op) { return infer(op, form); },
      .reference = [form](const OpView& op, std::span<const Array* const> in) -> Result<Arrays> {
        Array y(in[0]->dtype, static_shape(op.out_type(0)));
        for_each_element_read(op, form, in[0]->shape, y.shape,
                              [&](int64_t o, int64_t i) { y.f[o] = in[0]->f[i]; });
        return Arrays{y};
      },
      .decompose = Absent{"a primitive: index arithmetic"},
      .grad = [name](Builder& b, const GradView& op) -> Values {
        return {
            b.call1(name + "_backward", {op.dout(0), op.in(0)}, {{"padding", op.attr("padding")}})};
      },
      .lower = loop::elementwise([form](KernelBuilder& k, const OpView& op, const Exprs& index) {
        std::vector<DimTaps> dims;
        for (const PaddedDim& p : padded_dims(op, op.in_type(0), form))
          dims.push_back(reads(p, form.mirror));
        return Exprs{sum_of_taps(k, 0, index, dims)};
      }),
      .cost = cost_per_result(0),
      .samples = samples,
      .rejects = [=] { return rejects(form); },
  };
}

OpDef backward(Form form) {
  const std::string forward = form.name(), name = forward + "_backward";
  const auto samples = [form] {
    Samples out;
    for (const Case& c : cases(form))
      out.push_back({{any_of(c.t, result_of(c)), any_of(c.t, c.self)}, {{"padding", c.padding}}});
    return out;
  };
  return OpDef{
      .name = name,
      .signature = fmt::format("(Tensor grad_output, Tensor self, SymInt[{}] padding) -> Tensor",
                               2 * form.rank),
      .summary = "The gradient of a padding by what is inside.",
      .source = "aten::" + name + ", PyTorch 2.13",
      .traits = Trait::fusible | Trait::recomputable,
      .infer = [form](const OpView& op) { return infer_backward(op, form); },
      .reference = [form](const OpView& op, std::span<const Array* const> in) -> Result<Arrays> {
        Array y(in[1]->dtype, in[1]->shape);
        for_each_element_read(op, form, y.shape, in[0]->shape,
                              [&](int64_t o, int64_t i) { y.f[i] += in[0]->f[o]; });
        return Arrays{y};
      },
      .decompose = Absent{"a primitive: sums over the results that read an element"},
      .grad = [forward](Builder& b, const GradView& op) -> Values {
        Values d = op.no_grads();
        if (op.needs(0)) d[0] = b.call1(forward, {op.dout(0)}, {{"padding", op.attr("padding")}});
        return d;
      },
      .lower = loop::elementwise([form](KernelBuilder& k, const OpView& op, const Exprs& index) {
        std::vector<DimTaps> dims;
        for (const PaddedDim& p : padded_dims(op, op.in_type(1), form))
          dims.push_back(form.mirror ? mirrored_by(p) : replicated_by(p));
        return Exprs{sum_of_taps(k, 0, index, dims)};
      }),
      .cost = cost_per_operand(1),
      .samples = samples,
      .rejects = [=]() -> Rejects {
        return {{"C4",
                 {{cube(form), cube(form)}, pads_of_one(form)},
                 fmt::format("{}: C4: grad_output and self padded: {} and [3{}], expected equal "
                             "shapes",
                             name, shape_text(cube(form).type.shape),
                             form.rank == 1   ? ",5"
                             : form.rank == 2 ? ",5,5"
                                              : ",5,5,5")}};
      },
  };
}

}  // namespace

CLEAVE_OPS(edge_pad) {
  std::vector<OpDef> out;
  for (const bool mirror : {true, false})
    for (const size_t rank : {size_t{1}, size_t{2}, size_t{3}}) {
      out.push_back(forward({mirror, rank}));
      out.push_back(backward({mirror, rank}));
    }
  return out;
}

}  // namespace cleave
