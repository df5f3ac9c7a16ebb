#include "inspect/cut_plots.h"

#include "cut/default_partition.h"
#include "remat/exact_partition.h"

namespace cleave {
namespace {

Trade trade_of(const Graph& joint, const Partition& cut, const MachineRates& rates,
               std::string label = "") {
  return {cut.saved_activation_bytes, recompute_cost_ns(joint, cut, rates), std::move(label)};
}

Status add_exact(const Graph& joint, const MachineRates& rates, std::vector<TradeLine>& lines) {
  CLEAVE_TRY(const ExactCut exact, ExactCut::of(joint, rates, Returned::counted));
  TradeLine bound{.name = "no cut is below", .colour = "#555", .points = {}, .bound = true};
  TradeLine points{.name = "exact", .colour = "#1f77b4", .points = {}};
  for (const CutPoint& p : exact.points()) {
    points.points.push_back({p.saved_bytes, p.cost_ns, ""});
    if (const auto least = exact.min_cost(p.saved_bytes))
      bound.points.push_back({p.saved_bytes, *least, ""});
  }
  lines.push_back(std::move(bound));
  lines.push_back(std::move(points));
  return {};
}

}  // namespace

Result<std::vector<TradeLine>> trade_lines(const Graph& given, const PytorchOptions& options,
                                           const MachineRates& rates, const MeasureCall& measure) {
  std::vector<TradeLine> lines;
  Graph joint = given;
  simplify_joint(joint);
  // Tags that mode pytorch accepts may contradict each other in mode exact: its lines are left out.
  if (const Status exact = add_exact(joint, rates, lines);
      !exact.ok() && exact.failure().kind != ErrorKind::user)
    return exact.failure();
  Graph as_pytorch = given;
  simplify_as_pytorch(as_pytorch);
  TradeLine sweep{.name = "pytorch, budgets 0 to 1", .colour = "#d62728", .points = {}};
  PytorchOptions at = options;
  for (int twentieth = 20; twentieth >= 0; --twentieth) {
    at.budget = twentieth / 20.0;
    CLEAVE_TRY(const Partition cut, pytorch_partition(as_pytorch, at, nullptr, measure));
    const bool named = twentieth % 5 == 0;
    sweep.points.push_back(
        trade_of(as_pytorch, cut, rates, named ? fmt::format("{:g}", at.budget) : ""));
  }
  // One label for all budgets that give the same cut.
  for (size_t k = 0; k < sweep.points.size(); ++k)
    for (size_t j = 0; j < k; ++j) {
      Trade &a = sweep.points[j], &b = sweep.points[k];
      if (a.bytes != b.bytes || a.ns != b.ns || a.label.empty() || b.label.empty()) continue;
      a.label += ", " + b.label;
      b.label.clear();
    }
  lines.push_back(std::move(sweep));
  CLEAVE_TRY(const Partition whole, default_partition(joint));
  lines.push_back({.name = "default",
                   .colour = "#2ca02c",
                   .points = {trade_of(joint, whole, rates)},
                   .line = false,
                   .large = true});
  return lines;
}

TradeLine chosen_trade(const Graph& joint, const Partition& cut, const MachineRates& rates) {
  return {.name = "chosen",
          .colour = "#9467bd",
          .points = {trade_of(joint, cut, rates, "chosen")},
          .line = false,
          .large = true};
}

std::string path_drawing(const std::string& title, const std::vector<ConstrainedValue>& path) {
  constexpr double height = 46, distance = 78, left = 30, top = 60;
  double width = Svg::text_width(title, 16);
  for (const ConstrainedValue& v : path)
    width = std::max({width, Svg::text_width(v.name, 13) + 20, Svg::text_width(v.constraint) + 20});
  Svg svg(width + 2 * left, top + distance * static_cast<double>(path.size()) + 50);
  svg.text({left, 30}, title, 16);
  const double middle = left + width / 2;
  for (size_t k = 0; k < path.size(); ++k) {
    const double y = top + distance * static_cast<double>(k);
    svg.rectangle({left, y, width, height}, "#ffe3e3", {"#c92a2a", 1, ""}, 4);
    svg.text({middle, y + 18}, "%" + path[k].name, 13, Anchor::middle);
    svg.text({middle, y + 36}, path[k].constraint, 12, Anchor::middle, "#555");
    svg.line({middle, y + height}, {middle, y + distance}, {"#c92a2a", 2, ""});
    svg.text({middle + 8, y + height + 20}, k + 1 < path.size() ? "is read by" : "is needed by", 11,
             Anchor::start, "#777");
  }
  svg.text({middle, top + distance * static_cast<double>(path.size()) + 18}, "the backward", 13,
           Anchor::middle);
  return svg.finish();
}

}  // namespace cleave
