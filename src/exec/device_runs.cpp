#include "exec/device_runs.h"

#include <algorithm>
#include <span>

#include "run/queue_graph.h"

namespace cleave {

// What is left of the runs when the instance is gone.
class DeviceRuns::Use final : public DeviceUse {
 public:
  explicit Use(DeviceRuns& runs) : runs_(&runs) {}
  Status settle() override {
    const std::lock_guard lock(mutex_);
    return runs_ ? runs_->settle() : Status();
  }
  void wait() override {
    const std::lock_guard lock(mutex_);
    if (!runs_) return;
    const std::lock_guard all(runs_->mutex_);
    runs_->settle_all();
  }
  void wait_for(const StartedRun& run) override {
    const std::lock_guard lock(mutex_);
    if (!runs_) return;
    const std::lock_guard all(runs_->mutex_);
    runs_->wait_for(run);
  }
  void end() {
    const std::lock_guard lock(mutex_);
    runs_ = nullptr;
  }

 private:
  std::mutex mutex_;
  DeviceRuns* runs_;
};

DeviceRuns::DeviceRuns(Runner& runner, DeviceOperands& operands, Told told, GraphCounts& counts,
                       bool notes, const std::string& waits)
    : runner_(runner), operands_(operands), told_(std::move(told)), counts_(counts),
      waits_(!waits.empty()), notes_(notes), use_(std::make_shared<Use>(*this)) {
  if (notes_ && waits_) skip_graphs("incompatible op " + waits);
}

DeviceRuns::~DeviceRuns() {
  use_->wait();
  static_cast<Use&>(*use_).end();
}

void DeviceRuns::skip_graphs(std::string reason) {
  const std::lock_guard lock(mutex_);
  if (!notes_ || !counts_.reason.empty()) return;
  counts_.reason = std::move(reason);
  for (Turn& turn : turns_) turn = {};
}

Status DeviceRuns::run(const Instance::Release* release) {
  const std::lock_guard lock(mutex_);
  settle_all();
  CLEAVE_CHECK(taken_failure());
  if (must_wait()) return run_waiting(release);
  CLEAVE_CHECK(queue(0, release));
  started_[count_++] = {0, nullptr};
  settle_first();
  return taken_failure();
}

Status DeviceRuns::start(std::shared_ptr<StartedRun> run) {
  const std::lock_guard lock(mutex_);
  if (must_wait()) settle_all();
  const bool shares = operands_.has_updates() || operands_.writes_shared();
  while (count_ == ArenaMemory::turns || (shares && count_ > 0)) settle_first();
  CLEAVE_CHECK(taken_failure());
  if (must_wait()) {
    Status ran = run_waiting(nullptr);
    run->ended(ran);
    return ran;
  }
  const size_t turn = count_ == 0 ? 0 : 1 - started_[0].turn;
  CLEAVE_CHECK(queue(turn, nullptr));
  started_[count_++] = {turn, std::move(run)};
  if (operands_.has_updates()) {
    settle_first();
    return taken_failure();
  }
  return {};
}

Status DeviceRuns::settle() {
  const std::lock_guard lock(mutex_);
  settle_all();
  return taken_failure();
}

Status DeviceRuns::taken_failure() {
  if (!failure_) return {};
  untold_.clear();
  return *std::exchange(failure_, {});
}

void DeviceRuns::settle_all() {
  while (count_ > 0) settle_first();
}

void DeviceRuns::wait_for(const StartedRun& run) {
  const auto is_queued = [&] {
    return std::ranges::any_of(std::span(started_, count_),
                               [&](const Started& s) { return s.run.get() == &run; });
  };
  while (is_queued()) settle_first();
  if (std::ranges::find(untold_, &run) != untold_.end()) failure_.reset();
}

// The oldest run. If it failed, those behind it have done nothing.
void DeviceRuns::settle_first() {
  const Started first = taken_first();
  const std::optional<QueuedFault> fault = arena().finish_turn(first.turn);
  operands_.end(first.turn, !fault);
  if (!fault) {
    if (first.run) first.run->ended({});
    return;
  }
  failure_ = told_(runner_.failed(*fault), first.turn);
  const auto fail = [&](const Started& started) {
    if (!started.run) return;
    untold_.push_back(started.run.get());
    started.run->ended(*failure_);
  };
  untold_.clear();
  fail(first);
  while (count_ > 0) fail(taken_first());
}

DeviceRuns::Started DeviceRuns::taken_first() {
  Started first = std::move(started_[0]);
  for (size_t k = 1; k < count_; ++k) started_[k - 1] = std::move(started_[k]);
  started_[--count_] = {};
  return first;
}

Status DeviceRuns::queue(size_t turn, const Instance::Release* release) {
  void* const beside = count_ > 0 ? arena().copy_queue() : nullptr;
  CLEAVE_CHECK(operands_.copy_in(turn, beside ? beside : arena().queue(), release));
  if (beside != nullptr) arena().join_copies();
  Status called = call(turn);
  operands_.unbind_released();
  CLEAVE_CHECK(std::move(called));
  arena().mark(turn);
  return {};
}

Status DeviceRuns::call(size_t turn) {
  if (!notes_) return queue_calls(turn);
  if (!counts_.reason.empty()) {
    ++counts_.skipped;
    return queue_calls(turn);
  }
  pointers_.clear();
  for (size_t p = 0; p < runner_.placeholder_count(); ++p) pointers_.push_back(runner_.bound(p));
  auto& [graph, pointers] = turns_[turn];
  if (graph && graph->holds(pointers_)) {
    ++counts_.launched;
    return graph->launch();
  }
  const bool stay = pointers == pointers_;
  pointers = pointers_;
  if (!stay) return queue_calls(turn);
  if (!graph) graph = arena().make_graph();
  if (!graph) {
    notes_ = false;
    return queue_calls(turn);
  }
  return note(*graph, turn);
}

Status DeviceRuns::queue_calls(size_t turn, const CallOrder* order) {
  order != nullptr ? runner_.queue_calls(*order) : runner_.queue_calls();
  CLEAVE_CHECK(operands_.copy_out(turn));
  arena().copy_faults(turn);
  return {};
}

Status DeviceRuns::note(QueueGraph& graph, size_t turn) {
  const CallOrder order = runner_.call_order();
  if (order.has_lanes()) CLEAVE_CHECK(arena().reserve_lanes(CallOrder::lanes, order.calls.size()));
  CLEAVE_CHECK(graph.begin(pointers_));
  Status calls;
  try {
    calls = queue_calls(turn, &order);
  } catch (const Error& e) {  // a call that waits or allocates
    calls = unsupported("%{}: {}", runner_.called().name, e.what());
  }
  Status noted = graph.end();
  if (calls.ok() && noted.ok()) {
    ++counts_.recorded;
    ++counts_.launched;
    return graph.launch();
  }
  counts_.reason = calls.ok() ? "incompatible op: " + noted.failure().message
                              : "incompatible op " + calls.failure().message;
  ++counts_.skipped;
  for (Turn& each : turns_) each = {};
  return queue_calls(turn);
}

// Calls that wait for each other.
Status DeviceRuns::run_waiting(const Instance::Release* release) {
  if (notes_ && waits_) ++counts_.skipped;
  CLEAVE_CHECK(operands_.copy_in(0, arena().queue(), release));
  Status copied;
  const Runner::AtEnd copy_out = [&] { copied = operands_.copy_out(0); };
  const std::optional<FailedThunk> failed = runner_.run(nullptr, &copy_out);
  operands_.unbind_released();
  CLEAVE_CHECK(std::move(copied));
  operands_.end(0, !failed);
  if (failed) return told_(*failed, 0);
  return {};
}

}  // namespace cleave
