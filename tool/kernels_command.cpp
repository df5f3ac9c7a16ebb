// cleave kernels G.clv: the kernels of a graph's program, and the bytes that they read and write.
#include "compile/stages.h"
#include "inspect/program_traffic.h"
#include "op/registry.h"
#include "tool/command.h"
#include "tool/device_option.h"
#include "tool/graph_file.h"
#include "tool/joint_graph.h"
#include "tool/kernel_times.h"
#include "tool/static_sizes.h"
#include "tool/target_option.h"

namespace cleave::tool {
namespace {

struct Options {
  std::string graph, fuse = "on";
  JointOptions joint;
  TargetOption target;
  DeviceOption device;
  bool grad = false, json = false;
  int time = 0, threads = 0;
};

Json as_json(const KernelTimes& times) {
  Json steps = Json::array();
  for (const TimedKernel& k : times.kernels)
    steps.push_back({{"name", k.name},
                     {"kind", k.kind},
                     {"bytes", k.bytes},
                     {"us", k.us},
                     {"share_of_copy", times.share(k)}});
  return {{"copy_gb_per_s", times.copy_bytes_per_us / 1e3}, {"steps", steps}};
}

// In the program's order.
void print_times(const KernelTimes& times) {
  double sum = 0;
  for (const TimedKernel& k : times.kernels) sum += k.us;
  fmt::print("as one program; a copy moves {:.1f} GB/s\n", times.copy_bytes_per_us / 1e3);
  for (const TimedKernel& k : times.kernels)
    fmt::print("{:<11} %{:<24} {:>12} B {:>12.3f} us {:>6.2f}% of the time {:>7.1f}% of a copy\n",
               k.kind, k.name, k.bytes, k.us, sum > 0 ? 100 * k.us / sum : 0, 100 * times.share(k));
}

Status run(const Options& o) {
  if (o.time < 0 || o.time > 1'000'000)
    return user_error("--time {}: expected 0 to 1000000", o.time);
  if (o.threads < 0 || o.threads > 1024)
    return user_error("--threads {}: expected 0 to 1024", o.threads);
  if (o.fuse != "on" && o.fuse != "off") return user_error("--fuse {}: expected on or off", o.fuse);
  CLEAVE_TRY(const Target target, o.time > 0 ? o.target.runnable() : o.target.target());
  CLEAVE_TRY(OpRegistry ops, core_ops());
  CLEAVE_TRY(Program p, read_program(o.graph, ops));
  CLEAVE_CHECK(bind_sizes(p.main, o.joint));
  StageOptions options;
  options.threads = o.threads;
  options.target = target;
  options.fuse = o.fuse == "on";
  CLEAVE_CHECK(o.joint.choice.check());
  o.joint.choice.apply(options);
  CLEAVE_TRY(options.autocast, o.joint.autocast.dtype());
  options.grad = o.grad;
  CLEAVE_CHECK(o.device.apply(p.main, ops, options));
  if (o.time > 0) CLEAVE_CHECK(check_device_runs(options));
  CLEAVE_CHECK(run_stages(Stage::autocast, Stage::grad, p.main, ops, options));
  CLEAVE_TRY(const ProgramTraffic report, program_traffic(p.main, ops, options));
  std::optional<KernelTimes> times;
  if (o.time > 0) {
    CLEAVE_TRY(const Graph graph, graph_at_hints(p.main));
    CLEAVE_TRY(times, time_kernels(graph, ops, options, o.time));
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
    if (times) print_times(*times);
    return {};
  }
  Json out;
  out["kernels"] = Json::array();
  for (const KernelTraffic& k : report.kernels)
    out["kernels"].push_back({{"name", k.name},
                              {"kind", k.kind},
                              {"read", static_cast<double>(k.read) / 4},
                              {"written", static_cast<double>(k.written) / 4}});
  out["elements"] = elements;
  out["saved"] = report.saved;
  out["target"] = planning_backend(options)->target().text();
  out["device"] = options.device.text();
  if (times) out["times"] = as_json(*times);
  return print_json(out);
}

}  // namespace

Command kernels_command() {
  return {"kernels", "the kernels that a graph becomes, and the elements that they move",
          "  cleave kernels gpt.clv --grad", [](OptionList& options) {
            auto o = std::make_shared<Options>();
            options.required("GRAPH", o->graph, "a graph; - is stdin");
            options.flag("--grad", o->grad,
                         "of its forward and backward, as `cleave run --grad` runs them");
            o->joint.add_to(options);
            options.option("--fuse", o->fuse, "on or off: a kernel for each call");
            options.option("--time", o->time,
                           "runs of the whole program with made-up inputs: the time of each of its "
                           "steps, and how fast it moves its bytes");
            o->target.add_to(options);
            o->device.add_to(options);
            options.option("--threads", o->threads, "of those runs; 0: all cores");
            options.flag("--json", o->json, "one JSON object: kernels, elements, saved; times");
            return [o] { return run(*o); };
          }};
}

}  // namespace cleave::tool
