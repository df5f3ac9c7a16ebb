// Sums, means and largest elements of rows of a table.
//
// _embedding_bag(weight, indices, offsets, per_sample_weights; mode, scale_grad_by_freq, sparse,
//                include_last_offset, padding_idx) -> y, offset2bag, bag_size, max_indices
//
//   weight   [r,d]          indices  [n]    each in [0, r)
//   offsets  [b]            bag k goes from offsets[k] to the next one, or to the end
//   per_sample_weights [n]  factors of the rows; only of sums
//   y        [b,d]          0 sums, 1 means, 2 largest elements of the rows of each bag; of none: 0
//   offset2bag [n]          the bag of each index; [0] for sums of f32 or f16 without padding_idx
//   bag_size [b]            the rows of each bag
//   max_indices [b,d]       of largest elements: the row that each is of. Else [b]
//
//   (C1) weight is floating, of two dims  (C2) indices and offsets are i64 or i32, of one dim
//   (C3) operands are on one device  (C4) mode is 0, 1 or 2
//   (C5) per_sample_weights has weight's dtype and the shape of indices, and mode is 0
//   (C6) with include_last_offset, offsets has an element more than there are bags
//   (C7) scale_grad_by_freq is False: ATen's kernel for the CPU divides by counts of other rows
//
// Rows of padding_idx, if it is not negative, are in no bag. Bags begin at 0 and don't overlap:
// offsets increase. Of equal elements the first is the largest, and gets the gradient; NaN is
// larger than all. sparse asks for another layout of the same gradient.
#include <cmath>

#include "op/bags.h"
#include "op/broadcast.h"
#include "op/cost.h"
#include "op/dims.h"
#include "op/entry.h"
#include "op/grad_of_parts.h"
#include "op/index_rules.h"
#include "op/reference_sum.h"
#include "op/sample_sets.h"
#include "op/wide_grad.h"

