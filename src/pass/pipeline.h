// The passes in one table: when each runs, why there, and what it may assume.
#pragma once
#include <span>

#include "cleave/options.h"
#include "pass/pass.h"

namespace cleave {

// The state of the program when a pass runs.
//   pre_grad    a forward graph
//   joint       forward and backward in one graph, before the cut
//   freeze      the same, after the joint passes have reached their fixed point
//   post_grad   the same, without what a frozen program computes once
//   decomposed  calls in the form in which they are lowered
enum class PassStage : uint8_t { pre_grad, joint, freeze, post_grad, decomposed };
constexpr PassStage pass_stages[] = {PassStage::pre_grad, PassStage::joint, PassStage::freeze,
                                     PassStage::post_grad, PassStage::decomposed};
std::string_view name_of(PassStage stage);

struct PassRow {
  PassStage stage;
  int list;  // 0, 1, 2: the passes of one list run together to a fixed point
  Pass (*pass)();
  const char* why;           // why it is at this place
  const char* assumes;       // what it may assume
  bool asked = false;        // runs only if CompileOptions::passes_on names it
  bool again = false;        // an earlier row has the same pass
  bool pays_frozen = false;  // runs unasked where CompileOptions::freeze is set
  bool pays_on_gpu = false;  // runs unasked where the target is a GPU
};
std::span<const PassRow> pass_table();

// Erases dead code and runs the passes of a stage in order, and the host program's rules and
// function passes of this point. In strict programs none of cleave's own runs before grad if
// anything is trained: gradients would be summed in another order. Of the options it reads
// passes_off, passes_on, strict, freeze, target, device, rules and functions. Errors (user): a name
// in passes_off or passes_on that isn't a pass; those of the host program's passes.
Result<std::vector<CompilePass>> run_stage(PassStage stage, Graph& graph, const OpRegistry& ops,
                                           const CompileOptions& options,
                                           RuleTimes times = RuleTimes::none);

// Whether a pass of the table, or all of them in passes_off, bear this name.
bool is_pass(const std::string& name);
// Returns the pass of this name, which settings may follow (pass_setting.h). Errors (user): unknown
// name, with the nearest one; those of the settings.
Result<Pass> find_pass(const std::string& text);

}  // namespace cleave
