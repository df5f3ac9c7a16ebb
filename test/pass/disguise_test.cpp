// The result of the passes doesn't depend on the form of a graph: with other names, inputs in
// another order, unused inputs, or calls in another order, the passes give the same graph and the
// same plan.
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "compile/plan_program.h"
#include "ir/edit.h"
#include "ir/move_graph.h"
#include "test/prepared.h"
#include "test/random_inputs.h"
#include "test/sample/check_passes.h"
#include "test/sample/shuffled_calls.h"

namespace cleave::random {
namespace {

using test::core;

struct Disguise {
  bool names = false, inputs = false, more_inputs = false, calls = false;
};

class Disguiser {
 public:
  Disguiser(const Graph& from, uint64_t seed, const Disguise& what)
      : from_(from), rng_(seed), what_(what) {}

  Graph run() {
    for (const size_t i : placeholder_order()) {
      const Placeholder& p = from_.placeholders()[i];
      if (what_.more_inputs && below(3) == 0) add_unread();
      map_[p.value.v] = value_or_throw(to_.add_placeholder(
          p.role, name_of_copy(p.value), from_.type(p.value), p.wants_grad, p.sym));
    }
    if (what_.more_inputs) add_unread();
    for (const NodeId n : call_order()) add(n);
    for (const Return& r : from_.returns()) {
      Return made{map_.at(r.value.v), r.kind, {}};
      if (r.target.valid()) made.target = map_.at(r.target.v);
      to_.add_return(made);
    }
    return std::move(to_);
  }

  // Placeholders of the copy by those of the original.
  ValueId copy_of(ValueId v) const { return map_.at(v.v); }

 private:
  size_t below(size_t n) { return static_cast<size_t>(rng_() % n); }
  std::string name_of_copy(ValueId v) {
    return what_.names ? fmt::format("z{}.{}", below(1000), v.v) : from_.name(v);
  }
  void add_unread() {
    const ValueId v = value_or_throw(to_.add_placeholder(
        Role::input, fmt::format("unread.{}", unread_++),
        from_.type(from_.placeholders()[below(from_.placeholders().size())].value)));
    (void)v;
  }

  // Inputs and parameters change places; others stand where they stood.
  std::vector<size_t> placeholder_order() {
    std::vector<size_t> all(from_.placeholders().size()), movable;
    for (size_t i = 0; i < all.size(); ++i) {
      all[i] = i;
      const Role role = from_.placeholders()[i].role;
      if (role == Role::input || role == Role::param) movable.push_back(i);
    }
    if (!what_.inputs) return all;
    std::vector<size_t> moved = movable;
    std::ranges::shuffle(moved, rng_);
    for (size_t k = 0; k < movable.size(); ++k) all[movable[k]] = moved[k];
    return all;
  }

  std::vector<NodeId> call_order() {
    return what_.calls ? shuffled_calls(from_, rng_) : from_.order();
  }

  void add(NodeId n) {
    const Node& node = from_.node(n);
    NodeSpec spec;
    spec.op = node.op;
    spec.list_size = node.list_size;
    spec.tag = node.tag;
    for (const ValueId v : node.inputs)
      spec.inputs.push_back(v.valid() && !v.is_number() ? map_.at(v.v) : v);
    for (const auto& [arg, value] : node.attrs.given()) spec.attrs.set(arg, value);
    for (uint32_t k = 0; k < node.output_count; ++k)
      spec.names.push_back(name_of_copy(node.out(k)));
    const NodeId made = value_or_throw(to_.add_node(std::move(spec)));
    for (uint32_t k = 0; k < node.output_count; ++k) {
      const ValueId copy = map_[node.out(k).v] = to_.node(made).out(k);
      if (const auto& strides = from_.type(node.out(k)).strides) to_.set_strides(copy, strides);
    }
  }

