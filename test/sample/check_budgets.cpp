#include "test/sample/check_budgets.h"
#include "test/prepared.h"

#include <algorithm>
#include <limits>
#include <map>
#include <span>

#include "cleave/executor.h"
#include "compile/stage_planner.h"
#include "exec/executable.h"
#include "interp/array_memory.h"
#include "ir/edit.h"
#include "ir/text.h"
#include "remat/budget_family.h"
#include "test/sample/run_program.h"

namespace cleave::random {
namespace {

// "byte 24: d6 d5 47 3f, expected d7 d5 47 3f": up to 8 bytes from the first 8 that differ.
std::string first_difference(std::span<const std::byte> want, std::span<const std::byte> got) {
  if (want.size() != got.size())
    return fmt::format("{} bytes, expected {}", got.size(), want.size());
  const auto at = static_cast<size_t>(std::ranges::mismatch(want, got).in1 - want.begin()) / 8 * 8;
  const auto bytes = [&](std::span<const std::byte> of) {
    std::string out;
    for (const std::byte b : of.subspan(at, std::min<size_t>(8, of.size() - at)))
      out += fmt::format("{:02x} ", static_cast<unsigned>(b));
    return out;
  };
  return fmt::format("from byte {}: {}, expected {}", at, bytes(got), bytes(want));
}

struct Run {
  law::Memory returns;
  int64_t planned = 0, measured = 0, recompute_ns = 0;
  std::shared_ptr<const CompiledProgram> program;
};

class Checker {
 public:
  Checker(const RandomGraph& r, const OpRegistry& ops, const RunChoice& choice,
          size_t forward_results)
      : r_(r), options_{choice.compile} {
    options_.forward_results = forward_results;
    options_.fuse = choice.fuse;
    options_.executor = make_thread_pool(options_.threads);
    ops_ = &ops;
    bool draws = false;
    for (const NodeId n : r.g.order()) {
      branches_ |= r.g.node(n).op->name == "cond" || r.g.node(n).op->name == "while_loop";
      draws |= has(r.g.node(n).op->traits, Trait::random);
    }
    // compare_masks runs the graph as it is lowered, from these inputs alone.
    if (draws) options_.passes_off.emplace_back("compute_once");
  }

  Result<BudgetVerdict> run(const std::vector<double>& parts) {
    CLEAVE_TRY(const Run whole, run_with({}));
    Graph prepared = r_.g;
    CLEAVE_CHECK(test::prepare_unfused(prepared, options_, *ops_));
    CLEAVE_TRY(BudgetFamily family, family_of(prepared));
    options_.family = std::make_shared<BudgetFamily>(std::move(family));
    CLEAVE_TRY(const int64_t all, options_.family->peak_without_budget());
    if (all != whole.planned)
      violate(fmt::format("percentages count from {}, and the peak is {}", all, whole.planned));
    for (const int percent : {100, 80}) {
      const auto one = options_.family->choose(MemoryBudget::percent(percent));
      const auto other = options_.family->choose(all * percent / 100);
      if (one.ok() != other.ok() || (one.ok() && one->member != other->member))
        violate(fmt::format("{}% of {} isn't what its bytes are", percent, all));
    }
    CLEAVE_TRY(int64_t most, options_.family->whole_peak());
    CLEAVE_TRY(const std::vector<BudgetFamily::Trade> trades, options_.family->trades());
    CLEAVE_TRY(const int64_t least, least_peak(*options_.family));
    if (trades.back().peak_bytes != least)
      violate(fmt::format("trades end at {}, above {}", trades.back().peak_bytes, least));
    CLEAVE_TRY(const ProgramTasks::Bound bound, options_.family->lower_bound());
    if (least < bound.bytes)
      violate(fmt::format("a peak of {} below the lower bound {}", least, bound.bytes));
    if (run_with(least - 1).ok()) violate("a budget below the least peak is taken");
    std::vector<int64_t> budgets;
    for (const double part : parts)
      budgets.push_back(least + static_cast<int64_t>(part * static_cast<double>(most - least)));
    CLEAVE_CHECK(check_lazy_choices(prepared, budgets));
    std::optional<Run> before;
    size_t chosen = 0;
    for (const int64_t budget : budgets) {
      ++verdict_.budgets;
      CLEAVE_TRY(const BudgetFamily::Choice choice, options_.family->choose(budget));
      if (before && choice.member == chosen) continue;  // the same program
      chosen = choice.member;
      CLEAVE_TRY(Run now, run_with(budget));
      ++verdict_.programs;
      compare(whole, now, budget);
      if (before && now.recompute_ns > before->recompute_ns)
        violate(fmt::format("{} B is dearer than less", budget));
      if (before && now.planned < before->planned)
        violate(fmt::format("{} B has a smaller peak than less", budget));
      if (now.recompute_ns > 0) {
        ++verdict_.recomputing;
        if (!before || now.recompute_ns != before->recompute_ns)
          CLEAVE_CHECK(compare_masks(now.program->graph()));
      }
      before = std::move(now);
    }
    CLEAVE_CHECK(check_pytorch(whole));
    CLEAVE_CHECK(check_offload(bound.bytes));
    return std::move(verdict_);
  }

