// cleave kernels G.clv: the kernels that a graph becomes, and what they move.
#include "grad/grad.h"
#include "inspect/halves_traffic.h"
#include "op/registry.h"
#include "tool/autocast_option.h"
#include "tool/command.h"
#include "tool/graph_file.h"

namespace cleave::tool {
namespace {

struct Options {
  std::string graph, fuse = "on";
  AutocastOption autocast;
  bool grad = false, json = false;
};

Status run(const Options& o) {
  if (o.fuse != "on" && o.fuse != "off") return user_error("--fuse {}: expected on or off", o.fuse);
  CLEAVE_TRY(OpRegistry ops, core_ops());
  CLEAVE_TRY(Program p, read_program(o.graph, ops));
  CLEAVE_CHECK(o.autocast.apply(p.main, ops));
  HalvesTraffic report;
  const bool fuse = o.fuse == "on";
  if (o.grad) {
    if (!p.main.is_joint()) { CLEAVE_TRY(p.main, make_joint(p.main, ops)); }
    CLEAVE_TRY(report, halves_traffic(p.main, ops, fuse));
  } else {
    CLEAVE_TRY(report.kernels, graph_traffic(p.main, ops, fuse));
  }
  const double elements = static_cast<double>(total_bytes(report.kernels)) / 4;
  if (!o.json) {
    for (const KernelTraffic& k : report.kernels)
      fmt::print("{:<8} %{:<24} reads {:>12} B, writes {:>12} B\n", k.kind, k.name, k.read,
                 k.written);
    fmt::print("{} kernels move {:.10g} elements of 4 bytes\n", report.kernels.size(), elements);
    if (o.grad) {
      fmt::print("saved:");
      for (const std::string& name : report.saved) fmt::print(" %{}", name);
      fmt::print("\n");
    }
    return {};
  }
  nlohmann::ordered_json out;
  out["kernels"] = nlohmann::ordered_json::array();
  for (const KernelTraffic& k : report.kernels)
    out["kernels"].push_back({{"name", k.name},
                              {"kind", k.kind},
                              {"read", static_cast<double>(k.read) / 4},
                              {"written", static_cast<double>(k.written) / 4}});
  out["elements"] = elements;
  out["saved"] = report.saved;
  print_json(out);
  return {};
}

}  // namespace

Command kernels_command() {
  return {"kernels", "the kernels that a graph becomes, and the elements that they move",
          "  cleave kernels gpt.clv --grad", [](OptionList& options) {
            auto o = std::make_shared<Options>();
            options.required("GRAPH", o->graph, "a graph; - is stdin");
            options.flag("--grad", o->grad, "its forward and backward, cut where they move least");
            o->autocast.add_to(options);
            options.option("--fuse", o->fuse, "on or off: a kernel for each call");
            options.flag("--json", o->json, "one JSON object: kernels, elements, saved");
            return [o] { return run(*o); };
          }};
}

}  // namespace cleave::tool
