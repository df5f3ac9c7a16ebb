#include "compile/stage_runner.h"

#include "base/resident_bytes.h"

namespace cleave {

Status StageRunner::begin() const {
  for (size_t k = 0; k < observers_.size(); ++k)
    if (!observers_[k]) return user_error("observers: number {} is null", k);
  return dump_.begin();
}

void StageRunner::start() {
  edits_before_ = graph_.edits();
  inferred_before_ = graph_.infer_count();
  resident_before_ = resident_bytes();
  began_ = Clock::now();
}

void StageRunner::add_row(std::string_view name) {
  const std::chrono::duration<double, std::milli> ms = Clock::now() - began_;
  report_.stages.push_back({.name = std::string(name),
                            .ms = ms.count(),
                            .nodes = graph_.node_count(),
                            .edits = graph_.edits() - edits_before_,
                            .inferred = graph_.infer_count() - inferred_before_,
                            .grown_bytes = resident_bytes() - resident_before_});
  report_.compile_ms += ms.count();
}

void StageRunner::tell(Told told, Stage stage, const StageText& text) const {
  for (const std::shared_ptr<CompileObserver>& o : observers_)
    (o.get()->*told)(name_of(stage), text);
}

Status StageRunner::done(Stage stage, const StageText& text) {
  CLEAVE_CHECK(dump_.after(stage, text));
  tell(&CompileObserver::after, stage, text);
  return {};
}

}  // namespace cleave