namespace cleave {
namespace {

enum Operand { at_weight, at_indices, at_offsets, at_factors };

Dim bags_of(const OpView& op) {
  const Dim given = op.in_type(at_offsets).shape[0];
  return op.bool_attr("include_last_offset") ? given - 1 : given;
}

bool has_no_map(const OpView& op) {
  const DType t = op.in_type(at_weight).dtype;
  return op.int_attr("mode") == sum_bag && op.int_attr("padding_idx") < 0 &&
         (t == DType::f32 || t == DType::f16);
}

Result<Types> infer(const OpView& op) {
  const Type &weight = op.in_type(at_weight), &indices = op.in_type(at_indices),
             &offsets = op.in_type(at_offsets);
  const int64_t mode = op.int_attr("mode");
  CLEAVE_CHECK(check_floating(op, "C1", at_weight));
  if (weight.rank() != 2) return op.broken("C1", "weight is {}, expected two dims", weight.text());
  CLEAVE_CHECK(check_index_dtype(op, "C2", "indices", indices));
  CLEAVE_CHECK(check_index_dtype(op, "C2", "offsets", offsets));
  if (indices.rank() != 1 || offsets.rank() != 1)
    return op.broken("C2", "indices is {} and offsets is {}, expected one dim", indices.text(),
                     offsets.text());
  CLEAVE_CHECK(common_device(op, "C3", {at_weight, at_indices, at_offsets, at_factors}));
  if (mode < sum_bag || mode > max_bag)
    return op.broken("C4", "mode is {}, expected 0 sum, 1 mean or 2 max", mode);
  if (op.has(at_factors)) {
    CLEAVE_CHECK(check_same_dtype(op, "C5", at_factors, at_weight));
    CLEAVE_CHECK(check_same_shape(op, "C5", "per_sample_weights and indices",
                                  op.in_type(at_factors).shape, indices.shape));
    if (mode != sum_bag)
      return op.broken("C5", "per_sample_weights is given for mode {}, expected 0 sum", mode);
  }
  const Dim bags = bags_of(op);
  if (op.env().range_of(bags).lo < 0)
    return op.broken("C6", "offsets is {}, expected one more than there are bags", offsets.text());
  if (op.bool_attr("scale_grad_by_freq"))
    return op.broken("C7", "scale_grad_by_freq is True, expected False");
  const auto whole = [&](Shape shape) { return typed_like(offsets, offsets.dtype, shape); };
  return Types{typed_like(weight, weight.dtype, {bags, weight.shape[1]}),
               whole({has_no_map(op) ? Dim(0) : indices.shape[0]}), whole({bags}),
               whole(mode == max_bag ? Shape{bags, weight.shape[1]} : Shape{bags})};
}

Result<Arrays> reference(const OpView& op, std::span<const Array* const> in) {
  const Array &weight = *in[at_weight], &indices = *in[at_indices], &offsets = *in[at_offsets];
  const Array* factors = op.has(at_factors) ? in[at_factors] : nullptr;
  const int64_t mode = op.int_attr("mode"), skipped = op.int_attr("padding_idx");
  const auto made = [&](int k) {
    return Array(op.out_type(k).dtype, static_shape(op.out_type(k)));
  };
  Array y = made(0), map = made(1), sizes = made(2), most = made(3);
  const int64_t bags = y.shape[0], d = y.shape[1];
  const std::vector<int64_t> starts(offsets.i.begin(), offsets.i.begin() + bags);
  const std::vector<int64_t> bag = bag_of_each(starts, indices.numel());
  ReferenceSums sums(y.f.size());
  for (int64_t k = 0; k < indices.numel(); ++k) {
    CLEAVE_TRY(const int64_t row, index_in_range(op, "indices", indices.i[k], weight.shape[0],
                                                 NegativeIndex::refused));
    CLEAVE_TRY(const int64_t at,
               index_in_range(op, "offsets", bag[k], bags, NegativeIndex::refused));
    if (map.numel() > 0) map.i[k] = at;
    if (row == skipped) continue;
    ++sizes.i[at];
    for (int64_t j = 0; j < d; ++j) {
      const double v = weight.f[row * d + j];
      if (mode != max_bag) {
        sums[at * d + j] += v * (factors != nullptr ? factors->f[k] : 1.0);
        continue;
      }
      double& now = y.f[at * d + j];
      if (sizes.i[at] > 1 && !(v > now) && !(std::isnan(v) && !std::isnan(now))) continue;
      now = v;
      most.i[at * d + j] = row;
    }
  }
  if (mode != max_bag) most.i = sizes.i;
  for (int64_t k = 0; k < y.numel() && mode != max_bag; ++k) {
    const auto size = static_cast<double>(std::max<int64_t>(1, sizes.i[k / d]));
    y.f[k] = mode == mean_bag ? sums[k] / size : static_cast<double>(sums[k]);
  }
  return Arrays{std::move(y), std::move(map), std::move(sizes), std::move(most)};
}

// ---- the parts

class Bags {
 public:
  Bags(Builder& b, const OpView& op)
      : b_(b), op_(op), mode_(op.int_attr("mode")), n_(op.in_type(at_indices).shape[0]),
        bags_(bags_of(op)), wide_(wide(op.in_type(at_weight).dtype)) {}

  Values run() {
    const Type& offsets = op_.in_type(at_offsets);
    const ValueId starts = b_.slice(op_.in(at_offsets), 0, 0, bags_);
    map_ = bag_of_each(b_, starts, n_);
    const int64_t skipped = op_.int_attr("padding_idx");
    ValueId ones = b_.full({n_}, 1, DType::i64);
    if (skipped >= 0) {
      kept_ = b_.ne(op_.in(at_indices), AttrValue(skipped));
      ones = b_.convert(kept_, DType::i64);
    }
    const ValueId sizes = added(b_.full({bags_}, 0, DType::i64), ones);
    rows_ = rows();
    ValueId y, most;
    if (mode_ == max_bag) {
      std::tie(y, most) = largest();
      most = b_.convert(most, offsets.dtype);
    } else {
      y = sums(sizes);
    }
    const ValueId size = b_.convert(sizes, offsets.dtype);
    const ValueId map = op_.out_type(1).shape[0] == Dim(0) ? b_.slice(size, 0, 0, Dim(0))
                                                           : b_.convert(map_, offsets.dtype);
    return {b_.convert(y, op_.in_type(at_weight).dtype), map, size, mode_ == max_bag ? most : size};
  }

 private:
  Dim width() const { return op_.in_type(at_weight).shape[1]; }
  ValueId column(ValueId v) { return b_.unsqueeze(v, 1); }
  ValueId added(ValueId into, ValueId rows) {
    return b_.call1("index_add", {into, map_, rows}, {{"dim", 0}});
  }

