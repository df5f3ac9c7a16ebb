// im2col(self; kernel_size, dilation, padding, stride) -> y       windows as columns
//   y[n, (c,k..), (o..)] = x[n, c, o*stride - padding + k*dilation ..], 0 outside x
//   (C1, C2, C3, C5) im2col.h   (C4) self has 1 or 2 dims more than kernel_size has entries
// Source: ATen/native/Im2Col.cpp, PyTorch 2.13.
#include "op/im2col.h"

namespace cleave {

using loop::Expr;
using loop::Exprs;
using loop::KernelBuilder;
using Ints = std::vector<int64_t>;

Windows windows_of(const OpView& op) {
  Windows w{op.ints_attr("kernel_size"), op.ints_attr("dilation"), op.ints_attr("padding"),
            op.ints_attr("stride")};
  for (Ints* list : {&w.dilation, &w.padding, &w.stride})
    if (list->size() == 1) list->resize(w.rank(), list->front());
  return w;
}

Result<Windows> checked_windows(const OpView& op) {
  const Windows w = windows_of(op);
  if (w.kernel.empty() || w.rank() > 4)
    return op.broken("C1", "kernel_size has {} entries, expected 1 to 4", w.rank());
  const auto check = [&](const char* name, const Ints& list, int64_t least) -> Status {
    if (list.size() != w.rank())
      return op.broken("C1", "{} has {} entries, expected {}, as many as kernel_size", name,
                       list.size(), w.rank());
    for (int64_t v : list)
      if (v < least || v > int64_t{1} << 31)
        return op.broken("C2", "{} has {}, expected at least {}", name, v, least);
    return {};
  };
  CLEAVE_CHECK(check("kernel_size", w.kernel, 1));
  CLEAVE_CHECK(check("dilation", w.dilation, 1));
  CLEAVE_CHECK(check("padding", w.padding, 0));
  CLEAVE_CHECK(check("stride", w.stride, 1));
  CLEAVE_CHECK(check_floating(op, "C3", 0));
  return w;
}

Result<Dim> checked_window_count(const OpView& op, const Windows& w, const Shape& size) {
  Dim all = 1;
  for (size_t d = 0; d < w.rank(); ++d) {
    const Dim n = w.count(size[d], d);
    if (op.env().range_of(n).hi < 1)
      return op.broken("C5", "a kernel of {} with dilation {} doesn't fit into {} padded by {}",
                       w.kernel[d], w.dilation[d], size[d].text(), w.padding[d]);
    all = all * n;
  }
  return all;
}

void for_each_column_element(const OpView& op, const Ints& image,
                             const std::function<void(int64_t, int64_t)>& f) {
  const Ints kernel = op.ints_attr("kernel_size");
  const size_t rank = kernel.size(), lead = image.size() - rank;
  const auto entry = [&](const char* name, size_t d) {
    const Ints list = op.ints_attr(name);
    return list.size() == 1 ? list[0] : list[d];
  };
  Ints extents(image.begin(), image.begin() + static_cast<std::ptrdiff_t>(lead));
  extents.insert(extents.end(), kernel.begin(), kernel.end());
  Ints step(rank), first(rank), dilation(rank);
  for (size_t d = 0; d < rank; ++d) {
    step[d] = entry("stride", d);
    first[d] = -entry("padding", d);
    dilation[d] = entry("dilation", d);
    const int64_t last = image[lead + d] - first[d] - dilation[d] * (kernel[d] - 1);
    int64_t count = 0;
    while (first[d] + count * step[d] < last) ++count;
    extents.push_back(count);
  }
  if (numel_of(extents) == 0) return;
  Ints index(extents.size(), 0);
  int64_t column = 0;
  do {
    int64_t at = 0;
    for (size_t d = 0; d < lead; ++d) at = at * image[d] + index[d];
    for (size_t d = 0; d < rank && at >= 0; ++d) {
      const int64_t i = first[d] + index[lead + rank + d] * step[d] + index[lead + d] * dilation[d];
      at = i < 0 || i >= image[lead + d] ? -1 : at * image[lead + d] + i;
    }
    f(at, column++);
  } while (next_index(index, extents));
}

ColumnWalk::ColumnWalk(const OpView& op, const Ints& image) : w(windows_of(op)) {
  const auto split = image.end() - static_cast<std::ptrdiff_t>(w.rank());
  lead.assign(image.begin(), split);
  size.assign(split, image.end());
  counts = w.counts(size);
}
Exprs ColumnWalk::column(const Exprs& plane, const Exprs& kernel, const Exprs& window) const {
  Exprs at(plane.begin(), plane.end() - 1);
  Expr row = plane.back(), position(0);
  for (size_t d = 0; d < w.rank(); ++d) {
    row = row * Expr(w.kernel[d]) + kernel[d];
    position = position * Expr(counts[d]) + window[d];
  }
  at.push_back(row);
  at.push_back(position);
  return at;
}
ColumnWalk::Range ColumnWalk::seen(KernelBuilder& k, size_t d, const Expr& kernel) const {
  if (w.padding[d] == 0) return {Expr(0), Expr(counts[d])};
  const Expr none(0), all(counts[d]), before = kernel * Expr(w.dilation[d]);
  const auto ceil_div = [&](const Expr& a) {
    if (w.stride[d] == 1) return a;
    return binary(loop::Op::floordiv, a + Expr(w.stride[d] - 1), Expr(w.stride[d]));
  };
  const auto inside = [&](const Expr& low, const Expr& v) {
    return k.let(binary(loop::Op::max, low, binary(loop::Op::min, v, all)), "w");
  };
  const Expr begin = inside(none, ceil_div(Expr(w.padding[d]) - before));
  return {begin, inside(begin, ceil_div(Expr(size[d] + w.padding[d]) - before))};
}

NamedAttrs window_attrs(const OpView& op) {
  NamedAttrs attrs;
  for (const char* name : {"kernel_size", "dilation", "padding", "stride"})
    attrs.emplace_back(name, op.attr(name));
  return attrs;
}

SampleAttrs window_call(Ints kernel, Ints dilation, Ints padding, Ints stride, const Ints& size) {
  SampleAttrs out = {
      {"kernel_size", kernel}, {"dilation", dilation}, {"padding", padding}, {"stride", stride}};
  if (!size.empty()) out.emplace_back("output_size", size);
  return out;
}

namespace {

Result<Types> infer_im2col(const OpView& op) {
  CLEAVE_TRY(const Windows w, checked_windows(op));
  const Type& x = op.in_type(0);
  const auto lead = x.rank() - std::ssize(w.kernel);
  if (lead != 1 && lead != 2)
    return op.broken("C4", "self is {}, expected rank {} or {}", x.text(), w.rank() + 1,
                     w.rank() + 2);
  CLEAVE_TRY(const Dim count,
             checked_window_count(op, w, Shape(x.shape.begin() + lead, x.shape.end())));
  Shape shape(x.shape.begin(), x.shape.begin() + lead);
  shape.back() = shape.back() * Dim(w.kernel_size());
  shape.push_back(count);
  return Types{typed_like(x, x.dtype, std::move(shape))};
}

Result<Arrays> reference_im2col(const OpView& op, std::span<const Array* const> in) {
  Array y(in[0]->dtype, static_shape(op.out_type(0)));
  for_each_column_element(op, in[0]->shape, [&](int64_t image, int64_t column) {
    y.f[column] = image < 0 ? 0 : in[0]->f[image];
  });
  return Arrays{y};
}

void lower_im2col(KernelBuilder& k, const OpView& op) {
  const ColumnWalk walk(op, static_shape(op.in_type(0)));
  const Windows& w = walk.w;
  if (numel_of(walk.lead) * numel_of(walk.counts) == 0) return;
  const Expr zero = loop::constant(loop::compute_type(op.out_type(0).dtype), 0);
  const bool no_image = numel_of(walk.size) == 0;
  Ints rows = walk.lead;
  rows.insert(rows.end(), w.kernel.begin(), w.kernel.end());
  const size_t last = walk.last();
  k.parallel(rows, [&](const Exprs& i) {
    const auto split = i.end() - static_cast<std::ptrdiff_t>(w.rank());
    const Exprs plane(i.begin(), split), kernel(split, i.end());
    const ColumnWalk::Range range =
        no_image ? ColumnWalk::Range{Expr(0), Expr(0)} : walk.seen(k, last, kernel[last]);
    k.loops({walk.counts.begin(), walk.counts.end() - 1}, [&](const Exprs& outer) {
      Expr inside;
      Exprs from = plane;
      for (size_t d = 0; d < last; ++d) {
        const Expr at = k.let(walk.image(d, outer[d], kernel[d]), "at");
        from.push_back(at);
        if (w.padding[d] == 0) continue;
        inside = both_hold(inside, binary(loop::Op::ge, at, Expr(0)));
        inside = both_hold(inside, binary(loop::Op::lt, at, Expr(walk.size[d])));
      }
      Expr end = range.end;
      if (inside.defined()) end = k.let(select(inside, end, range.begin), "end");
      const auto store = [&](const Expr& window, const Expr& value) {
        Exprs windows = outer;
        windows.push_back(window);
        k.store(0, walk.column(plane, kernel, windows), value);
      };
      k.loop(range.begin, [&](const Expr& j) { store(j, zero); });
      k.loop(end - range.begin, [&](const Expr& j) {
        const Expr window = range.begin + j;
        Exprs at = from;
        at.push_back(walk.image(last, window, kernel[last]));
        store(window, k.load(0, at));
      });
      k.loop(Expr(walk.counts[last]) - end, [&](const Expr& j) { store(end + j, zero); });
    });
  });
}

std::vector<Sample> im2col_samples() {
  std::vector<Sample> out;
  for (DType t : floating_dtypes)
    out.push_back({{any_of(t, {2, 2, 4, 5})}, window_call({2, 3}, {1}, {1, 0}, {1, 2})});
  const auto add = [&](Ints shape, const SampleAttrs& attrs) {
    out.push_back({{f32(std::move(shape))}, attrs});
  };
  add({1, 1, 4, 4}, window_call({3, 3}, {1}, {1}, {1}));
  add({1, 1, 4, 4}, window_call({1, 1}, {1}, {0}, {1}));
  add({1, 2, 5, 5}, window_call({2, 2}, {2}, {0}, {1}));
  add({1, 1, 7, 6}, window_call({3, 2}, {2, 3}, {2, 1}, {3, 2}));
  add({2, 3, 20}, window_call({5}, {1}, {2}, {1}));
  add({1, 2, 7}, window_call({3}, {1}, {4}, {2}));
  add({1, 2, 3, 4, 3}, window_call({2, 2, 2}, {1}, {1, 0, 1}, {1, 2, 1}));
  add({1, 1, 2, 3, 4, 3}, window_call({1, 2, 2, 2}, {1}, {0, 1, 0, 1}, {1, 1, 1, 2}));
  add({2, 4, 3}, window_call({2, 2}, {1}, {0}, {1}));
  add({3, 2}, window_call({2}, {1}, {1}, {1}));
  add({0, 2, 4, 4}, window_call({2, 2}, {1}, {0}, {1}));
  add({1, 0, 4, 4}, window_call({2, 2}, {1}, {0}, {1}));
  add({1, 1, 0, 2}, window_call({2, 2}, {1}, {1}, {1}));
  for (DType t : floating_dtypes)
    out.push_back({{any_of(t, {2, 6})}, window_call({3}, {2}, {1}, {1})});
  add({1, 2, 4, 4}, window_call({4, 4}, {1}, {0}, {1}));
  add({1, 2, 3, 5}, window_call({2, 2}, {1}, {3}, {4}));
  add({1, 1, 9, 9}, window_call({3, 3}, {4}, {0}, {1}));
  add({1, 3, 2, 70}, window_call({2, 3}, {1}, {1}, {1}));
  out.push_back({{f32({1, 1, 2, 3}).with({1, NAN, INFINITY, 0, -INFINITY, 2})},
                 window_call({2, 2}, {1}, {1}, {1})});
  return out;
}

const SampleTensor narrow_image = f32({1, 1, 2, 2});

OpDef im2col() {
  return OpDef{
      .name = "im2col",
      .signature =
          "(Tensor self, int[] kernel_size, int[] dilation, int[] padding, int[] stride) -> Tensor",
      .summary = "The windows of an image as columns.",
      .source = "aten::im2col, PyTorch 2.13",
      .traits = Trait::fusible | Trait::recomputable,
      .infer = infer_im2col,
      .reference = reference_im2col,
      .decompose = Absent{"a primitive of data movement"},
      .grad = [](Builder& b, const GradView& op) -> Values {
        const Shape& x = op.in_type(0).shape;
        NamedAttrs attrs = window_attrs(op);
        const auto rank = std::ssize(op.ints_attr("kernel_size"));
        attrs.emplace_back("output_size", Shape(x.end() - rank, x.end()));
        return {b.call1("col2im", {op.dout(0)}, attrs)};
      },
      .lower = loop::kernel(lower_im2col),
      .cost = cost_per_result(0),
      .samples = im2col_samples,
      .rejects = []() -> Rejects {
        return {{"C1",
                 {{narrow_image}, window_call({2, 2}, {1, 1, 1}, {0}, {1})},
                 "im2col: C1: dilation has 3 entries, expected 2, as many as kernel_size"},
                {"C2",
                 {{narrow_image}, window_call({2, 2}, {1}, {0}, {0, 1})},
                 "im2col: C2: stride has 0, expected at least 1"},
                {"C3",
                 {{i64({1, 1, 2, 2})}, window_call({2, 2}, {1}, {0}, {1})},
                 "im2col: C3: self is i64[1,1,2,2], expected a floating dtype"},
                {"C4",
                 {{f32({2, 2})}, window_call({2, 2}, {1}, {0}, {1})},
                 "im2col: C4: self is f32[2,2], expected rank 3 or 4"},
                {"C5",
                 {{narrow_image}, window_call({3, 3}, {1}, {0}, {1})},
                 "im2col: C5: a kernel of 3 with dilation 1 doesn't fit into 2 padded by 0"}};
      },
  };
}

}  // namespace

CLEAVE_OPS(im2col) { return {im2col()}; }

}  // namespace cleave
