// Program: a graph compiled, over memory of the caller.
#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bindings.h"
#include "cleave/graph_program.h"

namespace cleave::python {
namespace {

// Kernels that one program of the process has compiled, others take.
CompileOptions options_of(const std::string& text) {
  static const std::shared_ptr<Cache> kept = Cache::memory();
  CompileOptions out = CompileOptions::parse(text);
  if (out.cache_dir.empty()) out.cache = kept;
  out.log = python_log();
  out.executor = threads_of_openmp(out.threads);
  return out;
}

std::vector<DeviceTensor> tensors_of(nb::sequence inputs) {
  std::vector<DeviceTensor> out;
  out.reserve(nb::len(inputs));
  for (nb::handle t : inputs) out.push_back(tensor_of(t, Kept::by_caller));
  return out;
}

nb::list run(GraphProgram& program, nb::sequence inputs, const GraphProgram::Sizes& sizes) {
  const std::vector<DeviceTensor> tensors = tensors_of(inputs);
  HostTensors results = [&] {
    const nb::gil_scoped_release unlocked;
    const std::vector<InputRef> refs(tensors.begin(), tensors.end());
    return program.run(refs, sizes);
  }();
  nb::list out;
  for (HostTensor& t : results) out.append(to_python(std::move(t)));
  return out;
}

void prepare(GraphProgram& program, nb::sequence inputs, const GraphProgram::Sizes& sizes) {
  const std::vector<DeviceTensor> tensors = tensors_of(inputs);
  const nb::gil_scoped_release unlocked;
  program.prepare(std::vector<InputRef>(tensors.begin(), tensors.end()), sizes);
}

// Of a program that another thread may be compiling: this one must not hold the GIL meanwhile,
// which the log asks for.
template <class T>
T asked(const GraphProgram& program, T (GraphProgram::*what)() const) {
  const nb::gil_scoped_release unlocked;
  return (program.*what)();
}

nb::list kernels(const GraphProgram& program) {
  const std::vector<ProgramKernel> all = asked(program, &GraphProgram::kernels);
  nb::list out;
  for (const ProgramKernel& k : all)
    out.append(nb::make_tuple(k.name, k.kind, k.read_bytes, k.written_bytes));
  return out;
}

}  // namespace

void bind_program(nb::module_& m) {
  nb::class_<GraphProgram>(m, "Program", "A graph compiled, over memory of the caller.")
      .def(
          "__init__",
          [](GraphProgram* self, const TracedGraph& graph, const std::string& options) {
            new (self) GraphProgram(compile_graph(graph, options_of(options)));
          },
          nb::arg("graph"), nb::arg("options") = "",
          "options: the text of CompileOptions (doc/options.md), 'threads=4 strict=true'. Nothing "
          "is compiled before the first run.")
      .def("run", &run, nb::arg("inputs"), nb::arg("sizes") = GraphProgram::Sizes(),
           "One tensor for each input of the graph that is no symint, in order. Returns its "
           "results; updates are written where their inputs lie. Threads may run other programs "
           "and Python at the same time.")
      .def("prepare", &prepare, nb::arg("inputs"), nb::arg("sizes") = GraphProgram::Sizes(),
           "Compiles for inputs of these sizes; runs nothing.")
      .def_prop_ro("compiled_sizes",
                   [](const GraphProgram& p) { return asked(p, &GraphProgram::compiled_sizes); })
      .def_prop_ro(
          "recompiled_sizes",
          [](const GraphProgram& p) { return asked(p, &GraphProgram::recompiled_sizes); },
          "Sizes that a compiler ran for, the first two aside.")
      .def_prop_ro("graph", &GraphProgram::graph)
      .def(
          "report",
          [](const GraphProgram& p) { return report_dict(asked(p, &GraphProgram::report)); },
          "Of what ran last: compile_ms, kernels, planned_peak_bytes, ...")
      .def("kernels", &kernels,
           "(name, kind, bytes read, bytes written) of each step of what ran last, in order.");
  m.def(
      "check_options", [](const std::string& text) { CompileOptions::parse(text); },
      nb::arg("text"), "Raises UserError for a text that is none of CompileOptions.");
}

}  // namespace cleave::python
