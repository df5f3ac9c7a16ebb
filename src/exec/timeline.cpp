// Spans in one array that is made beforehand, so that a run that is watched allocates nothing.
//
//   slot   0 1 2 3 ...       taken by an atomic counter, written by the thread that took it
//   thread its number, the names that are open on it, and the slot of the job whose pieces it runs:
//          a piece of the same job makes that span longer
#include "cleave/timeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

#include "base/json.h"
#include "base/write_file.h"
#include "run/run_observer.h"
#include "runtime/shared_threads.h"

namespace cleave {
namespace {

using Clock = RunObserver::Clock;
using Name = RunObserver::Name;

constexpr int64_t most_spans = int64_t{1} << 24;
constexpr size_t usual_threads = 1024;  // more take memory while they run
constexpr size_t deepest = 64;          // spans that are open on one thread; deeper ones are lost
std::atomic<uint64_t> timelines_made{0};

}  // namespace

struct Timeline::State {
  // Without initial values: an array of it takes memory where it is written.
  struct Slot {
    Name name;
    int32_t thread;
    int32_t pieces;  // 0: no pieces of a step
    int64_t begin_ns, end_ns;
  };
  struct Text {
    std::string name, kind;
  };
  State(std::shared_ptr<Executor> threads, int64_t limit)
      : threads(std::move(threads)), limit(limit), slots(new Slot[static_cast<size_t>(limit)]) {
    name("run", "run");  // RunObserver::whole
    thread_ids.reserve(usual_threads);
  }

  Name name(std::string_view text, std::string_view kind) {
    const std::lock_guard lock(mutex);
    const auto [at, is_new] = numbers.try_emplace({std::string(text), std::string(kind)},
                                                  static_cast<Name>(texts.size()));
    if (is_new) texts.push_back({at->first.first, at->first.second});
    return at->second;
  }

  int32_t thread();

  int64_t ns(Clock::time_point t) const {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(t - made).count();
  }

  // Null beyond the limit.
  Slot* add(Name name, Clock::time_point begin, Clock::time_point end) {
    const int64_t k = taken.fetch_add(1, std::memory_order_relaxed);
    if (k >= limit) return nullptr;
    Slot& s = slots[static_cast<size_t>(k)];
    s = {name, thread(), 0, ns(begin), ns(end)};
    return &s;
  }

  const std::shared_ptr<Executor> threads;
  const int64_t limit;
  const uint64_t id = ++timelines_made;
  const Clock::time_point made = Clock::now();
  const std::unique_ptr<Slot[]> slots;
  std::atomic<int64_t> taken{0};
  std::atomic<uint64_t> jobs{0};
  std::mutex mutex;  // of what follows
  std::vector<Text> texts;
  std::map<std::pair<std::string, std::string>, Name> numbers;
  std::vector<std::thread::id> thread_ids;  // by number
};

namespace {

// Of the calling thread.
struct Here {
  struct Open {
    Name name = 0;
    Clock::time_point begin;
  };
  std::array<Open, deepest> open;  // of all timelines: spans nest whichever they belong to
  size_t depth = 0;
  Name stage = 0;  // that is open
  Clock::time_point stage_began;
  uint64_t timeline = 0;  // the one whose number, job and pieces these are
  int32_t number = 0;
  uint64_t job = 0;
  Timeline::State::Slot* pieces = nullptr;
};
thread_local Here here;

}  // namespace

// The number of the calling thread.
int32_t Timeline::State::thread() {
  if (here.timeline == id) return here.number;
  const std::lock_guard lock(mutex);
  const auto at = std::ranges::find(thread_ids, std::this_thread::get_id());
  here.timeline = id;
  here.number = static_cast<int32_t>(at - thread_ids.begin());
  if (at == thread_ids.end()) thread_ids.push_back(std::this_thread::get_id());
  here.job = 0;
  return here.number;
}

namespace {

using StatePtr = std::shared_ptr<Timeline::State>;

class WatchedExecutor final : public Executor, public RunObserver {
 public:
  explicit WatchedExecutor(StatePtr state) : state_(std::move(state)) {}

  int threads() const override { return state_->threads->threads(); }
  void parallel_for(long pieces, void (*f)(void*, long), void* context) override {
    const bool runs = here.depth > 0 && here.depth <= deepest;
    Job job{*state_, ++state_->jobs, runs ? here.open[here.depth - 1].name : here.stage, f,
            context};
    state_->threads->parallel_for(
        pieces, [](void* given, long piece) { static_cast<Job*>(given)->run(piece); }, &job);
  }
  void with_threads(void (*f)(void*), void* context) override {
    state_->threads->with_threads(f, context);
  }

