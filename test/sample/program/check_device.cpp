// check_device [DEVICE [N [SEED [WORKERS [graphs]]]]]: what a device computes, against the oracle.
// First all samples of all operators, unless the last word is given; then N random graphs from SEED
// on, every other one with its gradients, each third in mixed precision, on so many threads at a
// time. Prints which operators are refused, with the reason, and what differs; exit status: 0
// nothing does, 1 something does, 2 it can't run.
#include <atomic>
#include <chrono>
#include <map>
#include <mutex>
#include <set>
#include <thread>

#include "cleave/executor.h"
#include "compile/stages.h"
#include "interp/interpret.h"
#include "interp/moved_oracle.h"
#include "ir/move_graph.h"
#include "ir/text.h"
#include "op/registry.h"
#include "test/sample/program/main.h"
#include "test/sample/random_graph.h"
#include "test/sample/run_program.h"
#include "test/sample/sample_call.h"

namespace cleave::random {
namespace {

// What one thread after the other reports.
class Log {
 public:
  void wrong(const std::string& text) {
    const std::lock_guard lock(mutex_);
    ++wrong_;
    report(text);
  }
  void refused(const std::string& what, const std::string& why) {
    const std::lock_guard lock(mutex_);
    refused_[what].insert(why);
  }
  int64_t wrong() const { return wrong_; }
  const std::map<std::string, std::set<std::string>>& refused() const { return refused_; }

 private:
  std::mutex mutex_;
  int64_t wrong_ = 0;
  std::map<std::string, std::set<std::string>> refused_;
};

class DeviceChecks {
 public:
  DeviceChecks(Device device, const OpRegistry& ops, size_t workers)
      : device_(device), ops_(ops), workers_(workers) {
    options_.device = device;
    options_.threads = 1;
    options_.backend = backend_for(options_);
    value_or_throw(options_.backend->check_runs_here());
  }

  void operators() {
    std::vector<const OpDef*> all;
    for (const auto& op : ops_.all())
      if (op->lower.present() && op->reference.present()) all.push_back(op.get());
    std::atomic<int64_t> samples = 0, passed = 0, whole = 0;
    in_turns(all.size(), [&](size_t k) {
      const OpDef& op = *all[k];
      const Samples of_op = op.samples();
      int64_t here = 0, right = 0;
      for (size_t s = 0; s < of_op.size(); ++s) {
        if (!law::is_static(of_op[s])) continue;
        ++here;
        right += sample(op, of_op[s], s);
      }
      samples += here, passed += right, whole += here == right;
    });
    fmt::print("{} operators, {} with all samples; {} samples, {} passed, {} wrong\n", all.size(),
               whole.load(), samples.load(), passed.load(), log_.wrong());
    for (const auto& [op, reasons] : log_.refused())
      for (const std::string& why : reasons) fmt::print("refused: {}: {}\n", op, why);
  }

  void graphs(uint64_t n, uint64_t seed) {
    std::atomic<int64_t> elements = 0, open = 0, refused = 0;
    const int64_t before = log_.wrong();
    in_turns(n, [&](size_t k) {
      const Result<Agreement> v = caught([&] { return graph(seed + k); });
      if (!v.ok() && is_unsupported(v.failure())) {
        ++refused;
        log_.refused("a graph", v.failure().message);
      } else if (!v.ok() || !v->difference.empty()) {
        const std::string why =
            v.ok() ? fmt::format("return {}, {}", v->at, v->difference) : v.failure().message;
        const std::string text = print(value_or_throw(drawn(seed + k)).g);
        log_.wrong(fmt::format("seed {}: {}\n{}\n", seed + k, why, text));
      } else {
        elements += v->elements, open += v->left_open;
      }
    });
    fmt::print(
        "{} graphs from seed {}: {} elements compared, {} left open by rounding, {} refused, "
        "{} differ\n",
        n, seed, elements.load(), open.load(), refused.load(), log_.wrong() - before);
    if (const auto at = log_.refused().find("a graph"); at != log_.refused().end())
      for (const std::string& why : at->second) fmt::print("refused: {}\n", why);
  }

