// fuzz_reduce [N [SEED [FOLDER [JOBS]]]]: N random graphs from SEED on, forward and joint in turns,
// each with a defect planted in one of its operators, or in two that must both be there, of any
// size or of a least one (test/tool/planted/core_ops.cpp): a wrong result, a crash, a broken
// invariant, a slow compilation, one without end. `cleave reduce` finds it by --check wrong, crash
// or slow; whether it could have left out one thing more is found by brute force
// (test/sample/single_steps.h). What it leaves is in FOLDER as planted_SEED.small.clv. Prints a row
// for each kind of defect. Exit status: 0 all are 1-minimal, 1 some are not, 2 it can't run.
#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <set>
#include <thread>

#include "base/child_process.h"
#include "base/write_file.h"
#include "import/safetensors.h"
#include "interp/array_memory.h"
#include "ir/text.h"
#include "op/registry.h"
#include "test/sample/program/main.h"
#include "test/sample/random_graph.h"
#include "test/sample/single_steps.h"

namespace cleave::random {
namespace {

struct Kind {
  const char* name;
  const char* check;     // of cleave reduce
  double limit_seconds;  // of each try
};
constexpr Kind kinds[] = {{"wrong", "wrong", 60},
                          {"crash", "crash", 60},
                          {"defect", "crash", 60},
                          {"slow", "slow", 0.5},
                          {"hang", "crash", 1}};

struct Row {
  int64_t graphs = 0, calls = 0, left = 0, most_left = 0, tries = 0, steps = 0, not_minimal = 0;
  double seconds = 0;
};

// Elementwise operators that are lowered as they are.
const std::set<std::string> plantable = {"acos", "asin",  "atan", "cos",  "cosh", "erf", "exp",
                                         "log",  "log1p", "sin",  "sinh", "sqrt", "tan", "tanh"};

std::vector<std::string> plantable_in(const Graph& g) {
  std::set<std::string> found;
  for (NodeId n = g.first_node(); n.valid(); n = g.next_node(n))
    if (plantable.contains(g.node(n).op->name)) found.insert(g.node(n).op->name);
  return {found.begin(), found.end()};
}

// "KIND:OP+OP2:N"; empty: the graph has nothing to plant it in.
std::string plant_for(const Kind& kind, const Graph& g, uint64_t seed) {
  const std::vector<std::string> ops = plantable_in(g);
  if (ops.empty()) return "";
  const size_t at = seed / 7 % ops.size();
  std::string out = fmt::format("{}:{}", kind.name, ops[at]);
  if (seed % 3 == 1 && ops.size() > 1) out += "+" + ops[(at + 1) % ops.size()];
  if (seed % 4 == 2) out += ":7";
  return out;
}

Status write_given(const GivenGraph& given, const std::string& stem) {
  CLEAVE_CHECK(write_file(stem + ".clv", print(given.g)));
  std::vector<std::vector<std::byte>> memory;
  std::vector<TensorEntry> entries;
  for (const Array& a : given.inputs) memory.push_back(to_memory(a));
  for (size_t k = 0; k < memory.size(); ++k)
    entries.push_back({given.g.name(given.g.placeholders()[k].value), given.inputs[k].dtype,
                       given.inputs[k].shape, memory[k]});
  return write_safetensors(stem + ".safetensors", entries);
}

Result<GivenGraph> read_given(const std::string& stem, const OpRegistry& ops) {
  std::ifstream file(stem + ".clv");
  const std::string text((std::istreambuf_iterator<char>(file)), {});
  CLEAVE_TRY(Program p, parse(text, stem, ops));
  GivenGraph out{std::move(p.main), {}, {}};
  if (out.g.placeholders().empty()) return out;
  CLEAVE_TRY(const SafetensorsFile tensors, SafetensorsFile::open(stem + ".safetensors"));
  for (const Placeholder& p : out.g.placeholders())
    for (const TensorEntry& e : tensors.entries())
      if (e.name == out.g.name(p.value))
        out.inputs.push_back(from_memory(e.dtype, e.shape, e.data.data()));
  return out;
}

class Planter {
 public:
  Planter(const OpRegistry& ops, std::string folder)
      : ops_(ops), folder_(std::move(folder)),
        command_(std::filesystem::read_symlink("/proc/self/exe").parent_path() / "cleave_planted") {
  }

  // False: the defect doesn't show in this graph.
  Result<bool> one(uint64_t seed) {
    const Kind& kind = kinds[seed % std::size(kinds)];
    CLEAVE_TRY(GivenGraph given, random_graph(ops_, seed, {.min_nodes = 15, .max_nodes = 50}));
    if (seed % 2 == 0) { CLEAVE_TRY(given, with_gradients(given, ops_, seed)); }
    const std::string plant = plant_for(kind, given.g, seed);
    if (plant.empty()) return false;
    const std::string stem = fmt::format("{}/planted_{}", folder_, seed), small = stem + ".small";
    CLEAVE_CHECK(write_given(given, stem));
    CLEAVE_TRY(const ChildEnd end,
               shell(plant,
                     fmt::format("reduce {0}.clv --in {0}.safetensors --check {1} --limit {2} -o "
                                 "{3}.clv --json > {3}.json",
                                 stem, kind.check, kind.limit_seconds, small),
                     {}));
    if (end.number == 1) return false;
    if (end.how != ChildEnd::How::exit || end.number != 0)
      return bug("seed {}, {}: reduce: {}: {}", seed, plant, end.text(), end.messages);
    return check(seed, kind, plant, given.g.node_count(), small);
  }

