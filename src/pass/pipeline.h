// The passes, as one table: what runs when, why there, and what it may assume.
#pragma once
#include <span>

#include "pass/pass.h"

namespace cleave {

// Where a program is when a pass runs.
//   pre_grad    a forward graph
//   joint       forward and backward in one graph, before the cut
//   post_grad   the same, once no pass of joint has anything left
//   decomposed  calls that are lowered as they are
enum class PassStage : uint8_t { pre_grad, joint, post_grad, decomposed };
constexpr PassStage pass_stages[] = {PassStage::pre_grad, PassStage::joint, PassStage::post_grad,
                                     PassStage::decomposed};
std::string_view name_of(PassStage stage);

struct PassRow {
  PassStage stage;
  int list;  // 0, 1, 2: the passes of one list run together, to their common end
  Pass (*pass)();
  const char* why;      // why it stands here
  const char* assumes;  // what it may assume
  bool asked = false;   // runs only where PassOptions::on names it
  bool again = false;   // an earlier row has this pass
};
std::span<const PassRow> pass_table();

// Drops what nothing reads and runs the passes of a stage in their order; in strict programs none
// before grad where something is trained: gradients would be summed up in another order. Errors
// (user): a name in options.off or options.on that no pass has.
Result<std::vector<CompilePass>> run_stage(PassStage stage, Graph& graph, const OpRegistry& ops,
                                           const PassOptions& options);

// The pass of this name. Error (user): there is none, with the nearest name.
Result<Pass> find_pass(const std::string& name);

}  // namespace cleave
