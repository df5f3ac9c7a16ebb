// Names what depends on no placeholder and is dear to compute, which the stage then takes out of
// the program: its first instance computes it, and each run reads it.
//
//   %c = cos(%angles)   ->   %_FOLDED_CONST_c = cos(%angles)
//
// Which values these are stands in constant_values.h. Equal ones are one, whatever their checkpoint
// tags say: each layer of a model may write down the same table.
// Weights of distances by a logarithm, f32[512,512], added to scores f32[8,512,512]: 1.2 ms of a
// core less for each run, and a kernel less, for 1 MiB (AVX-512, a Xeon, 2026-11-29).
#include "ir/edit.h"
#include "pass/freeze/constant_values.h"
#include "pass/freeze/frozen_values.h"
#include "pass/pass_setting.h"
#include "pass/passes.h"

namespace cleave {
namespace {

// Calls that the values depend on are one where they are equal.
void merge_equal_calls(Graph& g, const Values& values) {
  std::vector<bool> reached(g.node_capacity());
  const auto reach = [&](ValueId v) {
    if (v.valid() && g.value(v).def.valid()) reached[g.value(v).def.v] = true;
  };
  for (const ValueId v : values) reach(v);
  for (NodeId n = g.last_node(); n.valid(); n = g.prev_node(n)) {
    if (!reached[n.v]) continue;
    g.set_tag(n, {});
    for (const ValueId v : g.node(n).inputs) reach(v);
  }
  eliminate_common_subexpressions(g, [&](NodeId n) { return reached[n.v]; });
}

Result<PassCount> run(Graph& g, const ConstantLimits& limits) {
  const Values values = dear_constants(g, limits);
  if (values.empty()) return PassCount();
  merge_equal_calls(g, values);
  CLEAVE_TRY(const int64_t named, name_folded(g, dear_constants(g, limits)));
  return PassCount{named, named};
}

}  // namespace

Pass compute_once() {
  Pass pass{.name = "compute_once",
            .summary = "tables that depend on no placeholder are computed once, for all runs",
            .outermost = true};
  const ConstantLimits usual;
  pass.settings = {{"least_flops", usual.least_flops, 0, "for each 4 bytes of a value"},
                   {"least_work", usual.least_work, 0, "flops of a value in all"}};
  pass.make_run = [](const std::vector<PassSetting>& settings) -> Pass::Run {
    const ConstantLimits limits{.least_flops = setting(settings, "least_flops"),
                                .least_work = setting(settings, "least_work")};
    return [limits](Graph& g, const OpRegistry&) { return run(g, limits); };
  };
  pass.run = pass.make_run(pass.settings);
  return pass;
}

}  // namespace cleave
