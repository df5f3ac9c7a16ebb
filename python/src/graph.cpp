// Graph: the text of a program, parsed and verified.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bindings.h"
#include "cleave/partial.h"

namespace cleave::python {
namespace {

nb::tuple uncovered(const TracedGraph& graph) {
  nb::list out;
  for (const OutsideCall& c : uncovered_calls(graph))
    out.append(nb::make_tuple(c.name, c.op, c.reason));
  return nb::tuple(out);
}

}  // namespace

void bind_graph(nb::module_& m) {
  nb::class_<GraphValue>(m, "Value", "A value that enters, leaves or is made by a graph.")
      .def_ro("name", &GraphValue::name)
      .def_ro("type", &GraphValue::type, "'f32[s0,2]'")
      .def_ro("shape", &GraphValue::shape, "Numbers, or expressions of the graph's symints.")
      .def_ro("role", &GraphValue::role,
              "param, buffer, const, input, tangent, saved, rng_state or symint; of a result: "
              "result, update or grad.")
      .def_ro("target", &GraphValue::target, "Of an update or a grad: the input.")
      .def_ro("wants_grad", &GraphValue::wants_grad, "Of an input: it bears `grad`.")
      .def_prop_ro("dtype", [](const GraphValue& v) { return std::string(name_of(v.dtype)); });
  nb::class_<TracedGraph>(m, "Graph", "A program as a value (doc/ir.md).")
      .def(
          "__init__",
          [](TracedGraph* self, const std::string& text, bool whole_complex) {
            new (self) TracedGraph(TracedGraph::parse(
                text, {}, whole_complex ? ComplexTensors::whole : ComplexTensors::in_parts));
          },
          nb::arg("text"), nb::arg("whole_complex") = false,
          "whole_complex: complex tensors are values of dtype c64, which no kernel reads; if not, "
          "their parts (doc/ir.md). Raises UserError for a text that is no graph, Unsupported for "
          "an operator without an entry.")
      .def_prop_ro("text", &TracedGraph::text)
      .def_prop_ro("name", &TracedGraph::name)
      .def_prop_ro("inputs", &TracedGraph::inputs)
      .def_prop_ro("results", &TracedGraph::results)
      .def("uncovered", &uncovered,
           "(name, operator, reason) of each call that cleave has no kernel for.")
      .def("__repr__", &TracedGraph::text);
  m.def("operators", [] { return Operators().names(); }, "The names of all operators.");
}

}  // namespace cleave::python
