#include "lower/join_products.h"

#include <algorithm>

#include "lower/plan_memory.h"
#include "lower/thunk_uses.h"

namespace cleave {
namespace {

const LibraryCall* joining_call(const Thunk& thunk) {
  const auto* call = std::get_if<LibraryCall>(&thunk.work);
  return call && call->function && call->function->can_join() ? call : nullptr;
}

// The calls of a job so far, and the storages that they touch.
class Job {
 public:
  explicit Job(size_t storages) : touched_by_(storages), written_by_(storages) {}

  void begin() { ++number_; }
  bool takes(const Thunk& thunk) const {
    bool out = true;
    each(thunk, [&](size_t s, bool is_written) {
      out &= written_by_[s] != number_ && !(is_written && touched_by_[s] == number_);
    });
    return out;
  }
  void add(const Thunk& thunk) {
    each(thunk, [&](size_t s, bool is_written) {
      touched_by_[s] = number_;
      if (is_written) written_by_[s] = number_;
    });
  }

 private:
  template <class F>
  static void each(const Thunk& thunk, const F& f) {
    each_storage(thunk, [](const KernelCall&, size_t) { return false; }, f);
  }
  size_t number_ = 0;
  std::vector<size_t> touched_by_, written_by_;  // by storage: the last job that does
};

// Bytes of the arena by thunk.
struct AliveBytes {
  std::vector<int64_t> alive, begins;  // begins: of storages that this thunk touches first

  explicit AliveBytes(const LoweredProgram& p)
      : alive(p.thunks.size()), begins(p.thunks.size() + 1) {
    std::vector<int64_t> ends(p.thunks.size() + 2);  // of those that the thunk before touched last
    for (const Storage& s : p.storages) {
      if (s.placeholder >= 0 || s.first < 0) continue;
      begins[static_cast<size_t>(s.first)] += rounded(s.bytes);
      ends[static_cast<size_t>(s.last) + 1] += rounded(s.bytes);
    }
    int64_t now = 0;
    for (size_t i = 0; i < alive.size(); ++i) alive[i] = now += begins[i] - ends[i];
  }
};

// Joins what is alive at no more than `room` bytes. Lifetimes are those without jobs.
std::vector<JoinedCalls> jobs_within(const LoweredProgram& p, int64_t room) {
  const AliveBytes bytes(p);
  std::vector<JoinedCalls> out;
  for (const JoinedCalls& all : joinable_calls(p))
    for (size_t begin = all.begin, end = begin; begin < all.end; begin = end) {
      int64_t alive = bytes.alive[begin];
      for (end = begin + 1; end < all.end && alive + bytes.begins[end] <= room; ++end)
        alive += bytes.begins[end];
      if (end - begin > 1) out.push_back({begin, end});
    }
  return out;
}

}  // namespace

std::vector<JoinedCalls> joinable_calls(const LoweredProgram& p) {
  std::vector<bool> is_target(p.thunks.size() + 1);
  for (const Thunk& thunk : p.thunks)
    if (auto* jump = std::get_if<JumpCall>(&thunk.work)) is_target[jump->target] = true;
  std::vector<JoinedCalls> out;
  Job job(p.storages.size());
  for (size_t begin = 0, end = 0; begin < p.thunks.size(); begin = end) {
    end = begin + 1;
    if (!joining_call(p.thunks[begin])) continue;
    job.begin();
    job.add(p.thunks[begin]);
    while (end < p.thunks.size() && end - begin < max_joined_calls && !is_target[end] &&
           joining_call(p.thunks[end]) && job.takes(p.thunks[end]))
      job.add(p.thunks[end++]);
    if (end - begin > 1) out.push_back({begin, end});
  }
  return out;
}

Result<PlannedProgram> plan_joined(LoweredProgram program) {
  const int64_t room = measure_memory(program).arena;
  program.joined = jobs_within(program, room);
  CLEAVE_TRY(PlannedProgram planned, plan_memory(std::move(program)));
  if (planned.arena_bytes <= room || planned.lowered.joined.empty()) return planned;
  planned.lowered.joined.clear();
  return plan_memory(std::move(planned.lowered));
}

}  // namespace cleave