  void print_rows() const {
    fmt::print("{:<8}{:>8}{:>8}{:>8}{:>8}{:>8}{:>10}{:>8}{:>15}\n", "planted", "graphs", "calls",
               "left", "most", "tries", "seconds", "steps", "not minimal");
    for (const Kind& kind : kinds) {
      const Row& row = rows_[&kind - kinds];
      const auto mean = [&](auto sum) {
        return static_cast<double>(sum) / static_cast<double>(std::max<int64_t>(row.graphs, 1));
      };
      fmt::print("{:<8}{:>8}{:>8.1f}{:>8.2f}{:>8}{:>8.1f}{:>10.2f}{:>8}{:>15}\n", kind.name,
                 row.graphs, mean(row.calls), mean(row.left), row.most_left, mean(row.tries),
                 mean(row.seconds), row.steps, row.not_minimal);
    }
  }
  bool all_minimal() const {
    return std::ranges::all_of(rows_, [](const Row& row) { return row.not_minimal == 0; });
  }

 private:
  Result<ChildEnd> shell(const std::string& plant, const std::string& words,
                         const ChildLimits& limits) const {
    const std::string line =
        fmt::format("CLEAVE_PLANT={} exec {} {}", plant, command_.string(), words);
    return run_child({"/bin/sh", "-c", line}, limits);
  }

  // Brute force on what is left in `small`.
  Result<bool> check(uint64_t seed, const Kind& kind, const std::string& plant, size_t calls,
                     const std::string& small) {
    CLEAVE_TRY(const GivenGraph left, read_given(small, ops_));
    const std::vector<SingleStep> steps = single_steps(left);
    std::vector<std::string> failing;
    CLEAVE_TRY(const bool itself, fails(kind, plant, left, small + ".step"));
    if (!itself) failing.emplace_back("it doesn't fail itself");
    for (const SingleStep& step : steps) {
      CLEAVE_TRY(const bool still, fails(kind, plant, step.graph, small + ".step"));
      if (still) failing.push_back(step.what);
    }
    int64_t calls_left = 0, tries = 0;
    double seconds = 0;
    std::ifstream json(small + ".json");
    const std::string text((std::istreambuf_iterator<char>(json)), {});
    if (std::sscanf(text.c_str(), R"({"calls":%ld,"tries":%ld,"seconds":%lf)", &calls_left, &tries,
                    &seconds) != 3)
      return bug("seed {}: {}", seed, text);
    const std::lock_guard lock(mutex_);
    Row& row = rows_[&kind - kinds];
    ++row.graphs;
    row.calls += static_cast<int64_t>(calls);
    row.left += calls_left;
    row.most_left = std::max(row.most_left, calls_left);
    row.tries += tries;
    row.seconds += seconds;
    row.steps += static_cast<int64_t>(steps.size());
    row.not_minimal += !failing.empty();
    for (const std::string& what : failing)
      report(fmt::format("seed {}, {}: still fails: {}\n{}\n", seed, plant, what, print(left.g)));
    return true;
  }

  Result<bool> fails(const Kind& kind, const std::string& plant, const GivenGraph& g,
                     const std::string& stem) const {
    CLEAVE_CHECK(write_given(g, stem));
    const std::string name = kind.name;
    const std::string words =
        fmt::format("run {0}.clv --in {0}.safetensors --random --cache off{1}", stem,
                    name == "wrong" ? " --compare" : "");
    CLEAVE_TRY(ChildEnd end, shell(plant, words, {.seconds = kind.limit_seconds}));
    if (name == "slow" && end.seconds >= kind.limit_seconds) {
      CLEAVE_TRY(end, shell(plant, words, {.seconds = kind.limit_seconds}));
    }
    const auto says = [&](const char* what) {
      return end.number == 3 && end.messages.find(what) != std::string::npos;
    };
    if (name == "wrong") return says("compare: ");
    if (name == "defect") return says("planted in ");
    if (name == "crash") return end.how == ChildEnd::How::signal;
    return end.seconds >= kind.limit_seconds;
  }

  const OpRegistry& ops_;
  const std::string folder_;
  const std::filesystem::path command_;
  std::mutex mutex_;
  Row rows_[std::size(kinds)];
};

int run(const Arguments& given) {
  const uint64_t n = given.number(1, "N", 100), first = given.number(2, "SEED", 0),
                 jobs = given.number(4, "JOBS", 2);
  const std::string folder = given.text(3, "build/planted_graphs");
  value_or_throw(make_folder(folder));
  const OpRegistry ops = value_or_throw(core_ops());
  Planter planter(ops, folder);
  std::atomic<uint64_t> seed = first;
  std::atomic<uint64_t> done[std::size(kinds)] = {};
  std::atomic<int64_t> broken = 0, without = 0;
  const auto is_done = [&](const std::atomic<uint64_t>& graphs) {
    return graphs >= (n + std::size(kinds) - 1) / std::size(kinds);
  };
  const auto work = [&] {
    while (!std::ranges::all_of(done, is_done)) {
      const uint64_t mine = seed++;
      std::atomic<uint64_t>& graphs = done[mine % std::size(kinds)];
      if (is_done(graphs)) continue;
      const Result<bool> one = caught([&] { return planter.one(mine); });
      if (!one.ok()) report(fmt::format("seed {}: {}\n", mine, one.failure().message));
      broken += !one.ok();
      without += one.ok() && !*one;
      graphs += !one.ok() || *one;
    }
  };
  std::vector<std::thread> threads;
  for (uint64_t k = 0; k < std::max<uint64_t>(jobs, 1); ++k) threads.emplace_back(work);
  for (std::thread& t : threads) t.join();
  planter.print_rows();
  fmt::print("{} graphs more had no operator to plant it in, or didn't show it\n", without.load());
  return broken > 0 || !planter.all_minimal();
}

}  // namespace
}  // namespace cleave::random

int main(int argc, char** argv) {
  return cleave::random::exit_status(argc, argv, cleave::random::run);
}