 private:
  Result<BudgetFamily> family_of(const Graph& prepared) const {
    return BudgetFamily::make(prepared, std::make_shared<StagePlanner>(*ops_, options_),
                              options_.forward_results);
  }

  // The least peak of the members that are offered at the least budget that any of them meets.
  static Result<int64_t> least_peak(BudgetFamily& family) {
    int64_t met = std::numeric_limits<int64_t>::max(), least = met;
    for (size_t k = 0; k < family.members().size(); ++k) {
      CLEAVE_TRY(const int64_t peak, family.peak(k));
      met = std::min(met, std::max(peak, family.offered_from(k)));
    }
    for (size_t k = 0; k < family.members().size(); ++k) {
      CLEAVE_TRY(const int64_t peak, family.peak(k));
      if (family.offered_from(k) <= met) least = std::min(least, peak);
    }
    return least;
  }

  void violate(std::string what) {
    if (verdict_.violation.empty()) verdict_.violation = std::move(what);
  }

  // A family that has searched no farther than the budgets so far, the largest first, chooses what
  // the complete one does.
  Status check_lazy_choices(const Graph& prepared, const std::vector<int64_t>& budgets) {
    CLEAVE_TRY(BudgetFamily lazy, family_of(prepared));
    for (size_t i = budgets.size(); i-- > 0;) {
      CLEAVE_TRY(const BudgetFamily::Choice now, lazy.choose(budgets[i]));
      CLEAVE_TRY(const BudgetFamily::Choice later, options_.family->choose(budgets[i]));
      CLEAVE_TRY(const Graph one, lazy.program(now.member));
      CLEAVE_TRY(const Graph other, options_.family->program(later.member));
      if (print(one) != print(other))
        violate(fmt::format("budget {}: the choice depends on others", budgets[i]));
    }
    return {};
  }

  // Recomputation by PyTorch's partitioner changes no bit either.
  Status check_pytorch(const Run& whole) {
    if (!r_.g.is_joint()) return {};
    for (const double part : {1.0, 0.5, 0.1, 0.0}) {
      options_.partition = PytorchOptions{.budget = part};
      const Result<Run> now = run_graph(r_.g, {});
      options_.partition.reset();
      if (!now.ok()) return Failure(now.failure());
      ++verdict_.pytorch;
      for (size_t k = 0; k < whole.returns.size(); ++k)
        if (whole.returns[k] != now->returns[k])
          violate(fmt::format("mode pytorch, budget {}: return {}, {}", part, k,
                              first_difference(whole.returns[k], now->returns[k])));
    }
    return {};
  }

  // On a machine whose calls take so long that all copies hide.
  Status check_offload(int64_t least) {
    options_.target.rates.call_ns = 1e6;
    options_.target.rates.host_gigabytes = 100;
    options_.family = nullptr;
    CLEAVE_TRY(const Run whole, run_with({}));
    for (const int percent : {0, 30, 60, 90}) {
      const int64_t budget = least + (whole.planned - least) * percent / 100;
      const Result<Run> now = run_with(budget);
      if (!now.ok() && now.failure().kind == ErrorKind::user) continue;  // there is no such program
      if (!now.ok()) return now.failure();
      if (now->program->report().count("offloaded_bytes") == 0) continue;
      ++verdict_.offloading;
      compare(whole, *now, budget);
    }
    return {};
  }

  Result<Run> run_with(MemoryBudget budget) { return run_graph(r_.g, budget); }

