// Report of a program, as a dict.
#include "cleave/report.h"

#include <nanobind/stl/string.h>

#include "bindings.h"

namespace cleave::python {

nb::dict report_dict(const Report& r) {
  nb::dict out;
  out["compile_ms"] = r.compile_ms;
  out["cache"] = r.cache;
  out["nodes"] = r.nodes;
  out["kernels"] = r.kernels;
  out["distinct_kernels"] = r.distinct_kernels;
  out["planned_peak_bytes"] = r.planned_peak_bytes;
  out["arena_bytes"] = r.arena_bytes;
  out["moved_bytes"] = r.moved_bytes;
  out["stride_copies"] = r.count("stride_copies");
  nb::list warnings, stages;
  for (const Warning& w : r.warnings) warnings.append(nb::make_tuple(w.code, w.text));
  for (const CompileStage& s : r.stages) stages.append(nb::make_tuple(s.name, s.ms, s.nodes));
  out["warnings"] = warnings;
  out["stages"] = stages;
  return out;
}

}  // namespace cleave::python
