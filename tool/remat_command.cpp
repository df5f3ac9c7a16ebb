// cleave remat R.json: plans a sequence with recomputations whose peak is within a limit.
#include <time.h>

#include <charconv>
#include <cmath>

#include "plan/order.h"
#include "plan/recompute.h"
#include "plan/simulate.h"
#include "tool/command.h"
#include "tool/graph_file.h"
#include "tool/remat_graph.h"

namespace cleave::tool {
namespace {

struct Options {
  std::string graph, percent;
  uint64_t seed = 1;
  int64_t moves = 0;
  bool json = false;
};

Result<double> read_percent(std::string_view text) {
  if (text.ends_with('%')) text.remove_suffix(1);
  double percent = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), percent);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(percent) ||
      percent <= 0 || percent > 1e6)
    return user_error("--peak-percent {}: expected a number above 0, such as 80", text);
  return percent;
}

double now_ms() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<double>(t.tv_sec) * 1e3 + static_cast<double>(t.tv_nsec) * 1e-6;
}

struct Answer {
  int64_t given_peak = 0, limit = 0;
  plan::RecomputePlan made;
  plan::Simulated checked;
  double solve_ms = 0;
};

Result<Answer> solve(const RematGraph& r, double percent, const Options& o) {
  Answer a;
  CLEAVE_TRY(const plan::Simulated given, plan::simulate(r.graph, r.given_order));
  a.given_peak = given.peak;
  a.limit = static_cast<int64_t>(
      std::floor(static_cast<long double>(percent) * static_cast<long double>(given.peak) / 100));
  const double begin = now_ms();
  plan::RecomputeOptions options;
  options.seed = o.seed;
  options.moves = o.moves;
  CLEAVE_TRY(a.made, plan::plan_recompute(r.graph, r.given_order, a.limit, options));
  a.solve_ms = now_ms() - begin;
  auto checked = plan::simulate(r.graph, a.made.found.tasks);
  if (!checked.ok()) return bug("remat: the sequence found: {}", checked.failure().message);
  a.checked = *std::move(checked);
  if (a.checked.peak != a.made.found.peak || a.checked.time != a.made.found.time ||
      a.made.found.met != (a.checked.peak <= a.limit))
    return bug("remat: planned peak {} and time {}, simulated {} and {}", a.made.found.peak,
               a.made.found.time, a.checked.peak, a.checked.time);
  return a;
}

Json to_json(const RematGraph& r, const Answer& a) {
  Json out;
  out["limit_bytes"] = a.limit;
  out["peak_bytes"] = a.checked.peak;
  out["overhead_percent"] = a.checked.overhead_percent();
  out["bound_percent"] = a.made.percent(a.made.bound_time);
  out["bound_given_order_percent"] = a.made.percent(a.made.bound_given_time);
  out["met"] = a.made.found.met;
  out["sequence"] = Json::array();
  for (const plan::TaskId v : a.made.found.tasks)
    std::visit([&](const auto& name) { out["sequence"].push_back(name); }, r.names[v]);
  out["solve_ms"] = a.solve_ms;
  out["given_peak_bytes"] = a.given_peak;
  return out;
}

void print_text(const RematGraph& r, const Answer& a) {
  fmt::print("limit {} B, peak {} B (given order {} B)\n", a.limit, a.checked.peak, a.given_peak);
  fmt::print(
      "overhead {:.4f}%; no sequence needs less than {:.4f}%, none that keeps the given "
      "order of first runs less than {:.4f}%\n",
      a.checked.overhead_percent(), a.made.percent(a.made.bound_time),
      a.made.percent(a.made.bound_given_time));
  fmt::print("{} steps, {} of them recomputations; {:.1f} ms\n", a.made.found.tasks.size(),
             a.made.found.tasks.size() - r.graph.size(), a.solve_ms);
}

Status run(const Options& o) {
  CLEAVE_TRY(const double percent, read_percent(o.percent));
  if (o.moves < 0) return user_error("--moves {}: expected 0 or more", o.moves);
  CLEAVE_TRY(const std::string text, read_text(o.graph));
  Result<RematGraph> read = parse_remat_graph(text);
  if (!read.ok()) return std::move(read).failure().within(o.graph == "-" ? "stdin" : o.graph);
  const RematGraph& r = *read;
  CLEAVE_TRY(const Answer a, solve(r, percent, o));
  if (o.json)
    CLEAVE_CHECK(print_json(to_json(r, a)));
  else
    print_text(r, a);
  if (a.made.found.met) return {};
  if (plan::largest_task(r.graph) > a.limit)
    return user_error("the limit of {} B can't be met by any sequence: a single step needs {} B",
                      a.limit, plan::largest_task(r.graph));
  if (!a.made.reachable)
    return user_error(
        "the limit of {} B can't be met by any sequence; the best one found has a peak of {} B, "
        "and none is below {} B",
        a.limit, a.checked.peak, a.made.min_peak);
  return user_error(
      "no sequence within {} B was found; the best one's peak is {} B, and none is below {} B; "
      "raise --peak-percent, or let it search longer with --moves",
      a.limit, a.checked.peak, a.made.min_peak);
}

}  // namespace

Command remat_command() {
  return {"remat", "plan a rematerialization graph within a share of its peak",
          "  cleave remat resnet50_train.json --peak-percent 70", [](OptionList& options) {
            auto o = std::make_shared<Options>();
            options.required("GRAPH", o->graph, "JSON with nodes and links; - is stdin");
            options.required("--peak-percent", o->percent,
                             "the limit, in percent of the given order's peak");
            options.option("--seed", o->seed, "of the search");
            options.option(
                "--moves", o->moves,
                "that the search tries; 0: by the graph's size. Up to 12 nodes it is complete");
            options.flag("--json", o->json, "print one JSON object");
            return [o] { return run(*o); };
          }};
}

}  // namespace cleave::tool
