// Matrix products fused with the collective before or after them, so that a backend can start with
// the rows that have already arrived. op/collective.h defines collectives.
//
//   fused_all_gather_matmul(A, Bs; gather_dim, group_size, group_name, return_A)
//       -> (G or none, G @ B for each B)       G = the ranks' A, joined along gather_dim
//     (C1) A has rank 2 or more, each B rank 2     (C2) one dtype, floating or integer
//     (C3) group_size is at least 1                (C4) gather_dim is a dim of A
//     (C5) the inner sizes of G and B are equal    (C6) operands are on one device
//     (C9) the number of ranks that run equals group_size
//   fused_matmul_reduce_scatter(A, B; reduce_op, scatter_dim, group_size, group_name) -> y
//       rank k gets the k-th part along scatter_dim of the reduction of the ranks' A @ B
//     (C1), (C2), (C3), (C5), (C6), (C9) as above  (C4) scatter_dim is a dim of A
//     (C7) reduce_op is sum or avg, avg of a floating dtype
//     (C8) the product's scatter_dim is divisible by group_size
//
// PyTorch takes the group's size from its process groups; a graph here is self-contained, so
// group_size is an attribute, as for all_gather_into_tensor. The results of the first operator are
// one list. The products are rounded before they are reduced, as mm and reduce_scatter would do. No
// gradient: the pass that creates these calls runs after differentiation.
#include "op/collective.h"
#include "op/cost.h"
#include "op/dims.h"
#include "op/entry.h"
#include "op/reference_sum.h"
#include "op/sample_sets.h"

