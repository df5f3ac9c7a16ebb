// A fold over dims that don't lie together is made in two steps, first over those in a row of which
// there are most:
//
//   %s = mean(%x; dim=[1,3])        %f = sum(%x; dim=[1], keepdim=true)        columns
//                                   %t = sum(%f; dim=[3], keepdim=true)        few elements
//                              ->   %u = div(%t; other=...)
//                                   %s = view(%u; size=...)
//
// of %x f32[16,4096,32,4], the images of a group norm whose channels lie last. On a GPU columns are
// read line by line and shared out among all threads. In one step a group of channels is a row of
// 4096 pieces of 4 elements, for which lines are read several times, and there are as few blocks as
// groups. Rows stay where they are short, or many, and consist of long pieces: they are read once.
//
// A fold over the same dims of the same shape and others beside them, as the gradient of a norm's
// weight, is split so too: one kernel then reads what both fold.
//
// Halves are added up in f32 and rounded at the end. Sums are added up in another order.
#include <algorithm>
#include <string_view>

#include "op/dims.h"
#include "pass/pass_setting.h"
#include "pass/passes.h"

namespace cleave {
namespace {

using Ints = std::vector<int64_t>;

struct SplitSizes {
  int64_t least_elements;  // below, a kernel more takes longer
  int64_t most_elements;   // of a row in pieces
  int64_t least_piece, few_rows;
  int64_t least_first;  // elements that the first step folds into one
};
constexpr int64_t small_row = 4096;  // of few rows
constexpr int64_t cached = 1 << 20;  // elements that stay in a cache, in whatever pieces

bool is_summed(std::string_view name) { return name == "sum" || name == "mean"; }

// Whether a fold may be made in steps; sums that convert what they add up aren't.
bool can_split(const OpView& op, int64_t least_elements) {
  constexpr std::string_view extrema[] = {"amax", "amin"};
  const bool is_extremum = std::ranges::find(extrema, op.name()) != std::end(extrema);
  if (!is_summed(op.name()) && !is_extremum) return false;
  const Type &x = op.in_type(0), &y = op.out_type(0);
  if (!x.is_static() || x.rank() == 0 || x.numel().value() < least_elements) return false;
  return is_extremum || (x.dtype == y.dtype && is_floating(x.dtype));
}

// Dims that lie together, all of them folded or none.
struct DimRun {
  Ints dims;
  int64_t extent = 1;
  bool is_folded = false;
};

std::vector<DimRun> runs_of(const Shape& shape, const Ints& dims) {
  std::vector<DimRun> out;
  for (int64_t d = 0; d < std::ssize(shape); ++d) {
    const int64_t extent = shape[static_cast<size_t>(d)].value();
    if (extent == 1) continue;
    const bool is_folded = std::ranges::find(dims, d) != dims.end();
    if (out.empty() || out.back().is_folded != is_folded) out.push_back({{}, 1, is_folded});
    out.back().dims.push_back(d);
    out.back().extent *= extent;
  }
  return out;
}

// The dims of the first step; empty: there is one step.
Ints first_step(const OpView& op, const SplitSizes& sizes) {
  const std::vector<DimRun> runs = runs_of(op.in_type(0).shape, reduction_dims(op));
  int64_t count = 1, rows = 1;
  const DimRun* most = nullptr;
  for (const DimRun& r : runs) {
    (r.is_folded ? count : rows) *= r.extent;
    if (r.is_folded && (!most || r.extent > most->extent)) most = &r;
  }
  if (!most || std::ranges::count_if(runs, &DimRun::is_folded) < 2) return {};
  if (most->extent < sizes.least_first) return {};
  const int64_t piece = runs.back().is_folded ? runs.back().extent : 0;
  const bool are_few = rows < sizes.few_rows && count > small_row;
  const bool are_short = piece < sizes.least_piece && count * rows > cached;
  return piece == 0 || are_few || are_short || count > sizes.most_elements ? most->dims : Ints();
}

class Splitter {
 public:
  Splitter(Graph& g, const OpRegistry& ops, const SplitSizes& sizes)
      : g_(g), ops_(ops), sizes_(sizes) {}

