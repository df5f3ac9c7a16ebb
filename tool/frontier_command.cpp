// cleave frontier G.clv: the best trade-offs between saved bytes and recomputation time.
#include <chrono>

#include "compile/stage_planner.h"
#include "op/registry.h"
#include "remat/budget_partition.h"
#include "tool/command.h"
#include "tool/cut_pictures.h"
#include "tool/device_option.h"
#include "tool/graph_file.h"
#include "tool/joint_graph.h"
#include "tool/target_option.h"

namespace cleave::tool {
namespace {

struct Options {
  std::string graph, plot;
  JointOptions joint;
  TargetOption target;
  DeviceOption device;
  bool corners = false, json = false;
};

Status run(const Options& o) {
  StageOptions options;
  CLEAVE_TRY(options.target, o.target.target());
  CLEAVE_TRY(OpRegistry ops, core_ops());
  CLEAVE_TRY(Program p, read_program(o.graph, ops));
  CLEAVE_CHECK(o.device.apply(p.main, ops, options));
  CLEAVE_CHECK(make_joint_graph(p.main, ops, o.joint));
  StagePlanner planner(ops, options);
  if (!o.plot.empty()) CLEAVE_CHECK(plot_frontier(o.plot, p.main, {}, planner.rates(), nullptr));
  simplify_joint(p.main);
  const auto begin = std::chrono::steady_clock::now();
  CLEAVE_TRY(const ExactCut exact, ExactCut::of(p.main, planner.rates()));
  const double ms =
      std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
  CutPeaks peaks(exact, planner);
  Json points = Json::array();
  for (size_t k = 0; k < exact.points().size(); ++k) {
    const CutPoint& point = exact.points()[k];
    if (o.corners && point.corner < 0) continue;
    // If the halves can't be lowered, the peak isn't known.
    const Result<ForwardBackwardPeak> peak = peaks.at(k);
    if (o.json)
      points.push_back({{"saved_bytes", point.saved_bytes},
                        {"peak_bytes", peak.ok() ? Json(peak->peak()) : Json()},
                        {"recompute_cost_ns", point.cost_ns}});
    else
      fmt::print("{:>14} B saved  {:>14} B at the peak  {:>12.3f} us recomputed{}\n",
                 point.saved_bytes, peak.ok() ? std::to_string(peak->peak()) : "?",
                 static_cast<double>(point.cost_ns) / 1e3,
                 point.corner >= 0 ? "" : "  (between corners)");
  }
  return o.json ? print_json({{"points", points},
                              {"solve_ms", ms},
                              {"target", planning_backend(options)->target().text()},
                              {"device", options.device.text()}})
                : Status();
}

}  // namespace

Command frontier_command() {
  return {"frontier", "all exact trades between saved bytes and recomputed time",
          "  cleave frontier model.clv --json", [](OptionList& options) {
            auto o = std::make_shared<Options>();
            options.required("GRAPH", o->graph, "a forward or a joint graph; - is stdin");
            o->joint.add_to(options);
            o->target.add_to(options);
            o->device.add_to(options);
            options.option("--plot", o->plot, "a folder for frontier.svg");
            options.flag("--corners", o->corners, "only the corners of the convex frontier");
            options.flag("--json", o->json, "print one JSON object");
            return [o] { return run(*o); };
          }};
}

}  // namespace cleave::tool
