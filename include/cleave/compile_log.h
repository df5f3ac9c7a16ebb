// Where compiling says what it does.
//
//   CompileOptions options{.log = [](LogLevel level, const std::string& text) {
//     syslog(level == LogLevel::warning ? LOG_WARNING : LOG_INFO, "cleave: %s", text.c_str());
//   }};
//
//   info      "compile: begins", "train_step: begins, for B=7"
//   info      "compile: ready after 12.3 ms (trace 2.1 ms), cache: miss"
//   warning   the text of a Warning (cleave/report.h)
//
// Each compilation has its two lines, but one that fails: its error is thrown. A warning is said
// once for each step or function, however many programs that has. All lines of one compilation come
// from the thread that compiles, one after the other; what the function throws ends the
// compilation, as what an observer throws does. What only runs can tell comes from the thread that
// runs (cudagraphs).
#pragma once
#include <cstdint>
#include <functional>
#include <string>

namespace cleave {

enum class LogLevel : uint8_t { info, warning };
using CompileLog = std::function<void(LogLevel level, const std::string& text)>;

}  // namespace cleave
