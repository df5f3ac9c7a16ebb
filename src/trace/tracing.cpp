#include "trace/tracing.h"

#include <cstdio>
#include <mutex>
#include <set>

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

namespace {

// A process says each text once.
void say_once(const std::string& text) {
  static std::mutex mutex;
  static std::set<std::string> said;
  const std::scoped_lock lock(mutex);
  if (said.insert(text).second) std::fprintf(stderr, "cleave: warning: %s\n", text.c_str());
}

}  // namespace

void note_reading(const VariableState& variable, Location at) {
  Recording* const program = tracing().program;
  if (program == nullptr) return;
  const std::string text = fmt::format(
      "{}: the value of `{}` is read while {} traces the function: it becomes a constant of the "
      "program; use the Variable as an operand, which each run reads, or read it before",
      text_of(at), variable.name, program->what());
  if (program->warn("traced_value", &variable, text)) say_once(text);
}

}  // namespace cleave::trace
