// What `cleave reduce` asks of each graph: --check CMD|wrong|crash|slow, in a process of its own.
//
//   CMD      /bin/sh -c CMD, {} being the graph's file and {in} that of its inputs; without {} the
//            graph's file is its last word. Fails: an exit status that isn't 0, a signal, no end
//   wrong    cleave run --compare: the results differ from those of the reference engine
//   crash    cleave run: a signal, a defect (exit status 3), no end
//   slow     cleave run, compilation included, takes longer than the limit, twice
//
// A failure has a kind: the exit status or signal, that there is no end, what a defect's message
// says but for names and numbers. A smaller graph fails if it does so by the kind of the given one.
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "base/child_process.h"
#include "interp/given_graph.h"

namespace cleave::tool {

struct CheckChoice {
  std::string check;               // CMD, wrong, crash or slow
  double limit_seconds = 0;        // 0: 60; of slow: half of what the given graph takes
  int64_t memory_bytes = 0;        // 0: no limit
  std::vector<std::string> words;  // of `cleave run`, behind the graph and its inputs

  bool is_command() const { return check != "wrong" && check != "crash" && check != "slow"; }
  // Whether each graph comes with the inputs that it is to fail on.
  bool needs_inputs() const;
};

class ReduceCheck {
 public:
  // `folder` is for the graphs that are tried; `stop` is asked while one is, which then doesn't
  // fail.
  ReduceCheck(CheckChoice choice, std::string folder, std::function<bool()> stop);

  // Takes the given graph's failure as the one to look for. Errors (user): it doesn't fail, which
  // says how it ended; it fails in another way than the check asks for; CMD isn't found.
  Status begin(const GivenGraph& given);
  // Whether it fails as the given graph did. Errors (user): a file can't be written.
  Result<bool> fails(const GivenGraph& g);

  const std::string& failure() const { return failure_; }  // "signal 11 (Segmentation fault)"
  int64_t tries() const { return tries_; }                 // processes started

 private:
  Status find_limit(const GivenGraph& given);
  Result<ChildEnd> run(const GivenGraph& g, double limit_seconds);
  std::vector<std::string> command(const GivenGraph& g) const;
  std::string kind_of(const ChildEnd& end) const;  // empty: it doesn't fail

  const CheckChoice choice_;
  const std::string graph_path_, inputs_path_;
  const std::function<bool()> stop_;
  double limit_seconds_ = 0;
  std::string kind_, failure_;
  int64_t tries_ = 0;
};

}  // namespace cleave::tool