  Result<Run> run_graph(const Graph& graph, MemoryBudget budget) {
    options_.memory_budget = budget;
    Run out;
    CLEAVE_TRY(out.program, CompiledProgram::compile(graph, *ops_, options_));
    out.planned = out.program->report().planned_peak_bytes;
    out.recompute_ns = out.program->report().recompute_ns;
    CLEAVE_TRY(auto instance, Instance::make(out.program, options_.executor));
    const Graph& g = out.program->graph();
    CLEAVE_TRY(const law::Memory bound, law::bind_inputs(*instance, g, r_.inputs));
    instance->fill_arena_pattern();
    CLEAVE_CHECK(instance->run());
    out.measured = instance->touched_arena_bytes() + out.program->report().placeholder_bytes;
    for (size_t k = 0; k < g.returns().size(); ++k)
      out.returns.push_back(law::result_bytes(*instance, g, k));
    if (const std::string stray = law::stray_write(g, r_.inputs, bound); !stray.empty())
      return bug("{}", stray);
    return out;
  }

  void compare(const Run& whole, const Run& now, int64_t budget) {
    for (size_t k = 0; k < whole.returns.size(); ++k)
      if (whole.returns[k] != now.returns[k])
        violate(fmt::format("budget {}: return {} has other bits", budget, k));
    if (now.planned > budget) violate(fmt::format("budget {}: planned {}", budget, now.planned));
    // A branch that isn't taken doesn't write its memory.
    if (branches_ ? now.measured > now.planned : now.measured != now.planned)
      violate(fmt::format("budget {}: measured {}, planned {}", budget, now.measured, now.planned));
  }

  // Random nodes of one operator, state (their last operand) and stream give the same bits, as far
  // as these depend on nothing else: masks, and nodes that read the random state alone. All of them
  // are returned.
  Status compare_masks(Graph g) {
    std::map<std::string, std::vector<size_t>> equal;  // by the call: places in `return`
    for (NodeId n = g.first_node(); n.valid(); n = g.next_node(n)) {
      const Node& node = g.node(n);
      if (!has(node.op->traits, Trait::random)) continue;
      const std::string call = fmt::format("{} {} of state {}", node.op->name,
                                           g.view(n).int_attr("stream"), node.inputs.back().v);
      for (uint32_t k = 0; k < node.output_count; ++k) {
        const Type& type = g.type(node.out(k));
        const bool mask = type.dtype == DType::boolean && node.op->name == "native_dropout";
        if (type.is_none || (!mask && node.inputs.size() != 1)) continue;
        equal[fmt::format("{} {}", call, k)].push_back(g.returns().size());
        g.add_return({node.out(k)});
      }
    }
    bool any = false;
    for (const auto& [call, places] : equal) any |= places.size() > 1;
    if (!any) return {};
    // Equal calls of random operators are never merged.
    options_.memory_budget = {};
    CLEAVE_TRY(auto program, CompiledProgram::compile(g, *ops_, options_));
    CLEAVE_TRY(const law::Memory all, law::run_program(program, r_.inputs, options_.threads));
    for (const auto& [call, places] : equal)
      for (size_t k = 1; k < places.size(); ++k) {
        ++verdict_.masks;
        if (all[places[0]] != all[places[k]]) violate(call + " has other bits when it runs again");
      }
    return {};
  }

  const RandomGraph& r_;
  const OpRegistry* ops_;
  StageOptions options_;
  bool branches_ = false;
  BudgetVerdict verdict_;
};

}  // namespace

Result<RandomStep> as_step(const RandomGraph& joint) {
  RandomStep out{joint};
  const Graph& g = joint.g;
  out.r.g = Graph(g.name());
  std::unordered_map<uint32_t, ValueId> map;
  for (const Placeholder& p : g.placeholders()) {
    const Role role = p.role == Role::tangent ? Role::input : p.role;
    CLEAVE_TRY(map[p.value.v],
               out.r.g.add_placeholder(role, g.name(p.value), g.type(p.value), false, p.sym));
  }
  CLEAVE_CHECK(copy_nodes(g, g.order(), out.r.g, map));
  for (const Return& r : g.returns()) {
    const bool is_update = r.kind == ReturnKind::update;
    out.forward_results += r.kind == ReturnKind::result;
    out.r.g.add_return({map.at(r.value.v), is_update ? ReturnKind::update : ReturnKind::result,
                        is_update ? map.at(r.target.v) : ValueId{}});
  }
  return out;
}

Result<BudgetVerdict> check_budgets(const RandomGraph& r, const OpRegistry& ops,
                                    const std::vector<double>& parts, const RunChoice& choice,
                                    size_t forward_results) {
  return Checker(r, ops, choice, forward_results).run(parts);
}

}  // namespace cleave::random
