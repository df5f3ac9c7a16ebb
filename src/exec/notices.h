// What the programs of one compile() or train_step() say while they are compiled: to
// CompileOptions::log, or, where there is none, warnings to stderr.
#pragma once
#include <set>
#include <span>
#include <string>

#include "cleave/compile_log.h"
#include "cleave/report.h"

namespace cleave {

// One thread at a time.
class Notices {
 public:
  explicit Notices(CompileLog log = nullptr) : log_(std::move(log)) {}

  // `what` is compiled, for these sizes; empty: they don't vary.
  void begins(const std::string& what, const std::string& sizes) const;
  // Says the warnings of the report, too, but those that were said of another program.
  void is_ready(const std::string& what, const std::string& sizes, const Report& report);
  void warn(std::span<const Warning> warnings);

 private:
  const CompileLog log_;
  std::set<std::string> said_;
};

}  // namespace cleave