  const Graph& from_;
  std::mt19937_64 rng_;
  Disguise what_;
  Graph to_{"main"};
  std::map<uint32_t, ValueId> map_;
  int unread_ = 0;
};

// Two graphs have equal structures where they compute the same by the same calls, whatever their
// names and order. Numbers of calls are shared by the graphs that one Structures has seen.
class Structures {
 public:
  // `numbers`: of the placeholders; those that aren't in it are read by nothing.
  std::vector<int> of(const Graph& g, std::map<uint32_t, int> numbers) {
    std::vector<int> calls;
    for (NodeId n = g.first_node(); n.valid(); n = g.next_node(n)) {
      const Node& node = g.node(n);
      std::string key = node.op->name;
      for (const auto& [arg, value] : node.attrs.given())
        key += fmt::format(";{}={}", arg, value.text());
      for (const ValueId v : node.inputs)
        key += v.valid() && !v.is_number() ? fmt::format(",{}", numbers.at(v.v)) : ",-";
      for (uint32_t k = 0; k < node.output_count; ++k)
        numbers[node.out(k).v] = number(fmt::format("{}:{}{}", key, k, g.type(node.out(k)).text()));
      calls.push_back(number(key));
    }
    std::ranges::sort(calls);
    for (const Return& r : g.returns()) calls.push_back(numbers.at(r.value.v));
    return calls;
  }

 private:
  int number(const std::string& key) {
    return numbers_.try_emplace(key, static_cast<int>(numbers_.size()) + 1000).first->second;
  }
  std::map<std::string, int> numbers_;
};

struct Outcome {
  std::vector<int> rewritten;
  int64_t arena_bytes = 0;
  size_t kernels = 0;
};

Outcome outcome_of(Graph g, const std::map<uint32_t, int>& numbers, Structures& structures) {
  Outcome out;
  // What is far away hangs on the order of calls.
  const CompileOptions options{.passes_off = {"recompute_dropout_masks"}};
  for (const PassStage stage : pass_stages) value_or_throw(run_stage(stage, g, core(), options));
  out.rewritten = structures.of(g, numbers);
  const CompileOptions where{.device = device_of(g)};
  value_or_throw(test::prepare(g, true, where));
  const std::shared_ptr<Backend> backend = planning_backend(where);
  const PlannedProgram plan = value_or_throw(plan_program(g, *backend));
  out.arena_bytes = plan.arena_bytes;
  out.kernels = plan.lowered.thunks.size();
  return out;
}

struct Seen {
  int disguised = 0, other_graphs = 0, other_plans = 0;
  std::string text;  // of the first with another graph, or plan if none has
};

Seen compare(const Disguise& what) {
  Seen seen;
  for (uint64_t seed = 0; seed < 150; ++seed) {
    RandomGraph r = value_or_throw(pass_graph(core(), seed));
    if (seed % 2 == 1) r = value_or_throw(with_gradients(r, core(), seed));
    eliminate_dead_code(r.g);
    if (!lies_on(r.g, device_of(r.g))) continue;  // no program: something is created elsewhere
    Disguiser disguiser(r.g, seed, what);
    const Graph copy = disguiser.run();
    std::map<uint32_t, int> numbers, numbers_of_copy;
    for (size_t i = 0; i < r.g.placeholders().size(); ++i) {
      const ValueId v = r.g.placeholders()[i].value;
      numbers[v.v] = numbers_of_copy[disguiser.copy_of(v).v] = static_cast<int>(i);
    }
    Structures structures;
    const Outcome a = outcome_of(r.g, numbers, structures);
    const Outcome b = outcome_of(copy, numbers_of_copy, structures);
    seen.disguised += print(copy) != print(r.g);
    const bool other_graph = a.rewritten != b.rewritten;
    const bool other_plan = a.arena_bytes != b.arena_bytes || a.kernels != b.kernels;
    seen.other_graphs += other_graph;
    seen.other_plans += other_plan;
    if ((other_plan && seen.text.empty()) || (other_graph && seen.other_graphs == 1))
      seen.text =
          fmt::format("seed {}: {} and {} bytes, {} and {} kernels\n{}{}", seed, a.arena_bytes,
                      b.arena_bytes, a.kernels, b.kernels, print(r.g), print(copy));
  }
  return seen;
}

void expect_one_plan(const Disguise& what) {
  const Seen seen = compare(what);
  EXPECT_GE(seen.disguised, 80);
  EXPECT_EQ(seen.other_graphs, 0) << seen.text;
  EXPECT_EQ(seen.other_plans, 0) << seen.text;
}

TEST(Disguise, other_names) { expect_one_plan({.names = true}); }

TEST(Disguise, inputs_in_another_order) { expect_one_plan({.inputs = true}); }

TEST(Disguise, inputs_that_nothing_reads) { expect_one_plan({.more_inputs = true}); }

TEST(Disguise, calls_in_another_order) {
  const Seen seen = compare({.calls = true});
  EXPECT_GE(seen.disguised, 80);
  EXPECT_EQ(seen.other_graphs, 0) << seen.text;
}

}  // namespace
}  // namespace cleave::random
