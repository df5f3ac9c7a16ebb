// _grouped_mm(self, mat2, offs; bias, out_dtype) -> y        products with a group each
//
//   self [m,k]     mat2 [g,k,n]   y [m,n]      y[rows of i] = self[rows of i] @ mat2[i]
//   self [g,m,k]   mat2 [k,n]     y [m,n]      y[:, columns of i] = self[i] @ mat2[:, columns of i]
//   self [m,k]     mat2 [k,n]     y [g,m,n]    y[i] = self[:, terms of i] @ mat2[terms of i]
//   self [g,m,k]   mat2 [g,k,n]   y [g,m,n]    without offs: bmm
//
//   offs [g]   ends of the groups: group i is what lies in [offs[i-1], offs[i])
//
//   (C1) self and mat2 have rank 2 or 3     (C2) they have one floating dtype
//   (C3) the inner sizes are equal          (C4) offs is given iff one of them has rank 2, and is
//   (C5) both batch sizes are equal              i32 or i64 [g]
//   (C6) no bias; out_dtype is none or the dtype of self
//   (C7) operands are on one device
//
// A group is cut off at the end of the dim, and empty if it would end before it begins. Rows and
// columns of no group are 0; ATen leaves them as they were in memory. ATen takes f32, bf16 and f16,
// offs in i32, and strides of whole 16 bytes alone. On GPUs, where the host doesn't know the
// groups, all rows meet all groups.
// Source: aten/src/ATen/native/GroupedMMUtils.h, PyTorch 2.13.
#include "op/grouped_product.h"

#include "op/broadcast.h"
#include "op/cost.h"
#include "op/dims.h"
#include "op/index_rules.h"
#include "op/reference_sum.h"
#include "op/sample_sets.h"