namespace cleave {
namespace {

constexpr const char* no_gradient = "made after the gradient, of calls that have one";

// ---- what both have

int64_t size_of_group(const OpView& op) { return op.int_attr("group_size"); }

// Checks C1, C2, C6 for A and the B named `name`.
Status check_factors(const OpView& op, const Type& b, std::string_view name) {
  const Type& a = op.in_type(0);
  if (a.rank() < 2) return op.broken("C1", "A is {}, expected rank 2 or more", a.text());
  if (b.rank() != 2) return op.broken("C1", "{} is {}, expected rank 2", name, b.text());
  if (!is_floating(a.dtype) && !is_integer(a.dtype))
    return op.broken("C2", "A is {}, expected a floating or integer dtype", a.text());
  if (a.dtype != b.dtype)
    return op.broken("C2", "{} is {}, expected the dtype of A: {}", name, b.text(),
                     name_of(a.dtype));
  if (a.device != b.device)
    return op.broken("C6", "A is {} and {} is {}, expected one device", a.text(), name, b.text());
  return {};
}

Shape product_shape(const Type& a, const Type& b) {
  Shape shape = a.shape;
  shape.back() = b.shape[1];
  return shape;
}

// a [*, k] @ b [k, n], computed by mm's reference.
Array product(const Array& a, const Array& b) {
  const int64_t inner = b.shape[0], n = b.shape[1];
  std::vector<int64_t> shape = a.shape;
  shape.back() = n;
  Array y(a.dtype, shape);
  for (int64_t k = 0; k < y.numel(); ++k) {
    const int64_t row = k / n * inner, column = k % n;
    ReferenceSum sum;
    uint64_t whole = 0;
    for (int64_t p = 0; p < inner; ++p) {
      if (y.floating())
        sum += a.f[row + p] * b.f[p * n + column];
      else
        whole += static_cast<uint64_t>(a.i[row + p]) * static_cast<uint64_t>(b.i[p * n + column]);
    }
    if (y.floating())
      y.f[k] = y.dtype == DType::f32 ? static_cast<double>(sum) : round_to(y.dtype, sum);
    else
      y.set_int(k, static_cast<int64_t>(whole));
  }
  return y;
}

// Reshapes for mm, which takes two dims.
ValueId product(Builder& b, ValueId a, ValueId other) {
  const Shape whole = b.type(a).shape;
  if (whole.size() == 2) return b.mm(a, other);
  const Shape y = product_shape(b.type(a), b.type(other));
  Dim rows = 1;
  for (size_t d = 0; d + 1 < whole.size(); ++d) rows = rows * whole[d];
  const ValueId flat = b.mm(b.view(a, {rows, whole.back()}), other);
  return b.view(flat, y);
}

// Moves the dim to the front, and back.
ValueId moved(Builder& b, ValueId v, int64_t from, int64_t to) {
  if (from == to) return v;
  std::vector<int64_t> dims;
  for (int64_t d = 0; d < b.type(v).rank(); ++d)
    if (d != from) dims.push_back(d);
  dims.insert(dims.begin() + to, from);
  return b.permute(v, dims);
}

int64_t product_flops(const OpView& op, const Type& y, int64_t inner) {
  return 2 * inner * numel_hint(op, y);
}

// ---- fused_all_gather_matmul

Result<Types> infer_gathered(const OpView& op) {
  const Type& a = op.in_type(0);
  if (a.rank() < 2) return op.broken("C1", "A is {}, expected rank 2 or more", a.text());
  CLEAVE_CHECK(check_group_size(op));
  CLEAVE_TRY(const int64_t dim,
             checked_dim(op, "C4", op.int_attr("gather_dim"), a, Rank0::refused, "A"));
  Type whole = collective_type(a, a.shape);
  whole.shape[dim] = whole.shape[dim] * op.dim_attr("group_size");
  Types out = {op.bool_attr("return_A") ? whole : Type::none()};
  for (int k = 0; k < op.list_size(); ++k) {
    const Type& b = op.list_type(k);
    CLEAVE_CHECK(check_factors(op, b, fmt::format("B {}", k)));
    CLEAVE_CHECK(check_equal(op, "C5", "inner sizes", whole.shape.back(), b.shape[0]));
    out.push_back(collective_type(a, product_shape(whole, b)));
  }
  return out;
}

Result<std::vector<Arrays>> gather_and_multiply(const OpView& op, const RankArrays& in) {
  CLEAVE_CHECK(check_ranks(op, in.size()));
  const Array whole =
      joined(operand_of_ranks(in, 0), from_front(op.int_attr("gather_dim"), in[0][0]->rank()));
  std::vector<Arrays> out;
  for (const std::vector<const Array*>& operands : in) {
    Arrays& results = out.emplace_back();
    results.push_back(op.bool_attr("return_A") ? whole : Array());
    for (size_t k = 1; k < operands.size(); ++k) results.push_back(product(whole, *operands[k]));
  }
  return out;
}

Values decompose_gathered(Builder& b, const OpView& op) {
  const int64_t dim = from_front(op.int_attr("gather_dim"), op.in_type(0).rank());
  const ValueId front = gathered_and_waited(b, op, moved(b, op.in(0), dim, 0));
  const ValueId whole = moved(b, front, 0, dim);
  Values out = {op.bool_attr("return_A") ? whole : ValueId::none()};
  for (int k = 0; k < op.list_size(); ++k) out.push_back(product(b, whole, op.list_in(k)));
  return out;
}

SampleAttrs gathered(int dim, int ranks, bool return_A = true) {
  return {{"gather_dim", dim}, {"group_size", ranks}, {"group_name", "tp"}, {"return_A", return_A}};
}

Samples gathered_samples() {
  Samples out;
  for (const DType t : {DType::f64, DType::f32, DType::bf16, DType::f16, DType::i64, DType::i8})
    out.push_back({{any_of(t, {3, 4}), std::vector{any_of(t, {4, 2})}}, gathered(0, 1)});
  out.push_back({{f32({2, 3, 4}), std::vector{f32({4, 2}), f32({4, 5})}}, gathered(1, 1)});
  out.push_back({{f32({2, 3}), std::vector{f32({3, 2})}}, gathered(-1, 1)});
  out.push_back({{f32({0, 3}), std::vector{f32({3, 2})}}, gathered(0, 1)});
  out.push_back({{f32({2, 3}), std::vector{f32({3, 2})}}, gathered(0, 1, false)});
  return out;
}

OpDef fused_all_gather_matmul() {
  const char* name = "fused_all_gather_matmul";
  return OpDef{
      .name = name,
      .signature =
          "(Tensor A, Tensor[] Bs, int gather_dim, int group_size, str group_name, *, "
          "bool return_A=True) -> Tensor[]",
      .summary =
          "The inputs of a group's ranks joined along a dim, and matrix products of the "
          "whole.",
      .source = "symm_mem::fused_all_gather_matmul, PyTorch 2.13",
      .traits = collective_traits | Trait::compute_intensive,
      .infer = infer_gathered,
      .reference = reference_alone(gather_and_multiply),
      .decompose = decompose_gathered,
      .grad = Absent{no_gradient},
      .lower = Absent{no_transport},
      .cost =
          [](const OpView& op) {
            Cost cost{0, bytes_moved(op)};
            for (int k = 0; k < op.list_size(); ++k)
              cost.flops +=
                  product_flops(op, op.out_type(k + 1), op.env().hint_of(op.list_type(k).shape[0]));
            return cost;
          },
      .samples = gathered_samples,
      .rejects = [name]() -> Rejects {
        const auto refused = [&](const std::string& text) {
          return fmt::format("{}: {}", name, text);
        };
        return {{"C1",
                 {{f32({4}), std::vector{f32({4, 2})}}, gathered(0, 1)},
                 refused("C1: A is f32[4], expected rank 2 or more")},
                {"C1",
                 {{f32({3, 4}), std::vector{f32({4, 2}), f32({4})}}, gathered(0, 1)},
                 refused("C1: B 1 is f32[4], expected rank 2")},
                {"C2",
                 {{f32({3, 4}), std::vector{f64({4, 2})}}, gathered(0, 1)},
                 refused("C2: B 0 is f64[4,2], expected the dtype of A: f32")},
                {"C3",
                 {{f32({3, 4}), std::vector{f32({4, 2})}}, gathered(0, 0)},
                 refused("C3: group_size is 0, expected at least 1")},
                {"C4",
                 {{f32({3, 4}), std::vector{f32({4, 2})}}, gathered(2, 1)},
                 refused("C4: dim 2 is outside [-2, 2) of A: f32[3,4]")},
                {"C5",
                 {{f32({3, 4}), std::vector{f32({4, 2})}}, gathered(1, 2)},
                 refused("C5: inner sizes: 8 and 4, expected equal")},
                {"C9",
                 {{f32({3, 4}), std::vector{f32({4, 2})}}, gathered(0, 2)},
                 refused("C9: group_size is 2, but group \"tp\" has 1 here; interpret_ranks runs "
                         "several")}};
      },
      .ranks = gather_and_multiply,
  };
}

// ---- fused_matmul_reduce_scatter

Result<Types> infer_scattered(const OpView& op) {
  const Type &a = op.in_type(0), &b = op.in_type(1);
  CLEAVE_CHECK(check_factors(op, b, "B"));
  CLEAVE_CHECK(check_group_size(op));
  CLEAVE_TRY(const int64_t dim,
             checked_dim(op, "C4", op.int_attr("scatter_dim"), a, Rank0::refused, "A"));
  CLEAVE_CHECK(check_equal(op, "C5", "inner sizes", a.shape.back(), b.shape[0]));
  const std::string& how = op.str_attr("reduce_op");
  if (how != "sum" && how != "avg")
    return op.broken("C7", "reduce_op is {}, expected sum or avg", quoted(how));
  if (how == "avg" && !is_floating(a.dtype))
    return op.broken("C7", "A is {}, expected a floating dtype for avg", a.text());
  Type y = collective_type(a, product_shape(a, b));
  const Dim ranks = op.dim_attr("group_size"), part = Dim::floordiv(y.shape[dim], ranks);
  if (!op.env().provably_equal(part * ranks, y.shape[dim]))
    return op.broken("C8", "dim {} of the product: {} is {}, expected a multiple of group_size {}",
                     dim, y.text(), y.shape[dim].text(), ranks.text());
  y.shape[dim] = part;
  return Types{std::move(y)};
}

Result<std::vector<Arrays>> multiply_and_scatter(const OpView& op, const RankArrays& in) {
  CLEAVE_CHECK(check_ranks(op, in.size()));
  Arrays products;
  for (const std::vector<const Array*>& operands : in)
    products.push_back(product(*operands[0], *operands[1]));
  std::vector<const Array*> of_ranks;
  for (const Array& y : products) of_ranks.push_back(&y);
  const Array whole = reduced(op, of_ranks);
  const int64_t dim = from_front(op.int_attr("scatter_dim"), whole.rank());
  std::vector<Arrays> out;
  for (int64_t r = 0; r < std::ssize(in); ++r)
    out.push_back({part_of(whole, dim, r, std::ssize(in))});
  return out;
}

Values decompose_scattered(Builder& b, const OpView& op) {
  const int64_t dim = from_front(op.int_attr("scatter_dim"), op.in_type(0).rank());
  const ValueId front = moved(b, product(b, op.in(0), op.in(1)), dim, 0);
  return {moved(b, scattered_and_waited(b, op, front, op.str_attr("reduce_op")), 0, dim)};
}

SampleAttrs scattered(const char* reduce_op, int dim, int ranks) {
  return {
      {"reduce_op", reduce_op}, {"scatter_dim", dim}, {"group_size", ranks}, {"group_name", "tp"}};
}

OpDef fused_matmul_reduce_scatter() {
  const char* name = "fused_matmul_reduce_scatter";
  const auto samples = [] {
    Samples out;
    for (const DType t : {DType::f64, DType::f32, DType::bf16, DType::f16, DType::i64, DType::u8})
      out.push_back({{any_of(t, {3, 4}), any_of(t, {4, 2})}, scattered("sum", 0, 1)});
    out.push_back({{f32({2, 3, 4}), f32({4, 2})}, scattered("avg", 1, 1)});
    out.push_back({{f32({2, 3}), f32({3, 2})}, scattered("sum", -1, 1)});
    out.push_back({{f32({2, 0}), f32({0, 2})}, scattered("sum", 0, 1)});
    return out;
  };
  return OpDef{
      .name = name,
      .signature =
          "(Tensor A, Tensor B, str reduce_op, int scatter_dim, int group_size, "
          "str group_name) -> Tensor",
      .summary = "Each rank's part of the reduction of the ranks' matrix products.",
      .source = "symm_mem::fused_matmul_reduce_scatter, PyTorch 2.13",
      .traits = collective_traits | Trait::compute_intensive,
      .infer = infer_scattered,
      .reference = reference_alone(multiply_and_scatter),
      .decompose = decompose_scattered,
      .grad = Absent{no_gradient},
      .lower = Absent{no_transport},
      .cost =
          [](const OpView& op) {
            const int64_t inner = op.env().hint_of(op.in_type(1).shape[0]);
            return Cost{product_flops(op, op.out_type(0), inner) * size_of_group(op),
                        bytes_moved(op)};
          },
      .samples = samples,
      .rejects = [name]() -> Rejects {
        const auto refused = [&](const std::string& text) {
          return fmt::format("{}: {}", name, text);
        };
        return {{"C1",
                 {{f32({3, 4}), f32({1, 4, 2})}, scattered("sum", 0, 1)},
                 refused("C1: B is f32[1,4,2], expected rank 2")},
                {"C2",
                 {{boolean({3, 4}), boolean({4, 2})}, scattered("sum", 0, 1)},
                 refused("C2: A is bool[3,4], expected a floating or integer dtype")},
                {"C6",
                 {{f32({3, 4}), on_cuda(f32({4, 2}))}, scattered("sum", 0, 1)},
                 refused("C6: A is f32[3,4] and B is f32[4,2]@cuda:0, expected one device")},
                {"C7",
                 {{f32({3, 4}), f32({4, 2})}, scattered("max", 0, 1)},
                 refused("C7: reduce_op is \"max\", expected sum or avg")},
                {"C7",
                 {{i64({3, 4}), i64({4, 2})}, scattered("avg", 0, 1)},
                 refused("C7: A is i64[3,4], expected a floating dtype for avg")},
                {"C8",
                 {{f32({3, 4}), f32({4, 2})}, scattered("sum", 0, 2)},
                 refused("C8: dim 0 of the product: f32[3,2] is 3, expected a multiple of "
                         "group_size 2")}};
      },
      .ranks = multiply_and_scatter,
  };
}

}  // namespace

CLEAVE_OPS(collective_product) {
  return {fused_all_gather_matmul(), fused_matmul_reduce_scatter()};
}

}  // namespace cleave
