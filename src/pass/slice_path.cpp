#include "pass/slice_path.h"

#include <algorithm>
#include <string_view>

#include "op/dims.h"

namespace cleave {
namespace {

using Dims = std::vector<int64_t>;
constexpr int64_t whole = -1;

bool is_view(const OpView& op) {
  return op.name() == "view" || op.name() == "_unsafe_view" || op.name() == "reshape";
}

// The dims of a call's operands that are sliced with a dim of its first result.
class PathFinder {
 public:
  PathFinder(const Graph& g, NodeId n, const SliceOf& slice)
      : g_(g), n_(n), op_(g.view(n)), slice_(slice), d_(slice.dim), rank_(op_.out_type(0).rank()) {}

  std::optional<SlicePath> find() const {
    SlicePath path{.node = n_, .dims = {}, .size = std::nullopt, .product = NodeId()};
    if (is_view(op_)) return through_view(path);
    const std::optional<Dims> dims = find_dims();
    if (!dims) return std::nullopt;
    path.dims = *dims;
    if (is("expand")) path.size = sliced_shape();
    const bool is_less = std::ranges::any_of(*dims, [](int64_t d) { return d != whole; });
    return is_less || path.size ? std::optional(path) : std::nullopt;
  }

 private:
  bool is(std::string_view name) const { return op_.name() == name; }
  bool equal(const Dim& a, const Dim& b) const { return g_.env().provably_equal(a, b); }
  const Shape& shape() const { return op_.out_type(0).shape; }
  const Shape& shape_of(int operand) const { return op_.in_type(operand).shape; }

  Shape sliced_shape() const {
    Shape out = shape();
    out[static_cast<size_t>(d_)] = slice_.size;
    return out;
  }

  std::optional<Dims> find_dims() const {
    if (is("scaled_dot_product_attention")) return of_attention();  // random, if it drops
    const Trait traits = op_.def().traits;
    if (has(traits, Trait::random) || has(traits, Trait::effect) ||
        has(traits, Trait::collective) || op_.def().schema.list_operand >= 0)
      return std::nullopt;
    if (has(traits, Trait::pointwise)) return of_broadcast();
    if (is("expand")) return of_broadcast();
    if (is("permute")) return Dims{from_front(op_.ints_attr("dims"), rank_)[at(d_)]};
    if (is("transpose")) return of_transpose();
    if (is("unsqueeze")) return of_unsqueeze();
    if (is("mm") || is("bmm")) return of_product(0);
    if (is("addmm") || is("baddbmm")) return of_product(1);
    if (is("native_layer_norm") || is("_fused_rms_norm")) return of_norm();
    if (is("_softmax") || is("_log_softmax")) return of_softmax();
    if (is("sum") || is("mean") || is("amax") || is("amin") || is("var") || is("logsumexp") ||
        is("linalg_vector_norm"))
      return of_fold();
    if (is("embedding")) return of_lookup();
    return std::nullopt;
  }
  static size_t at(int64_t d) { return static_cast<size_t>(d); }

  // The operand's dim that is sliced with the result's, to which the operand is broadcast; nullopt:
  // it isn't known whether it has the dim.
  std::optional<int64_t> broadcast_dim(int operand) const {
    const Shape& s = shape_of(operand);
    const int64_t d = d_ - (rank_ - static_cast<int64_t>(s.size()));
    if (d < 0 || equal(s[at(d)], Dim(1))) return whole;
    if (!equal(s[at(d)], shape()[at(d_)])) return std::nullopt;
    return d;
  }
  std::optional<Dims> of_broadcast() const {
    Dims out;
    for (int k = 0; k < op_.operand_count(); ++k) {
      const std::optional<int64_t> d =
          op_.has(k) && !op_.is_number(k) ? broadcast_dim(k) : std::optional<int64_t>(whole);
      if (!d) return std::nullopt;
      out.push_back(*d);
    }
    return out;
  }

