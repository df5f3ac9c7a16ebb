// cleave._core: graphs, programs and models of cleave, for Python. What it takes and returns is
// documented in cleave/_core.pyi, which is written from the texts here.
#include "bindings.h"

NB_MODULE(_core, m) {
  m.doc() = "cleave's compiler: graphs, programs, models";
  m.attr("__version__") = CLEAVE_VERSION;
  nanobind::set_leak_warnings(false);  // PyTorch keeps compiled functions to the process's end
  cleave::python::bind_errors(m);
  cleave::python::bind_tensor(m);
  cleave::python::bind_graph(m);
  cleave::python::bind_program(m);
  cleave::python::bind_partition(m);
  cleave::python::bind_model(m);
  cleave::python::bind_step(m);
}