  // The row of each index: [n,d].
  ValueId rows() {
    const ValueId x = b_.call1("embedding", {op_.in(at_weight), op_.in(at_indices)},
                               {{"padding_idx", op_.int_attr("padding_idx")}});
    return b_.convert(x, wide_);
  }

  ValueId sums(ValueId sizes) {
    ValueId x = rows_;
    if (op_.has(at_factors)) x = b_.mul(x, column(b_.convert(op_.in(at_factors), wide_)));
    if (kept_.valid()) x = b_.where(column(kept_), x, 0.0);
    const ValueId y = added(b_.full({bags_, width()}, 0, wide_), x);
    if (mode_ == sum_bag) return y;
    const ValueId size = b_.call1("clamp", {sizes, 1});
    return b_.div(y, column(b_.convert(size, wide_)));
  }

  // The first of the largest elements of each column, and the index that it is read by. Behind the
  // last row stand one of zeros and index 0, for bags without rows.
  std::pair<ValueId, ValueId> largest() {
    const Shape all = {n_, width()}, each = {bags_, width()};
    const ValueId x = b_.call1("detach", {rows_}), at = b_.expand(column(map_), all);
    const auto fold = [&](double start, ValueId v, const std::string& how) {
      const ValueId into = b_.full(each, start, b_.type(v).dtype);
      return b_.call1("scatter_reduce", {into, at, v}, {{"dim", 0}, {"reduce", how}});
    };
    const ValueId lowest = kept_.valid() ? b_.where(column(kept_), x, -INFINITY) : x;
    const ValueId most = b_.call1("gather", {fold(-INFINITY, lowest, "amax"), at}, {{"dim", 0}});
    ValueId found = b_.logical_or(b_.eq(x, most), b_.ne(x, x));
    if (kept_.valid()) found = b_.logical_and(found, column(kept_));
    const ValueId count = b_.full(each, AttrValue(n_), DType::i64);
    const ValueId place = b_.call1("arange", {}, {{"end", n_}});
    const ValueId places = b_.where(found, column(place), AttrValue(n_));
    const ValueId first =
        b_.call1("scatter_reduce", {count, at, places}, {{"dim", 0}, {"reduce", "amin"}});
    const ValueId with_zeros = b_.cat({rows_, b_.full({Dim(1), width()}, 0, wide_)}, 0);
    const DType t = op_.in_type(at_indices).dtype;
    const ValueId indices = b_.cat({op_.in(at_indices), b_.full({Dim(1)}, 0, t)}, 0);
    return {b_.call1("gather", {with_zeros, first}, {{"dim", 0}}),
            b_.call1("index", {indices, Values{first}})};
  }

