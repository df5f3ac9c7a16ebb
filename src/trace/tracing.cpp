#include "trace/tracing.h"

#include "trace/recording.h"

namespace cleave::trace {

Tracing& tracing() {
  thread_local Tracing t;
  return t;
}

std::string module_note() {
  const Tracing& t = tracing();
  if (t.program == nullptr || t.module == nullptr) return "";
  const std::string path = t.program->module_path(t.module);
  return path.empty() ? "" : fmt::format("\n  in module `{}`", path);
}

std::string sizes_note() {
  const char* const sizes = tracing().sizes;
  return sizes == nullptr ? "" : fmt::format("\n  in the program for {}", sizes);
}

void note_reading(const VariableState& variable, Location at) {
  Recording* const program = tracing().program;
  if (program == nullptr) return;
  const std::string text = fmt::format(
      "{}: the value of `{}` is read while {} traces the function: it becomes a constant of the "
      "program; use the Variable as an operand, which each run reads, or read it before",
      text_of(at), variable.name, program->what());
  program->warn("traced_value", &variable, text);
}

}  // namespace cleave::trace
