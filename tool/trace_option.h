// --trace t.json: when what ran, for ui.perfetto.dev (cleave/timeline.h).
#pragma once
#include "cleave/options.h"
#include "cleave/timeline.h"
#include "tool/graph_file.h"
#include "tool/option_list.h"

namespace cleave::tool {

class TraceOption {
 public:
  std::string path;  // empty: not given

  void add_to(OptionList& options) {
    options.option("--trace", path,
                   "when each stage, run, step and thread ran: NAME.json for ui.perfetto.dev, or "
                   "NAME.svg, a picture of the last run");
  }
  // Programs with these options, which have an executor, and the stages that make them are watched.
  void watch(CompileOptions& options) {
    if (path.empty()) return;
    timeline_.emplace(options.executor);
    options.executor = timeline_->executor();
    options.observers.push_back(timeline_->observer());
  }
  // Null where nothing is watched.
  Timeline* timeline() { return timeline_ ? &*timeline_ : nullptr; }
  // NAME.svg is a picture of the last run.
  Status write() const;

 private:
  std::optional<Timeline> timeline_;
};

}  // namespace cleave::tool
