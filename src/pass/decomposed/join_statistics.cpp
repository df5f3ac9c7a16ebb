// A mean and the squares around it, of long columns of halves, from one pass over them in the place
// of three:
//
//   %x = _to_copy(%h; dtype=f32)
//   %r = mean(%x; dims)                           %m = mean(%x; dims)
//   %m = add(%r, mean(sub(%x, %r)))      ->       %q = sum(mul(%x, %x))
//   %o = sub(%x, %m)                              %s = relu(sub(%q, mul(mul(%m, %m), n)))
//   %s = sum(mul(%o, %o))
//
// as a batch norm spells them (op/batch_norm.cpp), or with the mean of the squares, as a group norm
// does. Columns are longer than a cache, so that each pass reads memory; on a GPU a norm's forward
// reads its operand twice in the place of four times. So it is with rows in several pieces, as of a
// group of channels that lie last; a row in one piece stays in registers. What cancels are digits
// that a half doesn't have: with m = k deviations the squares lose k^2 of 2^24, where a half has
// rounded k^2 of 2^18 (bf16) and 2^24 (f16) of them. Sums of columns are added up in f64
// (decision 018).
#include <algorithm>

#include "op/dims.h"
#include "pass/pass_setting.h"
#include "pass/passes.h"

namespace cleave {
namespace {

using Ints = std::vector<int64_t>;

// The nodes of the left side.
struct Statistics {
  NodeId rough, mean, squares;
  ValueId x;
  Ints dims;
  bool is_mean = false;  // of the squares
};

// The call that makes a value, if it has this name; else invalid.
NodeId call_of(const Graph& g, ValueId v, std::string_view name) {
  if (!v.valid()) return {};
  const NodeId n = g.value(v).def;
  return n.valid() && g.node(n).op->name == name ? n : NodeId{};
}

// Whether v is this difference, without a factor.
bool is_difference(const Graph& g, ValueId v, ValueId from, ValueId what) {
  const NodeId n = call_of(g, v, "sub");
  if (!n.valid()) return false;
  const OpView op = g.view(n);
  return op.in(0) == from && op.in(1) == what && op.attr("alpha").as_double() == 1;
}

// The operand and dims of a fold that keeps its dims and its dtype.
bool folds(const Graph& g, NodeId n, Ints& dims) {
  const OpView op = g.view(n);
  dims = reduction_dims(op);
  return op.bool_attr("keepdim") && op.in_type(0).dtype == op.out_type(0).dtype;
}

std::optional<Statistics> statistics_at(const Graph& g, NodeId squares) {
  Statistics out{.squares = squares};
  out.is_mean = g.node(squares).op->name == "mean";
  if ((!out.is_mean && g.node(squares).op->name != "sum") || !folds(g, squares, out.dims))
    return std::nullopt;
  const NodeId square = call_of(g, g.node(squares).inputs[0], "mul");
  if (!square.valid() || g.node(square).inputs[0] != g.node(square).inputs[1]) return std::nullopt;
  const NodeId off = call_of(g, g.node(square).inputs[0], "sub");
  if (!off.valid()) return std::nullopt;
  out.x = g.node(off).inputs[0];
  const ValueId mean = g.node(off).inputs[1];
  if (!is_difference(g, g.node(off).out(0), out.x, mean)) return std::nullopt;
  out.mean = call_of(g, mean, "add");
  if (!out.mean.valid() || g.view(out.mean).attr("alpha").as_double() != 1) return std::nullopt;
  const ValueId rough = g.node(out.mean).inputs[0];
  out.rough = call_of(g, rough, "mean");
  const NodeId rest = call_of(g, g.node(out.mean).inputs[1], "mean");
  Ints of_rough, of_rest;
  if (!out.rough.valid() || !rest.valid() || !folds(g, out.rough, of_rough) ||
      !folds(g, rest, of_rest) || of_rough != out.dims || of_rest != out.dims ||
      g.node(out.rough).inputs[0] != out.x ||
      !is_difference(g, g.node(rest).inputs[0], out.x, rough))
    return std::nullopt;
  return out;
}

// What a value is a view of, of a view, ...
ValueId seen_through(const Graph& g, ValueId v) {
  for (;;) {
    const NodeId n = g.value(v).def;
    if (!n.valid() || !has(g.node(n).op->traits, Trait::view)) return v;
    const ValueId from = g.node(n).inputs[0];
    if (!from.valid() || from.is_number()) return v;
    v = from;
  }
}

// Whether the dims of more than one element are the last ones of those.
bool is_row(const Shape& shape, const Ints& dims) {
  bool is_folded = true;  // so far, from the last dim on
  for (auto d = std::ssize(shape); d-- > 0;) {
    if (shape[static_cast<size_t>(d)] == Dim(1)) continue;
    const bool folds = std::ranges::find(dims, d) != dims.end();
    if (folds && !is_folded) return false;
    is_folded = folds;
  }
  return true;
}

// Whether it folds enough halves, and not as one row.
bool pays(const Graph& g, const Statistics& s, int64_t least_rows) {
  const Type& x = g.type(s.x);
  const NodeId cast = call_of(g, seen_through(g, s.x), "_to_copy");
  if (!cast.valid() || x.dtype != DType::f32) return false;
  const DType from = g.type(g.node(cast).inputs[0]).dtype;
  if (from != DType::bf16 && from != DType::f16) return false;
  if (!x.is_static() || count_along(x.shape, s.dims).value() < least_rows) return false;
  return !is_row(x.shape, s.dims);
}

Status join(Graph& g, const OpRegistry& ops, const Statistics& s) {
  Builder b(g, ops);
  b.insert_before(s.rough);
  b.set_loc(g.node(s.rough).loc);
  b.set_tag(g.node(s.rough).tag);
  const auto count = static_cast<double>(count_along(g.type(s.x).shape, s.dims).value());
  const ValueId mean = b.mean(s.x, s.dims, true);
  const ValueId each = b.mul(s.x, s.x);
  const ValueId squares = s.is_mean ? b.mean(each, s.dims, true) : b.sum(each, s.dims, true);
  const ValueId square = b.mul(mean, mean);
  const ValueId around =
      b.call1("relu", {b.sub(squares, s.is_mean ? square : b.mul(square, count))});
  CLEAVE_CHECK(b.status());
  for (const auto& [node, made] : {std::pair{s.mean, mean}, {s.squares, around}}) {
    const std::string name = g.name(g.node(node).out(0));
    g.replace_uses(g.node(node).out(0), made);
    g.erase(node);
    CLEAVE_CHECK(g.rename(made, name));
  }
  return {};
}

Result<PassCount> join_all(Graph& g, const OpRegistry& ops, int64_t least_rows) {
  PassCount count;
  for (const NodeId n : g.order()) {
    if (g.node(n).erased) continue;
    const std::optional<Statistics> found = statistics_at(g, n);
    if (!found || !pays(g, *found, least_rows)) continue;
    CLEAVE_CHECK(join(g, ops, *found));
    ++count.matches;
    count.nodes += 2;
  }
  return count;
}

}  // namespace

Pass join_statistics() {
  Pass pass{.name = "join_statistics",
            .summary = "mean and squares of long columns are summed in one pass",
            .rounds = true};
  pass.settings = {{"least_rows", 4096, 2, "of a column"}};
  pass.make_run = [](const std::vector<PassSetting>& settings) -> Pass::Run {
    return [least = setting(settings, "least_rows")](Graph& g, const OpRegistry& ops) {
      return join_all(g, ops, least);
    };
  };
  pass.run = pass.make_run(pass.settings);
  return pass;
}

}  // namespace cleave