  Builder& b_;
  const OpView& op_;
  const int64_t mode_;
  const Dim n_, bags_;
  const DType wide_;
  ValueId map_, kept_, rows_;
};

Values decompose(Builder& b, const OpView& op) { return Bags(b, op).run(); }

Samples samples() {
  const auto how = [](BagMode mode, int padding = -1, bool last = false) {
    return SampleAttrs{{"mode", mode}, {"padding_idx", padding}, {"include_last_offset", last}};
  };
  const auto indices = i64({7}).with({4, 0, 2, 2, 1, 3, 0}), starts = i64({3}).with({0, 2, 5});
  Samples out;
  for (DType t : floating_dtypes)
    for (BagMode mode : {sum_bag, mean_bag, max_bag})
      out.push_back({{any_of(t, {5, 3}), indices, starts}, how(mode)});
  const auto factors = f32({7});
  for (BagMode mode : {sum_bag, mean_bag, max_bag}) {
    // A bag of padding alone, one without rows, one behind the end.
    const auto odd = i64({5}).with({0, 2, 4, 4, 7}), ends = i64({4}).with({0, 3, 3, 7});
    out.push_back({{f32({5, 3}), indices, odd}, how(mode, 2)});
    out.push_back({{f64({5, 2}), indices, ends}, how(mode, -1, true)});
    out.push_back({{f32({5, 3}), i32({7}).range(0, 5), i32({2}).with({0, 4})}, how(mode)});
    // equal rows, none of which has a slope
    out.push_back({{f32({4, 1}).with({INFINITY, 2, 2, 1}), i64({5}).with({3, 2, 1, 0, 0}),
                    i64({2}).with({0, 3})},
                   how(mode)});
    out.push_back({{f32({2, 3}), i64({0}), i64({2}).with({0})}, how(mode)});
    out.push_back({{f32({2, 0}), i64({2}).range(0, 2), i64({1}).with({0})}, how(mode)});
    out.push_back({{f32({2, 3}), i64({0}), i64({0})}, how(mode)});
    const double none = NAN;
    out.push_back({{f32({3, 2}).with({1, none, -INFINITY, 2, INFINITY, 3}),
                    i64({4}).with({0, 1, 1, 0}), i64({3}).with({0, 2, 3})},
                   how(mode)});
  }
  out.insert(out.end(),
             {{{f32({5, 3}), indices, starts, factors}},
              {{f16({5, 3}), indices, starts, f16({7})}, how(sum_bag, 2)},
              {{f64({5, 3}), indices, starts, f64({7})}, how(sum_bag, 0)},
              {{f32({5, 3}), indices, i64({4}).with({0, 2, 5, 7}), factors}, how(sum_bag, 1, true)},
              {{f32({5, 3}), i32({7}).range(0, 5), starts}, {{"sparse", true}}}});
  return out;
}

Rejects rejects() {
  const auto w = f32({5, 3}), factors = f32({4});
  const auto i = i64({4}).range(0, 5), o = i64({2}).with({0, 2});
  const std::string op = "_embedding_bag: ";
  return {{"C1", {{i64({5, 3}), i, o}}, op + "C1: weight is i64[5,3], expected a floating dtype"},
          {"C1", {{f32({5}), i, o}}, op + "C1: weight is f32[5], expected two dims"},
          {"C2", {{w, f32({4}), o}}, op + "C2: indices is f32[4], expected i64 or i32"},
          {"C2", {{w, i, boolean({2})}}, op + "C2: offsets is bool[2], expected i64 or i32"},
          {"C2",
           {{w, i64({2, 2}), o}},
           op + "C2: indices is i64[2,2] and offsets is i64[2], expected one dim"},
          {"C3",
           {{w, on_cuda(i), o}},
           op + "C3: weight is f32[5,3] and indices is i64[4]@cuda:0, expected one device"},
          {"C4", {{w, i, o}, {{"mode", 3}}}, op + "C4: mode is 3, expected 0 sum, 1 mean or 2 max"},
          {"C5",
           {{w, i, o, f64({4})}},
           op + "C5: per_sample_weights is f64[4], expected the dtype of weight: f32"},
          {"C5",
           {{w, i, o, f32({3})}},
           op + "C5: per_sample_weights and indices: [3] and [4], expected equal shapes"},
          {"C5",
           {{w, i, o, factors}, {{"mode", 1}}},
           op + "C5: per_sample_weights is given for mode 1, expected 0 sum"},
          {"C6",
           {{w, i, i64({0})}, {{"include_last_offset", true}}},
           op + "C6: offsets is i64[0], expected one more than there are bags"},
          {"C7",
           {{w, i, o}, {{"scale_grad_by_freq", true}}},
           op + "C7: scale_grad_by_freq is True, expected False"}};
}

Cost cost(const OpView& op) {
  const int64_t read = op.env().hint_of(op.in_type(at_indices).shape[0]);
  return {4 * read * std::max<int64_t>(1, op.env().hint_of(op.in_type(at_weight).shape[1])),
          bytes_moved(op)};
}

}  // namespace

CLEAVE_OPS(embedding_bag) {
  return {OpDef{
      .name = "_embedding_bag",
      .signature = "(Tensor weight, Tensor indices, Tensor offsets, bool scale_grad_by_freq=False, "
                   "int mode=0, bool sparse=False, Tensor? per_sample_weights=None, "
                   "bool include_last_offset=False, int padding_idx=-1) -> "
                   "(Tensor, Tensor, Tensor, Tensor)",
      .summary = "Sums, means and largest elements of rows of a table.",
      .source = "aten::_embedding_bag, PyTorch 2.13",
      .traits = Trait::recomputable | Trait::data_dependent,
      .infer = infer,
      .reference = reference,
      .decompose = decompose,
      .grad = grad_of_parts(decompose),
      .lower = loop::by_decomposition(),
      .cost = cost,
      .samples = samples,
      .rejects = rejects,
      .nondifferentiable = 0b1110,
  }};
}

}  // namespace cleave