  Name add_name(std::string_view name, std::string_view kind) override {
    return state_->name("%" + std::string(name), kind);
  }
  void began(Name name) override {
    if (here.depth++ < deepest) here.open[here.depth - 1] = {name, Clock::now()};
  }
  void ended() override {
    if (--here.depth >= deepest) return;
    const Here::Open& open = here.open[here.depth];
    state_->add(open.name, open.begin, Clock::now());
  }

 private:
  struct Job {
    Timeline::State& state;
    uint64_t number;
    Name name;
    void (*f)(void*, long);
    void* context;

    void run(long piece) const {
      const Clock::time_point begin = Clock::now();
      f(context, piece);
      const Clock::time_point end = Clock::now();
      state.thread();  // of another timeline's job, or of none: `pieces` is dropped
      if (here.job == number && here.pieces != nullptr) {
        here.pieces->end_ns = state.ns(end);
        ++here.pieces->pieces;
      } else if (here.job != number) {
        here.job = number;
        here.pieces = state.add(name, begin, end);
        if (here.pieces != nullptr) here.pieces->pieces = 1;
      }
    }
  };
  const StatePtr state_;
};

class StageSpans final : public CompileObserver {
 public:
  explicit StageSpans(StatePtr state) : state_(std::move(state)) {}
  void before(std::string_view stage, const StageText& /*text*/) override {
    here.stage = state_->name(stage, "stage");
    here.stage_began = Clock::now();
  }
  void after(std::string_view /*stage*/, const StageText& /*text*/) override {
    state_->add(std::exchange(here.stage, 0), here.stage_began, Clock::now());
  }

 private:
  const StatePtr state_;
};

Json event(const Timeline::Span& s) {
  Json out = {{"name", s.name},
              {"cat", s.kind},
              {"ph", "X"},
              {"ts", static_cast<double>(s.begin_ns) / 1e3},
              {"dur", static_cast<double>(s.end_ns - s.begin_ns) / 1e3},
              {"pid", 1},
              {"tid", s.thread}};
  if (s.pieces > 0) out["args"] = {{"pieces", s.pieces}};
  return out;
}

Json named(const char* what, int64_t thread, const std::string& name) {
  return {{"name", what}, {"ph", "M"}, {"pid", 1}, {"tid", thread}, {"args", {{"name", name}}}};
}

}  // namespace

Timeline::Timeline(std::shared_ptr<Executor> threads, int64_t limit) {
  if (limit < 1 || limit > most_spans)
    throw_failure(user_error("Timeline: a limit of {} spans, expected 1 to {}", limit, most_spans));
  if (!threads) threads = value_or_throw(runtime::shared_threads(0));
  state_ = std::make_shared<State>(std::move(threads), limit);
}

std::shared_ptr<Executor> Timeline::executor() const {
  return std::make_shared<WatchedExecutor>(state_);
}

std::shared_ptr<CompileObserver> Timeline::observer() const {
  return std::make_shared<StageSpans>(state_);
}

void Timeline::add(const std::string& name, const std::string& kind, Clock::time_point begin,
                   Clock::time_point end) {
  state_->add(state_->name(name, kind), begin, end);
}

std::vector<Timeline::Span> Timeline::spans() const {
  const std::lock_guard lock(state_->mutex);
  std::vector<Span> out;
  const int64_t count = std::min(state_->taken.load(), state_->limit);
  for (int64_t k = 0; k < count; ++k) {
    const State::Slot& s = state_->slots[static_cast<size_t>(k)];
    const State::Text& text = state_->texts[s.name];
    out.push_back(
        {text.name, s.pieces > 0 ? "pieces" : text.kind, s.thread, s.pieces, s.begin_ns, s.end_ns});
  }
  std::ranges::stable_sort(
      out, {}, [](const Span& s) { return std::tuple(s.thread, s.begin_ns, -s.end_ns, s.pieces); });
  return out;
}

int64_t Timeline::dropped() const {
  return std::max<int64_t>(state_->taken.load() - state_->limit, 0);
}

std::string Timeline::text() const {
  std::string out =
      "{\"displayTimeUnit\":\"ns\",\"otherData\":" + Json{{"dropped_spans", dropped()}}.text() +
      ",\"traceEvents\":[\n" + named("process_name", 0, "cleave").text();
  int last = -1;
  std::string events;
  for (const Span& s : spans()) {
    if (s.thread != last)
      out += ",\n" + named("thread_name", s.thread, fmt::format("thread {}", s.thread)).text();
    last = s.thread;
    events += ",\n" + event(s).text();
  }
  return out + events + "\n]}\n";
}

void Timeline::write(const std::string& path) const {
  const std::string out = text();
  const std::span<const std::byte> bytes = std::as_bytes(std::span(out));
  value_or_throw(write_file(path, {&bytes, 1}));
}

}  // namespace cleave
