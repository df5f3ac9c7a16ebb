// partition(): what the forward of a joint graph keeps for the backward.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bindings.h"
#include "cleave/options.h"
#include "cleave/partition.h"

namespace cleave::python {
namespace {

Partitioner partitioner_of(const std::string& mode, const std::string& budget) {
  if (mode == "exact") {
    if (budget.empty()) return Partitioner::exact();
    return Partitioner::exact(CompileOptions().with({{"memory_budget", budget}}).memory_budget);
  }
  if (mode == "pytorch") {
    const std::string fraction = budget.empty() ? "1" : budget;
    try {
      return Partitioner::pytorch(std::stod(fraction));
    } catch (const std::exception&) {
      throw Error(ErrorKind::user,
                  "partition: the budget of mode pytorch is " + budget + ", expected 0.0 to 1.0");
    }
  }
  if (mode == "default") return Partitioner::standard();
  throw Error(ErrorKind::user,
              "partition: the mode is " + mode + ", expected exact, pytorch or default");
}

nb::object cut(const TracedGraph& joint, const std::string& mode, const std::string& budget) {
  const PartitionedGraph p = [&] {
    const nb::gil_scoped_release unlocked;
    return partition(joint, partitioner_of(mode, budget));
  }();
  nb::list saved, recomputed;
  for (const KeptValue& v : p.saved)
    saved.append(nb::make_tuple(v.name, v.bytes, v.is_input, v.why));
  for (const std::string& name : p.recomputed) recomputed.append(name);
  nb::dict out;
  out["forward"] = p.forward;
  out["backward"] = p.backward;
  out["saved"] = saved;
  out["recomputed"] = recomputed;
  return out;
}

}  // namespace

void bind_partition(nb::module_& m) {
  m.def("joint_graph", &joint_graph, nb::arg("forward"),
        nb::arg("wants_grad") = std::vector<std::string>(),
        "The forward with its backward behind it: a tangent for each floating result, a gradient "
        "for each input named, by default for those that bear `grad`.",
        nb::call_guard<nb::gil_scoped_release>());
  m.def("partition", &cut, nb::arg("joint"), nb::arg("mode") = "exact", nb::arg("budget") = "",
        "Cuts a joint graph in two: mode exact with a budget such as '64MiB' or '60%', pytorch "
        "with a fraction, or default. Returns forward, backward, saved (name, bytes, is_input, "
        "why) and recomputed (names).");
}

}  // namespace cleave::python
