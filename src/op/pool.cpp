#include "op/pool.h"

#include "op/pool_offsets.h"

namespace cleave {

using loop::Expr;
using loop::KernelBuilder;
using Ints = std::vector<int64_t>;

Dim PoolWindows::count(const Dim& size, size_t d) const {
  const int64_t reach = dilation[d] * (kernel[d] - 1) + 1;
  const Dim room = size + Dim(2 * padding[d] - reach), step = stride[d];
  if (!ceil_mode) return Dim::floordiv(room, step) + Dim(1);
  const Dim all = Dim::floordiv(room + step - Dim(1), step);
  return Dim::min(all, Dim::floordiv(size + Dim(padding[d] - 1), step)) + Dim(1);
}

PoolWindows pool_windows(const OpView& op, size_t rank) {
  const auto list = [&](const char* name, Ints otherwise) {
    Ints out = op.def().schema.find(name) < 0 ? Ints{} : op.ints_attr(name);
    if (out.empty()) out = std::move(otherwise);
    if (out.size() == 1) out.resize(rank, out.front());
    return out;
  };
  PoolWindows w;
  w.kernel = list("kernel_size", {});
  w.stride = list("stride", w.kernel);
  w.padding = list("padding", {0});
  w.dilation = list("dilation", {1});
  w.ceil_mode = op.bool_attr("ceil_mode");
  return w;
}

namespace {

constexpr int64_t most = int64_t{1} << 31;  // of an attribute; sizes are below 2^47

Status check_list(const OpView& op, const char* name, const Ints& list, size_t rank,
                  int64_t least) {
  if (list.size() != rank)
    return op.broken("C1", "{} has {} entries, expected {}", name, list.size(),
                     rank == 1 ? "1" : fmt::format("{} or 1", rank));
  for (int64_t v : list)
    if (v < least || v > most)
      return op.broken("C2", "{} has {}, expected at least {}", name, v, least);
  return {};
}

}  // namespace

Status check_pool_rank(const OpView& op, int input, size_t rank) {
  const Type& x = op.in_type(input);
  const int64_t lead = x.rank() - static_cast<int64_t>(rank);
  if (lead != 1 && lead != 2)
    return op.broken("C4", "self is {}, expected rank {} or {}", x.text(), rank + 1, rank + 2);
  for (int64_t d = lead - 1; d < x.rank(); ++d)
    if (op.env().range_of(x.shape[d]).hi < 1)
      return op.broken("C4", "dim {} of self: {} is empty, expected at least 1", d, x.text());
  return {};
}

Status check_pool_windows(const OpView& op, size_t rank) {
  const PoolWindows w = pool_windows(op, rank);
  CLEAVE_CHECK(check_list(op, "kernel_size", w.kernel, rank, 1));
  CLEAVE_CHECK(check_list(op, "stride", w.stride, rank, 1));
  CLEAVE_CHECK(check_list(op, "padding", w.padding, rank, 0));
  CLEAVE_CHECK(check_list(op, "dilation", w.dilation, rank, 1));
  for (size_t d = 0; d < rank; ++d) {
    const int64_t half = (w.dilation[d] * (w.kernel[d] - 1) + 1) / 2;
    if (w.padding[d] > half)
      return op.broken("C2", "padding has {}, expected at most {}, half of the window",
                       w.padding[d], half);
  }
  return {};
}

Result<Shape> pooled_shape(const OpView& op, int input, size_t rank) {
  CLEAVE_CHECK(check_pool_windows(op, rank));
  const PoolWindows w = pool_windows(op, rank);
  CLEAVE_CHECK(check_pool_rank(op, input, rank));
  Shape shape = op.in_type(input).shape;
  for (size_t d = 0; d < rank; ++d) {
    Dim& size = shape[shape.size() - rank + d];
    const Dim count = w.count(size, d);
    if (op.env().range_of(count).hi < 1)
      return op.broken("C5", "a window of {} with dilation {} doesn't fit into {} padded by {}",
                       w.kernel[d], w.dilation[d], size.text(), w.padding[d]);
    size = count;
  }
  return shape;
}

DimTaps windows_over(const PoolWindows& w, size_t d, int64_t count) {
  const int64_t kernel = w.kernel[d], stride = w.stride[d], padding = w.padding[d];
  DimTaps out;
  if (kernel == 1 && stride == 1 && padding == 0) {  // each element is a window
    out.count = 1;
    out.tap = [](KernelBuilder&, const Expr& i, const Expr&) { return Tap{i, {}, {}}; };
    return out;
  }
  out.count = std::min((kernel + stride - 1) / stride, count);
  const int64_t last = out.count - 1;
  // Ends with the last window that may contain i, or the last existing one if that is less.
  out.tap = [=](KernelBuilder&, const Expr& i, const Expr& t) {
    const Expr at = i + Expr(padding);
    const Expr o = at_most(quotient(at, stride), Expr(count - 1)) - Expr(last) + t;
    const Expr covers = binary(loop::Op::gt, o * Expr(stride) + Expr(kernel), at);
    return Tap{at_least(o, Expr(0)), {}, both_hold(binary(loop::Op::ge, o, Expr(0)), covers)};
  };
  return out;
}

PoolEntries::PoolEntries(const OpView& op, size_t rank) {
  const auto entries = [&](const char* name, int64_t otherwise) {
    Ints list = op.def().schema.find(name) < 0 ? Ints{otherwise} : op.ints_attr(name);
    if (list.empty()) list = name == std::string("stride") ? kernel : Ints{otherwise};
    while (list.size() < rank) list.push_back(list.front());
    return list;
  };
  kernel = entries("kernel_size", 1);
  stride = entries("stride", 1);
  padding = entries("padding", 0);
  dilation = entries("dilation", 1);
}

void for_each_position(const Ints& shape, size_t rank,
                       const std::function<void(int64_t, const Ints&)>& f) {
  if (numel_of(shape) == 0) return;
  const Ints pooled(shape.end() - static_cast<std::ptrdiff_t>(rank), shape.end());
  const int64_t planes = numel_of(shape) / numel_of(pooled);
  for (int64_t p = 0; p < planes; ++p) {
    Ints at(rank, 0);
    do f(p, at);
    while (next_index(at, pooled));
  }
}

}  // namespace cleave