  Result<PassCount> run() {
    for (const NodeId n : g_.order()) CLEAVE_CHECK(split_as_it_is(n));
    for (const NodeId n : g_.order()) CLEAVE_CHECK(split_as_others(n));
    return count_;
  }

 private:
  Status split_as_it_is(NodeId n) {
    if (!can_split(g_.view(n), sizes_.least_elements)) return {};
    const Ints first = first_step(g_.view(n), sizes_);
    if (first.empty()) return {};
    firsts_.push_back({g_.type(g_.node(n).inputs[0]).shape, first});
    return split(n, first);
  }

  Status split_as_others(NodeId n) {
    if (!can_split(g_.view(n), sizes_.least_elements)) return {};
    const OpView op = g_.view(n);
    const Ints dims = reduction_dims(op);
    for (const auto& [shape, first] : firsts_) {
      if (shape != op.in_type(0).shape || !std::ranges::includes(dims, first)) continue;
      if (count_along(shape, dims) == count_along(shape, first)) continue;
      return split(n, Ints(first));
    }
    return {};
  }

  Status split(NodeId n, const Ints& first) {
    const OpView op = g_.view(n);
    Builder b(g_, ops_);
    b.insert_before(n);
    b.set_loc(g_.node(n).loc);
    b.set_tag(g_.node(n).tag);
    const bool sums = is_summed(op.name());
    const std::string step = sums ? "sum" : op.name();
    Ints rest;
    std::ranges::set_difference(reduction_dims(op), first, std::back_inserter(rest));
    const DType work =
        op.out_type(0).dtype == DType::f64 || !sums ? op.out_type(0).dtype : DType::f32;
    NamedAttrs attrs = {{"dim", first}, {"keepdim", true}};
    if (work != op.in_type(0).dtype) attrs.emplace_back("dtype", work);
    ValueId y = b.call1(step, {op.in(0)}, std::move(attrs));
    y = b.call1(step, {y}, {{"dim", rest}, {"keepdim", true}});
    CLEAVE_CHECK(b.status());
    const NodeId second = g_.value(y).def;
    if (op.name() == "mean")
      y = b.div(y,
                static_cast<double>(count_along(op.in_type(0).shape, reduction_dims(op)).value()));
    y = b.convert(y, op.out_type(0).dtype);
    if (!op.bool_attr("keepdim")) y = b.view(y, op.out_type(0).shape);
    CLEAVE_CHECK(b.status());
    const ValueId old = g_.node(n).out(0);
    const std::string name = g_.name(old);
    g_.replace_uses(old, y);
    g_.erase(n);
    CLEAVE_CHECK(g_.rename(y, name));
    ++count_.matches;
    ++count_.nodes;
    return split_as_it_is(second);
  }

  struct First {
    Shape shape;
    Ints dims;
  };
  Graph& g_;
  const OpRegistry& ops_;
  const SplitSizes sizes_;
  std::vector<First> firsts_;
  PassCount count_;
};

}  // namespace

Pass split_folds() {
  Pass pass{.name = "split_folds",
            .summary = "folds over dims that don't lie together are made in steps",
            .rounds = true};
  pass.settings = {{"least_elements", 1 << 14, 1, "of what is folded"},
                   {"most_elements", 1 << 16, 1, "of a row in pieces"},
                   {"least_piece", 16, 1, "elements of a piece"},
                   {"few_rows", 256, 1, "are split if they are long"},
                   {"least_first", 16, 2, "elements that the first step folds into one"}};
  pass.make_run = [](const std::vector<PassSetting>& settings) -> Pass::Run {
    const SplitSizes sizes{.least_elements = setting(settings, "least_elements"),
                           .most_elements = setting(settings, "most_elements"),
                           .least_piece = setting(settings, "least_piece"),
                           .few_rows = setting(settings, "few_rows"),
                           .least_first = setting(settings, "least_first")};
    return [sizes](Graph& g, const OpRegistry& ops) { return Splitter(g, ops, sizes).run(); };
  };
  pass.run = pass.make_run(pass.settings);
  return pass;
}

}  // namespace cleave