namespace cleave {
namespace {

enum Operand { at_self, at_mat2, at_offs, at_bias };

bool is_batched(const OpView& op, int k) { return op.in_type(k).rank() == 3; }
GroupedDim grouped_dim(const OpView& op) {
  if (is_batched(op, at_mat2)) return GroupedDim::rows;
  return is_batched(op, at_self) ? GroupedDim::columns : GroupedDim::inner;
}

Status check_groups(const OpView& op) {
  const Type &a = op.in_type(at_self), &b = op.in_type(at_mat2);
  if (a.rank() == 3 && b.rank() == 3) {
    if (op.has(at_offs)) return op.broken("C4", "offs is given for two operands of rank 3");
    return check_equal(op, "C5", "batch sizes", a.shape[0], b.shape[0]);
  }
  if (!op.has(at_offs))
    return op.broken("C4", "offs is none for self: {} and mat2: {}", a.text(), b.text());
  const Type& offs = op.in_type(at_offs);
  const Dim groups = a.rank() == 3 ? a.shape[0] : b.rank() == 3 ? b.shape[0] : offs.shape[0];
  return check_group_ends(op, "C4", at_offs, groups);
}

Result<Types> infer(const OpView& op) {
  const Type &a = op.in_type(at_self), &b = op.in_type(at_mat2);
  for (const int k : {at_self, at_mat2})
    if (op.in_type(k).rank() != 2 && op.in_type(k).rank() != 3)
      return op.broken("C1", "{} is {}, expected rank 2 or 3", operand_name(op, k),
                       op.in_type(k).text());
  CLEAVE_CHECK(check_floating(op, "C2", at_self));
  CLEAVE_CHECK(check_same_dtype(op, "C2", at_mat2, at_self));
  CLEAVE_CHECK(check_equal(op, "C3", "inner sizes", a.shape.back(), b.shape[b.shape.size() - 2]));
  if (op.has(at_offs) && op.in_type(at_offs).rank() != 1)
    return op.broken("C4", "offs is {}, expected one dim", op.in_type(at_offs).text());
  CLEAVE_CHECK(check_groups(op));
  if (op.has(at_bias)) return op.broken("C6", "bias is given, expected none");
  if (const auto t = op.dtype_attr("out_dtype"); t && *t != a.dtype)
    return op.broken("C6", "out_dtype is {}, expected {}", name_of(*t), name_of(a.dtype));
  Device device;
  if (op.has(at_offs)) {
    CLEAVE_TRY(device, common_device(op, "C7", {at_self, at_mat2, at_offs}));
  } else {
    CLEAVE_TRY(device, common_device(op, "C7", {at_self, at_mat2}));
  }
  Shape shape = {a.shape[a.shape.size() - 2], b.shape.back()};
  if (a.rank() == b.rank())
    shape.insert(shape.begin(), a.rank() == 3 ? a.shape[0] : op.in_type(at_offs).shape[0]);
  Type y(a.dtype, std::move(shape));
  y.device = device;
  return Types{std::move(y)};
}

Result<Arrays> reference(const OpView& op, std::span<const Array* const> in) {
  const Array &a = *in[at_self], &b = *in[at_mat2];
  Array y(a.dtype, static_shape(op.out_type(0)));
  const size_t row = a.shape.size() - 2;
  const int64_t m = a.shape[row], k = a.shape[row + 1], n = b.shape.back();
  const auto group = [&](int64_t x) { return group_of(*in[at_offs], x); };
  const auto product = [&](int64_t at, int64_t i, int64_t j, int64_t a_group, int64_t b_group) {
    ReferenceSum sum;
    for (int64_t p = 0; p < k; ++p) {
      if (grouped_dim(op) == GroupedDim::inner && group(p) != at / (m * n)) continue;
      sum += a.f[(a_group * m + i) * k + p] * b.f[(b_group * k + p) * n + j];
    }
    y.set(at, sum);
  };
  for (int64_t at = 0; at < y.numel(); ++at) {
    const int64_t j = at % n, i = at / n % m, batch = at / (m * n);
    if (!op.has(at_offs)) {
      product(at, i, j, batch, batch);
    } else if (grouped_dim(op) == GroupedDim::inner) {
      product(at, i, j, 0, 0);
    } else {
      const bool is_rows = grouped_dim(op) == GroupedDim::rows;
      const int64_t g = group(is_rows ? i : j);
      if (g >= 0) product(at, i, j, is_rows ? 0 : g, is_rows ? g : 0);
    }
  }
  return Arrays{std::move(y)};
}

// Every group's product with all rows and columns, of which those of the group are added; of terms,
// those of the group alone.
Values decompose(Builder& b, const OpView& op) {
  if (!op.has(at_offs)) return {b.bmm(op.in(at_self), op.in(at_mat2))};
  const Dim groups = op.in_type(at_offs).shape[0];
  const auto for_each_group = [&](ValueId x) {
    if (b.type(x).rank() == 3) return x;
    const Shape& s = b.type(x).shape;
    return b.expand(x, Shape{groups, s[0], s[1]});
  };
  const Shape &a = op.in_type(at_self).shape, &m2 = op.in_type(at_mat2).shape;
  const GroupedDim along = grouped_dim(op);
  const Dim size = along == GroupedDim::rows ? a[0] : along == GroupedDim::columns ? m2[1] : a[1];
  const ValueId members = group_members(b, op.in(at_offs), size);
  const ValueId across = b.unsqueeze(members, 1), down = b.unsqueeze(members, 2);
  const auto of_group = [&](ValueId mask, ValueId x) { return b.where(mask, x, 0.0); };
  ValueId x = for_each_group(op.in(at_self)), y = for_each_group(op.in(at_mat2));
  if (along == GroupedDim::inner) return {b.bmm(of_group(across, x), of_group(down, y))};
  return {b.sum(of_group(along == GroupedDim::rows ? down : across, b.bmm(x, y)), {0})};
}

Values grad(Builder& b, const GradView& op) {
  Values d = op.no_grads();
  const ValueId g = op.dout(0);
  if (g.is_none()) return d;
  const auto product = [&](ValueId x, ValueId y) {
    return op.has(at_offs) ? grouped_product(b, x, y, op.in(at_offs)) : b.bmm(x, y);
  };
  if (op.needs(at_self)) d[at_self] = product(g, exchanged(b, op.in(at_mat2)));
  if (op.needs(at_mat2)) d[at_mat2] = product(exchanged(b, op.in(at_self)), g);
  return d;
}

// Along rows or columns.
bool is_dense_matrix(const Layout& l) {
  const size_t rank = l.shape.size();
  const auto unit = [&](size_t d) { return l.shape[d] <= 1 || l.strides[d] == 1; };
  return unit(rank - 1) || unit(rank - 2);
}

std::optional<loop::LibraryForm> form(const OpView& op) {
  if (!op.has(at_offs)) return std::nullopt;
  using At = GroupedProductOperand;
  GroupedProductSpec known{.along = grouped_dim(op), .dtype = op.out_type(0).dtype};
  loop::LibraryForm form;
  form.operands = {{.position = At::a, .index = at_self, .takes = is_dense_matrix},
                   {.position = At::b, .index = at_mat2, .takes = is_dense_matrix},
                   {.position = At::ends, .index = at_offs},
                   {.position = At::c, .access = loop::LibraryAccess::write, .index = 0}};
  form.spec = [known](const loop::LibraryLayouts& at) {
    GroupedProductSpec s = known;
    const loop::Layout &a = at[At::a]->layout, &b = at[At::b]->layout, &e = at[At::ends]->layout;
    const auto group_stride = [](const loop::Layout& l) {
      return l.shape.size() == 3 ? loop::stride_from_last(l, 3) : 0;
    };
    s.ends_dtype = at[At::ends]->dtype;
    s.groups = e.shape[0], s.ends_stride = loop::stride_from_last(e, 1);
    s.m = a.shape[a.shape.size() - 2], s.k = a.shape.back(), s.n = b.shape.back();
    s.a_group = group_stride(a), s.b_group = group_stride(b);
    s.a_row = loop::stride_from_last(a, 2), s.a_col = loop::stride_from_last(a, 1);
    s.b_row = loop::stride_from_last(b, 2), s.b_col = loop::stride_from_last(b, 1);
    return s;
  };
  return form;
}

Cost cost(const OpView& op) {
  const Shape &a = op.in_type(at_self).shape, &b = op.in_type(at_mat2).shape;
  const auto hint = [&](const Dim& d) { return op.env().hint_of(d); };
  const int64_t batch = op.has(at_offs) ? 1 : hint(a[0]);
  return {2 * batch * hint(a[a.size() - 2]) * hint(a.back()) * hint(b.back()), bytes_moved(op)};
}

Samples samples() {
  const SampleTensor ends = group_ends({2, 2, 8});
  Samples out;
  for (const DType t : floating_dtypes) {
    out.push_back({{sample(t, {6, 8}), sample(t, {3, 8, 8}), group_ends({2, 2, 6})}});
    out.push_back({{sample(t, {3, 2, 8}), sample(t, {8, 8}), ends}});
    out.push_back({{sample(t, {2, 8}), sample(t, {8, 8}), ends}});
    out.push_back({{sample(t, {2, 3, 8}), sample(t, {2, 8, 8})}});
  }
  const SampleTensor odd = group_ends({-1, 3, 1, 9}, DType::i64), none = group_ends({});
  out.insert(out.end(),
             {{{f32({7, 3}), f32({4, 3, 2}), odd}},
              {{f32({4, 2, 3}), f32({3, 7}), odd}},
              {{f32({2, 7}), f32({7, 3}), odd}},
              {{f32({5, 3}), f32({2, 3, 2}), group_ends({0, 0})}},
              {{f32({5, 3}), f32({0, 3, 2}), none}},
              {{f32({2, 5}), f32({5, 3}), none}},
              {{f32({0, 3}), f32({2, 3, 2}), group_ends({0, 0})}},
              {{f32({5, 0}), f32({2, 0, 2}), group_ends({1, 5})}},
              {{f32({2, 5, 3}), f32({3, 0}), group_ends({0, 0})}},
              {{f32({2, 0}), f32({0, 3}), group_ends({0, 0})}},
              {{f32({23, 3}), f32({3, 3, 17}), group_ends({1, 20, 23})}},
              {{f32({3, 7, 3}), f32({3, 37}), group_ends({1, 20, 36})}},
              {{bf16({5, 37}), bf16({37, 9}), group_ends({1, 20, 37}, DType::i64)}},
              {{f32({4, 3}), f32({2, 3, 2}).with({NAN, 1, 2, 3, 4, 5}), group_ends({2, 4})}}});
  return out;
}

Rejects rejects() {
  const std::string name = "_grouped_mm: ";
  const SampleTensor ends = group_ends({2, 5});
  return {
      {"C1", {{f32({3}), f32({2, 3, 4}), ends}}, name + "C1: self is f32[3], expected rank 2 or 3"},
      {"C2",
       {{i64({6, 3}), i64({2, 3, 4}), ends}},
       name + "C2: self is i64[6,3], expected a floating dtype"},
      {"C2",
       {{f32({6, 3}), f64({2, 3, 4}), ends}},
       name + "C2: mat2 is f64[2,3,4], expected the dtype of self: f32"},
      {"C3",
       {{f32({6, 3}), f32({2, 4, 4}), ends}},
       name + "C3: inner sizes: 3 and 4, expected equal"},
      {"C4",
       {{f32({6, 3}), f32({2, 3, 4})}},
       name + "C4: offs is none for self: f32[6,3] and mat2: f32[2,3,4]"},
      {"C4",
       {{f32({2, 6, 3}), f32({2, 3, 4}), ends}},
       name + "C4: offs is given for two operands of rank 3"},
      {"C4",
       {{f32({6, 3}), f32({2, 3, 4}), i32({2, 1})}},
       name + "C4: offs is i32[2,1], expected one dim"},
      {"C4",
       {{f32({6, 3}), f32({2, 3, 4}), f32({2})}},
       name + "C4: offs is f32[2], expected i64 or i32"},
      {"C4",
       {{f32({6, 3}), f32({3, 3, 4}), ends}},
       name + "C4: ends and groups: 2 and 3, expected equal"},
      {"C5", {{f32({1, 6, 3}), f32({2, 3, 4})}}, name + "C5: batch sizes: 1 and 2, expected equal"},
      {"C6",
       {{f32({6, 3}), f32({2, 3, 4}), ends, f32({4})}},
       name + "C6: bias is given, expected none"},
      {"C6",
       {{bf16({6, 3}), bf16({2, 3, 4}), ends}, {{"out_dtype", DType::f32}}},
       name + "C6: out_dtype is f32, expected bf16"},
      {"C7",
       {{f32({6, 3}), on_cuda(f32({2, 3, 4})), ends}},
       name + "C7: self is f32[6,3] and mat2 is f32[2,3,4]@cuda:0, expected one device"}};
}

}  // namespace

ValueId group_members(Builder& b, ValueId ends, const Dim& size) {
  const ValueId place = b.call1("arange", {}, {{"end", size}, {"dtype", DType::i64}});
  const ValueId behind = b.gt(b.unsqueeze(b.convert(ends, DType::i64), 1), b.unsqueeze(place, 0));
  const ValueId count = b.call1("cumsum", {b.convert(behind, DType::i64)}, {{"dim", 0}});
  return b.logical_and(behind, b.eq(count, AttrValue(int64_t{1})));
}

int64_t group_of(const Array& ends, int64_t x) {
  for (int64_t g = 0; g < ends.numel(); ++g)
    if (ends.i[g] > x) return g;
  return -1;
}

Status check_group_ends(const OpView& op, std::string_view rule, int ends, const Dim& groups) {
  const Type& t = op.in_type(ends);
  if (t.rank() != 1)
    return op.broken(rule, "{} is {}, expected one dim", operand_name(op, ends), t.text());
  CLEAVE_CHECK(check_index_dtype(op, rule, operand_name(op, ends), t));
  return check_equal(op, rule, "ends and groups", t.shape[0], groups);
}

ValueId grouped_product(Builder& b, ValueId x, ValueId y, ValueId ends) {
  return b.call1("_grouped_mm", {x, y, ends});
}

ValueId exchanged(Builder& b, ValueId x) {
  return b.permute(
      x, b.type(x).rank() == 3 ? std::vector<int64_t>{0, 2, 1} : std::vector<int64_t>{1, 0});
}

SampleTensor group_ends(std::vector<double> ends, DType t) {
  const auto groups = static_cast<int64_t>(ends.size());
  return sample(t, {groups}).with(std::move(ends));
}

CLEAVE_OPS(grouped_product) {
  return {OpDef{
      .name = "_grouped_mm",
      .signature = "(Tensor self, Tensor mat2, Tensor? offs=None, Tensor? bias=None, ScalarType? "
                   "out_dtype=None) -> Tensor",
      .summary = "Matrix products of groups of rows, columns or terms, whose ends are data.",
      .source = "aten::_grouped_mm, PyTorch 2.13",
      .traits = Trait::compute_intensive | Trait::recomputable,
      .infer = infer,
      .reference = reference,
      .decompose = decompose,
      .grad = grad,
      .lower = loop::library_of_host(form),
      .cost = cost,
      .samples = samples,
      .rejects = rejects,
  }};
}

}  // namespace cleave
