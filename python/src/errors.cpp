// cleave::Error as exceptions of Python, one class for each kind:
//
//   Error(RuntimeError)      .kind: "user", "unsupported" or "bug"
//    ├ UserError(ValueError)
//    ├ Unsupported(NotImplementedError)
//    └ Bug
#include "bindings.h"
#include "cleave/error.h"

namespace cleave::python {
namespace {

PyObject* error_classes[3] = {};  // by ErrorKind; the module keeps them for the process's life

PyObject* made(nb::module_& m, const char* name, nb::handle bases, const char* kind,
               const char* doc) {
  nb::dict members;
  members["kind"] = nb::str(kind);
  const std::string full = std::string("cleave.") + name;
  PyObject* out = PyErr_NewExceptionWithDoc(full.c_str(), doc, bases.ptr(), members.ptr());
  if (out == nullptr) throw nb::python_error();
  m.attr(name) = nb::borrow(out);
  return out;
}

void translate(const std::exception_ptr& thrown, void*) {
  try {
    std::rethrow_exception(thrown);
  } catch (const Error& e) { PyErr_SetString(error_classes[static_cast<int>(e.kind())], e.what()); }
}

}  // namespace

void bind_errors(nb::module_& m) {
  const nb::handle base = made(m, "Error", PyExc_RuntimeError, "", "What cleave raises.");
  error_classes[0] = made(m, "UserError", nb::make_tuple(base, nb::handle(PyExc_ValueError)),
                          "user", "A graph, file, option or tensor is wrong.");
  error_classes[1] =
      made(m, "Unsupported", nb::make_tuple(base, nb::handle(PyExc_NotImplementedError)),
           "unsupported", "Legal, but not covered by cleave.");
  error_classes[2] = made(m, "Bug", nb::make_tuple(base), "bug", "A defect of cleave.");
  nb::register_exception_translator(translate);
}

}  // namespace cleave::python