  int64_t wrong() const { return log_.wrong(); }

 private:
  template <class Work>
  void in_turns(size_t n, const Work& work) {
    std::atomic<size_t> next = 0;
    std::vector<std::thread> threads;
    for (size_t w = 0; w < workers_; ++w)
      threads.emplace_back([&] {
        for (size_t k; (k = next++) < n;) work(k);
      });
    for (std::thread& t : threads) t.join();
  }

  // Whether it passed.
  bool sample(const OpDef& op, const Sample& sample, size_t number) {
    const auto tell = [&](const std::string& why) {
      log_.wrong(fmt::format("{}, sample {}: {}\n", op.name, number, why));
      return false;
    };
    Graph g("sample");
    Arrays inputs;
    const auto call = law::add_sample(g, op, sample, number, law::Floats::own, "s", inputs);
    if (!call.ok()) return tell(call.failure().message);
    const Node& node = g.node(call->node);
    for (uint32_t r = 0; r < node.output_count; ++r)
      if (!g.type(node.out(r)).is_none) g.add_return({node.out(r), ReturnKind::result, {}});
    const Result<Agreement> v = caught([&] { return compared(g, inputs, true); });
    if (v.ok()) return v->difference.empty() || tell(v->difference);
    if (!is_unsupported(v.failure())) return tell(v.failure().message);
    log_.refused(op.name, v.failure().message);
    return false;
  }

  Result<RandomGraph> drawn(uint64_t seed) const {
    CLEAVE_TRY(RandomGraph r, random_graph(ops_, seed, {}));
    if (seed % 3 == 0) {
      CLEAVE_TRY(const bool is_cast, cast_some(r, ops_, seed));
      (void)is_cast;
    }
    if (seed % 2 == 0) { CLEAVE_TRY(r, with_gradients(r, ops_, seed)); }
    return r;
  }
  Result<Agreement> graph(uint64_t seed) const {
    CLEAVE_TRY(const RandomGraph r, drawn(seed));
    return compared(r.g, r.inputs, false);
  }

  // as_it_is: without passes, so that the calls are those of the graph. The oracle's results are
  // those of the graph on the device: some have other dtypes there.
  Result<Agreement> compared(const Graph& g, const Arrays& inputs, bool as_it_is) const {
    Result<Graph> moved = moved_to(g, device_, ops_);
    if (!moved.ok()) return unsupported("on the device: {}", moved.failure().message);
    StageOptions options{options_};
    if (as_it_is) options.passes_off = {"all"};
    CLEAVE_TRY(const Arrays got, law::run_graph(*moved, ops_, inputs, options, 1));
    return compare_with_oracle(*moved, inputs, got,
                               as_it_is ? Narrowing::kept : Narrowing::may_be_dropped);
  }

  const Device device_;
  const OpRegistry& ops_;
  const size_t workers_;
  CompileOptions options_;
  Log log_;
};

int run(const Arguments& given) {
  const uint64_t n = given.number(2, "N", 200), seed = given.number(3, "SEED", 0),
                 workers = given.number(4, "WORKERS", 8);
  const OpRegistry ops = value_or_throw(core_ops());
  DeviceChecks checks(Device::parse(given.text(1, "cuda:0")), ops, workers);
  const auto timed = [](const char* what, const auto& work) {
    const auto start = std::chrono::steady_clock::now();
    work();
    const std::chrono::duration<double> s = std::chrono::steady_clock::now() - start;
    report(fmt::format("{}: {:.0f} s\n", what, s.count()));
  };
  if (given.text(5, "all") != "graphs") timed("operators", [&] { checks.operators(); });
  timed("graphs", [&] { checks.graphs(n, seed); });
  return checks.wrong() == 0 ? 0 : 1;
}

}  // namespace
}  // namespace cleave::random

int main(int argc, char** argv) {
  return cleave::random::exit_status(argc, argv, cleave::random::run);
}
