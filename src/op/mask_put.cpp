#include "op/mask_put.h"

#include "op/broadcast.h"
#include "op/dims.h"
#include "op/kernel_loops.h"
#include "op/sample_sets.h"

namespace cleave {
namespace {

using loop::Expr;
using loop::Exprs;

// The mask's position in the list, which is also its first dim in self.
int mask_item(const OpView& op) {
  int at = 0;
  while (!op.list_has(at)) ++at;
  return at;
}

// The dims of self with those under the mask as 1, and the same with them merged into one dim.
struct MaskedShape {
  Shape spread, merged;
  int64_t first = 0, covered = 0;
};

MaskedShape masked_shape(const OpView& op) {
  MaskedShape m;
  m.first = mask_item(op);
  m.covered = op.list_type(mask_item(op)).rank();
  const Shape& self = op.in_type(0).shape;
  for (int64_t d = 0; d < std::ssize(self); ++d) {
    const bool under = d >= m.first && d < m.first + m.covered;
    m.spread.push_back(under ? Dim(1) : self[d]);
    if (!under) m.merged.push_back(self[d]);
  }
  m.merged.insert(m.merged.begin() + m.first, Dim(1));
  return m;
}

// The mask viewed with all dims of self: [1.., *mask, 1..].
Shape mask_view(const OpView& op) {
  const MaskedShape m = masked_shape(op);
  Shape shape(op.in_type(0).shape.size(), Dim(1));
  const Shape& mask = op.list_type(mask_item(op)).shape;
  for (int64_t d = 0; d < m.covered; ++d) shape[m.first + d] = mask[d];
  return shape;
}

}  // namespace

bool is_mask_put(const OpView& op) {
  int given = 0;
  bool mask = false;
  for (int k = 0; k < op.list_size(); ++k) {
    if (!op.list_has(k)) continue;
    ++given;
    mask = op.list_type(k).dtype == DType::boolean;
  }
  return given == 1 && mask;
}

Result<Types> infer_mask_put(const OpView& op) {
  const Type &self = op.in_type(0), &values = op.in_type(2);
  const int at = mask_item(op);
  const Type& mask = op.list_type(at);
  if (at + mask.rank() > self.rank())
    return op.broken("C7", "indices[{}] is {} for self: {}, expected at most {} dims", at,
                     mask.text(), self.text(), self.rank() - at);
  CLEAVE_CHECK(check_same_shape(
      op, "C7", fmt::format("indices[{}] and the dims of self that it covers", at), mask.shape,
      Shape(self.shape.begin() + at, self.shape.begin() + at + mask.rank())));
  if (mask.device != self.device && !mask.device.is_cpu())
    return op.broken("C4", "self is {} and indices[{}] is {}, expected one device", self.text(), at,
                     mask.text());
  CLEAVE_CHECK(common_device(op, "C4", {0, 2}));
  CLEAVE_CHECK(check_same_dtype(op, "C5", 2, 0));
  const MaskedShape m = masked_shape(op);
  const int64_t after = std::ssize(m.merged) - m.first - 1;  // dims of values after n
  const int64_t n = values.rank() - 1 - after;
  if (n >= 0 && !op.env().provably_equal(values.shape[n], Dim(1)))
    return unsupported(
        "{}: values is {}: its dim {} has an entry for each true place of the mask, a number that "
        "only the mask tells, expected 1 (src/op/mask_put.cpp)",
        op.name(), values.text(), n);
  CLEAVE_CHECK(check_expandable(op, "C6", values.shape, m.merged));
  return Types{typed_like(self, self.dtype, self.shape)};
}

Result<Arrays> reference_mask_put(const OpView& op, std::span<const Array* const> in) {
  size_t at = 1;
  while (!in[at]) ++at;
  const Array &self = *in[0], &mask = *in[at], &values = *in[op.list_size() + 1];
  const size_t first = at - 1, covered = mask.shape.size();
  const bool add = op.bool_attr("accumulate");
  Array y = self;
  std::vector<int64_t> index(self.shape.size(), 0);
  for (int64_t k = 0; k < y.numel(); ++k, next_index(index, self.shape)) {
    const auto begin = index.begin() + static_cast<std::ptrdiff_t>(first);
    const auto end = begin + static_cast<std::ptrdiff_t>(covered);
    if (mask.i[broadcast_position(std::vector<int64_t>(begin, end), mask.shape)] == 0) continue;
    std::vector<int64_t> of_values = index;
    const auto gap = of_values.begin() + static_cast<std::ptrdiff_t>(first);
    of_values.erase(gap, gap + static_cast<std::ptrdiff_t>(covered));
    of_values.insert(of_values.begin() + static_cast<std::ptrdiff_t>(first), 0);
    const int64_t from = broadcast_position(of_values, values.shape);
    if (y.floating())
      y.f[k] = values.f[from] + (add ? y.f[k] : 0);
    else
      y.set_int(k, values.i[from] + (add ? y.i[k] : 0));
  }
  return Arrays{std::move(y)};
}

Values grad_mask_put(Builder& b, const GradView& op) {
  Values d = op.no_grads();
  const ValueId g = op.dout(0);
  if (g.is_none()) return d;
  const MaskedShape m = masked_shape(op);
  const ValueId mask = b.view(op.list_in(mask_item(op)), mask_view(op));
  if (op.needs(0)) d[0] = op.bool_attr("accumulate") ? g : b.where(mask, 0.0, g);
  if (!op.needs(2)) return d;
  const ValueId picked = b.sum_to(b.where(mask, g, 0.0), m.spread);
  d[op.flat(2)] = b.sum_to(b.view(picked, m.merged), op.in_type(2).shape);
  return d;
}

void lower_mask_put(loop::KernelBuilder& k, const OpView& op) {
  const int at = mask_item(op), flat = op.flat(1) + at;
  const auto covered = static_cast<std::ptrdiff_t>(k.operand(flat).layout.shape.size());
  for_each_element(k, k.result(0).layout.shape, [&](const Exprs& i) {
    const Exprs under(i.begin() + at, i.begin() + at + covered);
    Exprs of_values = i;
    of_values.erase(of_values.begin() + at, of_values.begin() + at + covered);
    of_values.insert(of_values.begin() + at, Expr(0));
    const Expr old = k.load(0, i);
    Expr value = k.load_broadcast(op.flat(2), of_values);
    if (op.bool_attr("accumulate"))
      value =
          binary(old.type() == DType::boolean ? loop::Op::logical_or : loop::Op::add, old, value);
    k.store(0, i, select(k.load(flat, under), value, old));
  });
}

std::vector<Sample> mask_put_samples() {
  using List = std::vector<SampleTensor>;
  const SampleAttrs add = {{"accumulate", true}};
  const SampleTensor absent = SampleTensor(Type::none()).range(0, 1);
  return {{{f32({4, 3}), List{boolean({4, 3})}, f32({})}},
          {{f32({4, 3}), List{boolean({4})}, f32({3})}},
          {{f32({4, 3}), List{boolean({4})}, f32({1, 1})}, add},
          {{f32({2, 4, 3, 2}), List{absent, boolean({4, 3})}, f32({2, 1, 2})}},
          {{f32({2, 4, 3, 2}), List{absent, boolean({4, 3}), absent}, f32({2, 1, 1})}, add},
          {{f32({3, 2}), List{absent, boolean({2})}, f32({3, 1})}},
          {{bf16({2, 3}), List{boolean({2, 3})}, bf16({1})}, add},
          {{i64({2, 3}), List{boolean({2, 3})}, i64({})}, add},
          {{boolean({2, 3}), List{boolean({2, 3})}, boolean({})}, add},
          {{f32({0, 3}), List{boolean({0})}, f32({3})}},
          {{f32({2}), List{boolean({})}, f32({2})}}};
}

std::vector<Reject> mask_put_rejects() {
  using List = std::vector<SampleTensor>;
  return {{"C6",
           {{f32({4, 3}), List{boolean({4})}, f32({2, 3})}},
           "index_put: values is f32[2,3]: its dim 0 has an entry for each true place of the "
           "mask, a number that only the mask tells, expected 1 (src/op/mask_put.cpp)"},
          {"C7",
           {{f32({4, 3}), List{boolean({3})}, f32({})}},
           "index_put: C7: indices[0] and the dims of self that it covers: [3] and [4], expected "
           "equal shapes"},
          {"C7",
           {{f32({4}), List{boolean({4, 1})}, f32({})}},
           "index_put: C7: indices[0] is bool[4,1] for self: f32[4], expected at most 1 dims"}};
}

}  // namespace cleave
