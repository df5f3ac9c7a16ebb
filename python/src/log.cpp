// Lines of compilations as Python's logging has them, where a notebook shows them.
#include "bindings.h"

namespace cleave::python {

CompileLog python_log() {
  return [](LogLevel level, const std::string& text) {
    if (Py_IsInitialized() == 0) return;
    const nb::gil_scoped_acquire locked;
    try {
      const nb::object logger = nb::module_::import_("logging").attr("getLogger")("cleave");
      logger.attr(level == LogLevel::warning ? "warning" : "info")("%s", nb::str(text.c_str()));
    } catch (nb::python_error& e) {
      e.restore();
      PyErr_WriteUnraisable(nullptr);
    }
  };
}

}  // namespace cleave::python
