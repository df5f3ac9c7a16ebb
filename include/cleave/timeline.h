// When what ran, as a file for ui.perfetto.dev or chrome://tracing.
//
//   Timeline timeline;
//   TrainStep step = train_step(model, loss, optimizer, inputs,
//                               {.compile = {.executor = timeline.executor(),
//                                            .observers = {timeline.observer()}}});
//   for (int i = 0; i < 10; ++i) step.run({x, y});
//   timeline.write("step.json");
//
//   thread 0   | lower | emit | build |   | run                          | run
//                                         | %h kernel | %y product |       ...
//   thread 1                                | %h |      | %y |
//
// Spans of stages are of compilations with observer(); those of runs, of their steps (kernels and
// library calls), and of the threads at work on them are of programs that run on executor(). A
// program that isn't given these costs nothing more than without this header; of one that is, each
// span costs two readings of the clock.
#pragma once
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cleave/compile_observer.h"
#include "cleave/executor.h"

namespace cleave {

// A handle: copies are the same timeline, and one that was moved from is still the same one.
class CLEAVE_API Timeline {
 public:
  using Clock = std::chrono::steady_clock;

  Timeline(const Timeline&) = default;
  Timeline& operator=(const Timeline&) = default;

  // `threads` is what programs run on; null: cleave's own, one for each core. Keeps the first
  // `limit` spans, for which it takes memory here, and counts the others. Errors (user): a limit
  // below 1 or above 2^24; the system starts no threads.
  explicit Timeline(std::shared_ptr<Executor> threads = nullptr, int64_t limit = 1 << 20);

  // For CompileOptions::executor and ::observers. Both may be used by several programs and threads.
  std::shared_ptr<Executor> executor() const;
  std::shared_ptr<CompileObserver> observer() const;

  // A span of the host program's own, on the track of the calling thread. Of one thread, spans
  // either nest or don't meet. `kind` is the category by which a viewer filters.
  void add(const std::string& name, const std::string& kind, Clock::time_point begin,
           Clock::time_point end);

  struct Span {
    std::string name;  // of the stage, the step's first value ("%h"), "run", or the host program's
    // stage, run, step kinds as in cleave/report.h (kernel, product, ...), pieces: a thread at work
    // on a step, or what the host program says.
    std::string kind;
    int thread = 0;                    // in the order in which they came
    int pieces = 0;                    // that the thread took of a step; else 0
    int64_t begin_ns = 0, end_ns = 0;  // since the timeline was made
  };
  // By thread, then by their begin, what contains others before these. To be called, as what
  // follows, while nothing runs.
  std::vector<Span> spans() const;
  int64_t dropped() const;  // beyond the limit

  // The trace event format: {"traceEvents": [{"name", "cat", "ph": "X", "ts", "dur", "pid", "tid"},
  // ...]}, times in microseconds since the timeline was made.
  std::string text() const;
  // Writes it, the file whole or not at all. Errors (user): those of the file system.
  void write(const std::string& path) const;

  struct State;

 private:
  std::shared_ptr<State> state_;
};

}  // namespace cleave
