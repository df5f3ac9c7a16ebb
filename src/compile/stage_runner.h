// What is around every stage, in one place: its observers and the dump, its row in the report, and
// the name of the stage in what goes wrong.
//
//   StageRunner run(options, graph, report, dump);
//   CLEAVE_CHECK(run.begin());
//   CLEAVE_TRY(LoweredProgram p, run(Stage::lower, graph, [&] { return lower(graph); }));
//
// What an observer throws passes through as it is: no stage is open then.
#pragma once
#include <chrono>

#include "compile/at_stage.h"
#include "compile/dump.h"

namespace cleave {

class StageRunner {
 public:
  // `graph` is the one whose rows these are; all of them must outlive it.
  StageRunner(const StageOptions& options, const Graph& graph, Report& report, Dump dump = Dump(""))
      : observers_(options.observers), graph_(graph), report_(report), dump_(std::move(dump)) {}

  // Errors (user): a null observer; those of Dump.
  Status begin() const;

  // `run` returns what the stage leaves, or a Status if it has changed `from`. A result that has no
  // text of its own (stage_text.h) is told by that of `from`.
  template <class From, class Run>
  auto operator()(Stage stage, const From& from, const Run& run) -> decltype(run()) {
    tell(&CompileObserver::before, stage, text_of(from));
    auto out = measured(stage, run);
    if (!out.ok()) return out;
    if constexpr (requires { files_of(*out); })
      CLEAVE_CHECK(done(stage, text_of(*out)));
    else
      CLEAVE_CHECK(done(stage, text_of(from)));
    return out;
  }

  // What is no stage, and has a row alone.
  template <class Run>
  auto apart(std::string_view name, const Run& run) -> decltype(run()) {
    start();
    const Row row{*this, name};
    return run();
  }

  // The running stage has made another graph, with counts of its own.
  void made_another_graph() { edits_before_ = inferred_before_ = 0; }

 private:
  using Clock = std::chrono::steady_clock;
  using Told = void (CompileObserver::*)(std::string_view, const StageText&);

  template <class T>
  static StageText text_of(const T& left) {
    return StageText([&left] { return files_of(left); });
  }
  template <class Run>
  auto measured(Stage stage, const Run& run) -> decltype(run()) {
    start();
    const Row row{*this, name_of(stage)};
    return at_stage(stage, run);
  }
  // Adds a row at the end of its scope.
  struct Row {
    StageRunner& runner;
    std::string_view name;
    ~Row() { runner.add_row(name); }
  };
  void start();
  void add_row(std::string_view name);
  void tell(Told told, Stage stage, const StageText& text) const;
  Status done(Stage stage, const StageText& text);

  const std::vector<std::shared_ptr<CompileObserver>> observers_;
  const Graph& graph_;
  Report& report_;
  Dump dump_;
  Clock::time_point began_;
  int64_t edits_before_ = 0, inferred_before_ = 0, resident_before_ = 0;
};

}  // namespace cleave