  std::optional<Dims> of_transpose() const {
    const int64_t a = from_front(op_.int_attr("dim0"), rank_),
                  b = from_front(op_.int_attr("dim1"), rank_);
    return Dims{d_ == a ? b : d_ == b ? a : d_};
  }
  std::optional<Dims> of_unsqueeze() const {
    const int64_t added = from_front(op_.int_attr("dim"), rank_);
    if (d_ == added) return std::nullopt;
    return Dims{d_ < added ? d_ : d_ - 1};
  }

  // a @ b, behind an addend or not: batches of both, rows of a, columns of b.
  std::optional<Dims> of_product(int first) const {
    Dims out(static_cast<size_t>(first) + 2, whole);
    if (first > 0) {
      const std::optional<int64_t> d = broadcast_dim(0);
      if (!d) return std::nullopt;
      out[0] = *d;
    }
    const bool is_row = d_ == rank_ - 2, is_column = d_ == rank_ - 1;
    if (!is_column) out[static_cast<size_t>(first)] = d_;
    if (!is_row) out[static_cast<size_t>(first) + 1] = d_;
    return out;
  }

  std::optional<Dims> of_norm() const {
    const auto inner = static_cast<int64_t>(op_.dims_attr("normalized_shape").size());
    if (d_ >= rank_ - inner) return std::nullopt;
    Dims out(static_cast<size_t>(op_.operand_count()), whole);
    out[0] = d_;
    return out;
  }
  std::optional<Dims> of_softmax() const {
    if (from_front(op_.int_attr("dim"), rank_) == d_) return std::nullopt;
    return Dims{d_};
  }
  std::optional<Dims> of_fold() const {
    const Dims folded = reduction_dims(op_);
    const auto is_folded = [&](int64_t d) { return std::ranges::find(folded, d) != folded.end(); };
    if (op_.bool_attr("keepdim")) return is_folded(d_) ? std::nullopt : std::optional(Dims{d_});
    int64_t left = d_, d = 0;
    while (is_folded(d) || left-- > 0) ++d;
    return Dims{d};
  }
  std::optional<Dims> of_lookup() const {
    if (d_ >= op_.in_type(1).rank() || op_.bool_attr("scale_grad_by_freq")) return std::nullopt;
    return Dims{whole, d_};
  }
  // Rows of queries, and of the mask.
  std::optional<Dims> of_attention() const {
    if (d_ != rank_ - 2 || op_.bool_attr("is_causal") || op_.float_attr("dropout_p") > 0)
      return std::nullopt;
    Dims out(static_cast<size_t>(op_.operand_count()), whole);
    out[0] = d_;
    constexpr int mask = 3;
    if (op_.has(mask)) {
      const std::optional<int64_t> d = broadcast_dim(mask);
      if (!d) return std::nullopt;
      out[mask] = *d;
    }
    return out;
  }

  // ---- views
  // Whether a and b have the same sizes in the dims [0, count).
  bool same_first(const Shape& a, const Shape& b, int64_t count) const {
    if (static_cast<int64_t>(std::min(a.size(), b.size())) < count) return false;
    for (int64_t k = 0; k < count; ++k)
      if (!equal(a[at(k)], b[at(k)])) return false;
    return true;
  }
  bool same_last(const Shape& a, const Shape& b, int64_t count) const {
    return same_first({a.rbegin(), a.rend()}, {b.rbegin(), b.rend()}, count);
  }

  std::optional<SlicePath> through_view(SlicePath path) const {
    const Shape& from = shape_of(0);
    path.size = sliced_shape();
    if (same_first(from, shape(), d_ + 1)) {
      path.dims = {d_};
    } else if (same_last(from, shape(), rank_ - d_)) {
      path.dims = {static_cast<int64_t>(from.size()) - (rank_ - d_)};
    } else if (!find_rows(path)) {
      return std::nullopt;
    }
    return path;
  }

