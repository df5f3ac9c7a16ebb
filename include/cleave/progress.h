// A line on stderr that says how far a run is; nothing where stderr is no terminal.
//
//   ProgressLine progress(steps);
//   for (int64_t i = 0; i < steps; ++i) {
//     const double loss = step.run({x, y}).loss;
//     progress.show(i + 1, "loss " + std::to_string(loss));
//   }
//   // [#########...........] 450/1000  loss 1.932100  0:24 left
#pragma once
#include <chrono>
#include <cstdint>
#include <string>

#include "cleave/error.h"

namespace cleave {

class CLEAVE_API ProgressLine {
 public:
  // Of a run that is resumed, `done` were done before.
  explicit ProgressLine(int64_t total, int64_t done = 0);
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  // Drawn at most ten times a second, and when all is done.
  void show(int64_t done, const std::string& text);
  // Removes it, before other output.
  void clear();

 private:
  using Clock = std::chrono::steady_clock;
  std::string left(int64_t done) const;

  int64_t total_, begin_;
  bool is_terminal_, is_drawn_ = false;
  Clock::time_point started_, shown_ = {};
};

// 83.4 s as "1:23".
CLEAVE_API std::string clock_text(double seconds);

}  // namespace cleave
