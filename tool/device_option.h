// --device D: where the values of a graph lie, and its program runs.
#pragma once
#include "base/device.h"
#include "compile/stages.h"
#include "ir/move_graph.h"
#include "tool/option_list.h"

namespace cleave::tool {

struct DeviceOption {
  std::string text;  // empty: not given

  void add_to(OptionList& options) {
    options.option("--device", text,
                   "cpu or cuda:N: the graph is moved there; otherwise it stays where its types "
                   "say");
  }
  // Error (user): another word.
  Result<std::optional<Device>> device() const {
    if (text.empty()) return std::optional<Device>();
    const std::optional<Device> found = device_named(text);
    if (!found) return user_error("--device {}: expected cpu, cuda or cuda:N", text);
    return found;
  }
  // Moves the graph, and sets the device of the options; without the option that is the graph's.
  Status apply(Graph& g, const OpRegistry& ops, CompileOptions& options) const {
    CLEAVE_TRY(const std::optional<Device> wanted, device());
    options.device = wanted ? *wanted : device_of(g);
    if (!wanted || lies_on(g, *wanted)) return {};
    CLEAVE_TRY(g, moved_to(g, *wanted, ops));
    return {};
  }
};

// For commands that run the program. Error (unsupported), with what is missing.
inline Status check_device_runs(const CompileOptions& options) {
  if (options.device.is_cpu()) return {};
  return planning_backend(options)->check_runs_here();
}

}  // namespace cleave::tool