  // The rows of a product whose left operand is viewed as the result of the product is.
  bool find_rows(SlicePath& path) const {
    const NodeId product = g_.value(op_.in(0)).def;
    if (!product.valid() || d_ >= rank_ - 1 || g_.use_count(op_.in(0)) != 1) return false;
    for (const Return& r : g_.returns())
      if (r.value == op_.in(0)) return false;
    const OpView p = g_.view(product);
    const bool has_addend = p.name() == "addmm";
    if (p.name() != "mm" && !has_addend) return false;
    if (has_addend && p.in_type(0).rank() == 2 && !equal(p.in_type(0).shape[0], Dim(1)))
      return false;
    const NodeId left = g_.value(p.in(has_addend ? 1 : 0)).def;
    if (!left.valid()) return false;
    const OpView view = g_.view(left);
    if (!is_view(view)) return false;
    const Type& rows = view.in_type(0);
    if (rows.rank() != rank_ || !same_first(rows.shape, shape(), rank_ - 1) ||
        !equal(rows.shape.back(), view.out_type(0).shape.back()))
      return false;
    path.product = product, path.rows = view.in(0);
    return true;
  }

  const Graph& g_;
  NodeId n_;
  OpView op_;
  const SliceOf& slice_;
  int64_t d_, rank_;
};

Attrs with_size(const Node& node, const Shape& size) {
  Attrs attrs = node.attrs;
  const int arg = node.op->schema.find(node.op->name == "reshape" ? "shape" : "size");
  attrs.set(static_cast<uint16_t>(arg), AttrList(size.begin(), size.end()));
  return attrs;
}

}  // namespace

ValueId SliceOf::take(Builder& b, ValueId v, int64_t of_dim) const {
  return b.call1("slice", {v}, {{"dim", of_dim}, {"start", start}, {"end", end}, {"step", step}});
}

std::optional<SliceOf> slice_of(const Graph& g, NodeId n) {
  const OpView op = g.view(n);
  const Type& x = op.in_type(0);
  SliceOf out{.dim = from_front(op.int_attr("dim"), x.rank()), .size = Dim(1)};
  const Dim& all = x.shape[static_cast<size_t>(out.dim)];
  if (op.name() == "select") {
    const Dim index = op.dim_attr("index");
    if (!index.is_const()) return std::nullopt;  // which may be counted from either end
    const Dim first = index.value() < 0 ? all + index : index;
    out.is_select = true;
    out.start = first, out.end = first + Dim(1), out.step = int64_t{1};
  } else {
    out.size = op.out_type(0).shape[static_cast<size_t>(out.dim)];
    out.start = op.attr("start"), out.end = op.attr("end"), out.step = op.attr("step");
  }
  if (2 * g.env().hint_of(out.size) > g.env().hint_of(all)) return std::nullopt;
  return out;
}

Values SlicePath::write(Builder& b, const SliceOf& slice, std::vector<NodeId>& slices) const {
  const Graph& g = b.graph();
  const auto sliced = [&](ValueId v, int64_t dim) {
    const ValueId part = slice.take(b, v, dim);
    if (b.status().ok()) slices.push_back(g.value(part).def);
    return part;
  };
  const Node call = g.node(node);  // adding nodes moves them
  b.set_loc(call.loc);
  b.set_tag(call.tag);
  if (product.valid()) {
    const Node of = g.node(product);
    const ValueId part = sliced(rows, slice.dim);
    if (!b.status().ok()) return {};
    const Shape& s = b.type(part).shape;
    Dim count(1);
    for (size_t k = 0; k + 1 < s.size(); ++k) count = count * s[k];
    Values inputs = of.inputs;
    inputs[inputs.size() - 2] = b.view(part, {count, s.back()});
    const Values made = b.status().ok() ? b.copy(of, inputs, of.attrs) : Values();
    return b.status().ok() ? Values{b.view(made[0], *size)} : Values();
  }
  Values inputs = call.inputs;
  for (size_t k = 0; k < dims.size(); ++k)
    if (dims[k] != whole) inputs[k] = sliced(inputs[k], dims[k]);
  if (!b.status().ok()) return {};
  return b.copy(call, inputs, size ? with_size(call, *size) : call.attrs);
}

std::optional<SlicePath> slice_path(const Graph& g, NodeId call, const SliceOf& slice) {
  return PathFinder(g, call, slice).find();
}

}  // namespace cleave
