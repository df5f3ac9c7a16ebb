// cat(tensors; dim) -> y      concatenates tensors along a dim
//   (C1) at least one tensor  (C2) none is 0-d  (C3) dim in range of the result
//   (C4) equal ranks, (C5) equal sizes except dim's; a tensor f32[0] of one empty dim is skipped
//   (C6) one device
// stack(tensors; dim) -> y    concatenates tensors along a new dim
//   (C1) at least one tensor  (C2) equal shapes  (C3) dim in [-rank-1, rank+1)  (C6) one device
// The result has the dtype that the tensors promote to.
#include <cmath>

#include "op/cost.h"
#include "op/dims.h"
#include "op/entry.h"
#include "op/pointwise_lower.h"
#include "op/promotion.h"
#include "op/reference_lines.h"
#include "op/sample_sets.h"

namespace cleave {
namespace {

using loop::Expr;
using loop::Exprs;

constexpr Trait traits = Trait::fusible | Trait::recomputable;

Result<Type> common_type(const OpView& op) {
  if (op.list_size() == 0)
    return op.broken("C1", "the list is empty, expected at least one tensor");
  Promotion dtype;
  for (int k = 0; k < op.list_size(); ++k) {
    dtype.add(op.list_type(k));
    if (op.list_type(k).device != op.list_type(0).device)
      return op.broken("C6", "tensors[0] is {} and tensors[{}] is {}, expected one device",
                       op.list_type(0).text(), k, op.list_type(k).text());
  }
  return typed_like(op.list_type(0), dtype.result(), {});
}

// ---- cat

bool is_skipped(const Type& t) { return t.rank() == 1 && t.shape[0] == Dim(0); }

// The first tensor that isn't skipped determines the rank; 0 if all are skipped.
int model_of(const OpView& op) {
  for (int k = 0; k < op.list_size(); ++k)
    if (!is_skipped(op.list_type(k))) return k;
  return 0;
}

int64_t cat_dim(const OpView& op) {
  return from_front(op.int_attr("dim"), op.list_type(model_of(op)).rank());
}

Result<Types> infer_cat(const OpView& op) {
  CLEAVE_TRY(Type y, common_type(op));
  for (int k = 0; k < op.list_size(); ++k)
    if (op.list_type(k).rank() == 0)
      return op.broken("C2", "tensor {} is {}, expected at least one dim", k,
                       op.list_type(k).text());
  const int model = model_of(op);
  const Type& first = op.list_type(model);
  y.shape = first.shape;
  if (is_skipped(first)) return Types{y};
  CLEAVE_TRY(const int64_t dim, checked_dim(op, "C3", op.int_attr("dim"), first, Rank0::refused,
                                            fmt::format("tensor {}", model)));
  for (int k = model + 1; k < op.list_size(); ++k) {
    const Type& t = op.list_type(k);
    if (is_skipped(t)) continue;
    if (t.rank() != first.rank())
      return op.broken("C4", "tensors {} and {} are {} and {}, expected equal ranks", model, k,
                       first.text(), t.text());
    for (int64_t d = 0; d < t.rank(); ++d)
      if (d != dim)
        CLEAVE_CHECK(check_equal(op, "C5", fmt::format("dim {} of tensors {} and {}", d, model, k),
                                 first.shape[d], t.shape[d]));
    y.shape[dim] = y.shape[dim] + t.shape[dim];
  }
  return Types{y};
}

// x viewed as `shape` in the rank of y, placed at index `start` of dim.
void put(Array& y, const Array& x, const std::vector<int64_t>& shape, size_t dim, int64_t start) {
  if (x.numel() == 0) return;
  std::vector<int64_t> index(shape.size(), 0);
  int64_t k = 0;
  do {
    std::vector<int64_t> to = index;
    to[dim] += start;
    if (x.floating())
      y.set(position_of(to, y.shape), x.f[k]);
    else
      y.set_int(position_of(to, y.shape), x.i[k]);
    ++k;
  } while (next_index(index, shape));
}

Result<Arrays> reference_cat(const OpView& op, std::span<const Array* const> in) {
  DType dtype = in[0]->dtype;
  size_t rank = 1;
  for (const Array* x : in) {
    dtype = promote(dtype, x->dtype);
    rank = std::max(rank, x->shape.size());
  }
  std::vector<const Array*> used;
  for (const Array* x : in)
    if (x->shape.size() == rank && (rank > 1 || x->numel() > 0)) used.push_back(x);
  if (used.empty()) return Arrays{Array(dtype, {0})};
  const int64_t given = op.int_attr("dim");
  const auto dim = static_cast<size_t>(given < 0 ? given + static_cast<int64_t>(rank) : given);
  Array y(dtype, used[0]->shape);
  for (size_t k = 1; k < used.size(); ++k) y.shape[dim] += used[k]->shape[dim];
  y = Array(dtype, y.shape);
  int64_t start = 0;
  for (const Array* x : used) {
    put(y, *x, x->shape, dim, start);
    start += x->shape[dim];
  }
  return Arrays{y};
}

Values grad_cat(Builder& b, const GradView& op) {
  Values out = op.no_grads();
  const int64_t dim = cat_dim(op);
  Dim start = 0;
  for (int k = 0; k < op.list_size(); ++k) {
    const Type& t = op.list_type(k);
    if (is_skipped(t)) {
      if (op.list_needs(k)) out[op.flat(0) + k] = zeros(b, t);
      continue;
    }
    const Dim end = start + t.shape[dim];
    if (op.list_needs(k))
      out[op.flat(0) + k] = b.convert(b.slice(op.dout(0), dim, start, end), t.dtype);
    start = end;
  }
  return out;
}

// One loop nest for each tensor, its last dim innermost. With few operands, each read selects among
// them: outside its own range an index is clamped to the edge.
constexpr int max_choices = 8;

bool is_choice(const OpView& op) {
  int parts = 0;
  for (int t = 0; t < op.list_size(); ++t)
    parts += !is_skipped(op.list_type(t)) && op.list_type(t).numel().value() > 0;
  return parts >= 1 && parts <= max_choices;
}

Exprs choose_part(loop::KernelBuilder& k, const OpView& op, const Exprs& index) {
  const int64_t dim = cat_dim(op);
  const DType stored = op.out_type(0).dtype;
  Expr out;
  int64_t end = op.out_type(0).shape[static_cast<size_t>(dim)].value();
  const int64_t whole = end;
  for (int t = op.list_size(); t-- > 0;) {
    const Type& type = op.list_type(t);
    if (is_skipped(type) || type.numel().value() == 0) continue;
    const int64_t size = type.shape[static_cast<size_t>(dim)].value(), start = end - size;
    Exprs from = index;
    if (size != whole) {
      from[dim] = from[dim] - Expr(start);
      if (start > 0) from[dim] = binary(loop::Op::max, from[dim], Expr(0));
      if (end < whole) from[dim] = binary(loop::Op::min, from[dim], Expr(size - 1));
    }
    const Expr x = loop::as_dtype(k.load(op.flat(0) + t, from), type.dtype, stored);
    out = out.defined() ? select(binary(loop::Op::lt, index[dim], Expr(end)), x, out) : x;
    end = start;
  }
  return {out};
}

void lower_cat(loop::KernelBuilder& k, const OpView& op) {
  const int64_t dim = cat_dim(op);
  int64_t start = 0;
  for (int t = 0; t < op.list_size(); ++t) {
    const std::vector<int64_t> shape = static_shape(op.list_type(t));
    if (is_skipped(op.list_type(t)) || numel_of(shape) == 0) continue;
    const std::vector<int64_t> outer(shape.begin(), shape.end() - 1);
    k.parallel(outer, [&](const Exprs& i) {
      k.loop(Expr(shape.back()), [&](Expr last) {
        Exprs from(i.begin(), i.begin() + std::ssize(outer));
        from.push_back(last);
        Exprs to = from;
        to[dim] = to[dim] + Expr(start);
        k.store(0, to, k.load(op.flat(0) + t, from));
      });
    });
    start += shape[dim];
  }
}

// The position of each tensor in the result.
std::vector<loop::Layout> parts_of_cat(const OpView& op, const loop::Layout& result) {
  std::vector<loop::Layout> parts;
  const auto dim = static_cast<size_t>(cat_dim(op));
  loop::Layout part = result;
  for (int k = 0; k < op.list_size(); ++k) {
    const Type& own = op.list_type(k);
    if (is_skipped(own)) {
      parts.push_back(loop::Layout::contiguous({0}));
      continue;
    }
    part.shape = static_shape(own);
    parts.push_back(part);
    part.offset += part.shape[dim] * part.strides[dim];
  }
  return parts;
}

SampleOperand list(std::vector<SampleTensor> tensors) { return SampleOperand(std::move(tensors)); }

std::vector<Sample> pairs_of_dtypes(const std::vector<int64_t>& first) {
  std::vector<Sample> out;
  for (DType t : all_dtypes) out.push_back({{list({any_of(t, first), any_of(t, {2, 3})})}});
  return out;
}

OpDef cat() {
  return OpDef{
      .name = "cat",
      .signature = "(Tensor[] tensors, int dim=0) -> Tensor",
      .summary = "Tensors one after the other along a dim.",
      .source = "aten::cat, PyTorch 2.13",
      .traits = traits,
      .infer = infer_cat,
      .reference = reference_cat,
      .decompose = Absent{"primitive: copies into parts"},
      .grad = grad_cat,
      .lower = loop::kernel({.build = lower_cat,
                             .elementwise = loop::ElementwiseRule{choose_part, true},
                             .is_elementwise = is_choice,
                             .parts = parts_of_cat}),
      .cost = cost_per_result(0),
      .samples =
          [] {
            return joined({pairs_of_dtypes({1, 3}),
                           {{{list({f32({2, 1}), f32({2, 3}), f32({2, 2})})}, {{"dim", -1}}},
                            {{list({f32({2, 2, 2}), f32({2, 1, 2})})}, {{"dim", 1}}},
                            {{list({f32({3})})}},
                            {{list({f32({0}), f32({2, 2}), f32({1, 2})})}},
                            {{list({f32({0}), f32({0})})}, {{"dim", 1}}},
                            {{list({f32({0, 3}), f32({2, 3})})}},
                            {{list({f32({2}), i64({3})})}},
                            {{list({i32({2}), i64({3}), boolean({1})})}},
                            {{list({bf16({2}), f16({2})})}},
                            {{list({f64({2}), f32({2})})}},
                            {{list({f32({2, 3, 4}), f32({2, 3, 1})})}, {{"dim", 2}}},
                            {{list({bf16({2, 3}), bf16({2, 0}), bf16({2, 1})})}, {{"dim", 1}}},
                            {{list({f32({1}), f32({1}), f32({1}), f32({1}), f32({1})})}},
                            {{list({f32({3, 40}), f32({3, 33})})}, {{"dim", -1}}},
                            {{list({f32({2}).with({NAN, INFINITY}), f32({1})})}},
                            {{list({boolean({2}), f32({1})})}},
                            {{list({f32({1, 2, 2, 1}), f32({1, 1, 2, 1})})}, {{"dim", -3}}},
                            {{list({f32({2, 2}), f32({0}), f32({1, 2})})}}}});
          },
      .rejects = []() -> Rejects {
        return {
            {"C1", {{list({})}}, "cat: C1: the list is empty, expected at least one tensor"},
            {"C2",
             {{list({f32({2}), f32({})})}},
             "cat: C2: tensor 1 is f32[], expected at least one dim"},
            {"C3",
             {{list({f32({2})})}, {{"dim", 1}}},
             "cat: C3: dim 1 is outside [-1, 1) of tensor 0: f32[2]"},
            {"C4",
             {{list({f32({2, 3}), f32({3})})}},
             "cat: C4: tensors 0 and 1 are f32[2,3] and f32[3], expected equal ranks"},
            {"C5",
             {{list({f32({2, 3}), f32({2, 2})})}},
             "cat: C5: dim 1 of tensors 0 and 1: 3 and 2, expected equal"},
            {"C6",
             {{list({f32({2}), on_cuda(f32({2}))})}},
             "cat: C6: tensors[0] is f32[2] and tensors[1] is f32[2]@cuda:0, expected one device"}};
      },
  };
}

// ---- stack

int64_t stack_dim(const OpView& op) {
  return from_front(op.int_attr("dim"), op.list_type(0).rank() + 1);
}

Result<Types> infer_stack(const OpView& op) {
  CLEAVE_TRY(Type y, common_type(op));
  const Type& first = op.list_type(0);
  for (int k = 1; k < op.list_size(); ++k)
    CLEAVE_CHECK(check_same_shape(op, "C2", fmt::format("tensors 0 and {}", k), first.shape,
                                  op.list_type(k).shape));
  const int64_t dim = op.int_attr("dim"), ranks = first.rank() + 1;
  if (dim < -ranks || dim >= ranks)
    return op.broken("C3", "dim {} is outside [{}, {}) for a new dim of tensor 0: {}", dim, -ranks,
                     ranks, first.text());
  y.shape = first.shape;
  y.shape.insert(y.shape.begin() + stack_dim(op), Dim(op.list_size()));
  return Types{y};
}

Result<Arrays> reference_stack(const OpView& op, std::span<const Array* const> in) {
  DType dtype = in[0]->dtype;
  for (const Array* x : in) dtype = promote(dtype, x->dtype);
  std::vector<int64_t> shape = in[0]->shape;
  const int64_t given = op.int_attr("dim"), dim = given < 0 ? given + std::ssize(shape) + 1 : given;
  shape.insert(shape.begin() + dim, std::ssize(in));
  Array y(dtype, shape);
  shape[static_cast<size_t>(dim)] = 1;
  for (int64_t k = 0; k < std::ssize(in); ++k)
    put(y, *in[static_cast<size_t>(k)], shape, static_cast<size_t>(dim), k);
  return Arrays{y};
}

OpDef stack() {
  return OpDef{
      .name = "stack",
      .signature = "(Tensor[] tensors, int dim=0) -> Tensor",
      .summary = "Tensors one after the other along a new dim.",
      .source = "aten::stack, PyTorch 2.13",
      .traits = traits,
      .infer = infer_stack,
      .reference = reference_stack,
      .decompose = [](Builder& b, const OpView& op) -> Values {
        Values parts;
        for (int k = 0; k < op.list_size(); ++k)
          parts.push_back(b.unsqueeze(op.list_in(k), stack_dim(op)));
        return {b.cat(parts, stack_dim(op))};
      },
      .grad = [](Builder& b, const GradView& op) -> Values {
        Values out = op.no_grads();
        for (int k = 0; k < op.list_size(); ++k)
          if (op.list_needs(k))
            out[op.flat(0) + k] =
                b.convert(b.call1("select", {op.dout(0)}, {{"dim", stack_dim(op)}, {"index", k}}),
                          op.list_type(k).dtype);
        return out;
      },
      .lower = loop::by_decomposition(),
      .cost = cost_per_result(0),
      .samples =
          [] {
            return joined(
                {pairs_of_dtypes({2, 3}),
                 {{{list({f32({2}), f32({2})})}, {{"dim", 1}}},
                  {{list({f32({2, 3}), f32({2, 3}), f32({2, 3})})}, {{"dim", -2}}},
                  {{list({f32({}), f32({})})}},
                  {{list({f32({2, 0}), f32({2, 0})})}, {{"dim", -1}}},
                  {{list({f32({2}), i64({2})})}},
                  {{list({f32({2, 3})})}, {{"dim", 1}}},
                  {{list({bf16({2, 3, 2}), bf16({2, 3, 2})})}, {{"dim", 3}}},
                  {{list({f32({}), f32({}), f32({})})}, {{"dim", -1}}},
                  {{list({f64({2, 3}), f64({2, 3})})}, {{"dim", 0}}},
                  {{list({f32({1}), f32({1}), f32({1}), f32({1}), f32({1})})}, {{"dim", 1}}},
                  {{list({f32({3, 40}), f32({3, 40})})}, {{"dim", 2}}},
                  {{list({f32({2}).with({NAN, INFINITY}), f32({2})})}},
                  {{list({boolean({2}), i32({2})})}},
                  {{list({bf16({2}), f16({2})})}},
                  {{list({f32({2, 3}), f32({2, 3})})}, {{"dim", -3}}}}});
          },
      .rejects = []() -> Rejects {
        return {{"C1", {{list({})}}, "stack: C1: the list is empty, expected at least one tensor"},
                {"C2",
                 {{list({f32({2}), f32({3})})}},
                 "stack: C2: tensors 0 and 1: [2] and [3], expected equal shapes"},
                {"C3",
                 {{list({f32({2})})}, {{"dim", 2}}},
                 "stack: C3: dim 2 is outside [-2, 2) for a new dim of tensor 0: f32[2]"},
                {"C6",
                 {{list({on_cuda(f32({2})), f32({2})})}},
                 "stack: C6: tensors[0] is f32[2]@cuda:0 and tensors[1] is f32[2], expected one "
                 "device"}};
      },
  };
}

}  // namespace

CLEAVE_OPS(cat) { return {cat(), stack()}; }

}  // namespace cleave
