#include "run/runner.h"

#include <algorithm>
#include <array>
#include <chrono>

#include "base/poison.h"
#include "run/thunk_storages.h"

namespace cleave {
namespace {

// A kernel that touches no more is over before most of a GPU has begun.
constexpr int64_t small_bytes = int64_t{1} << 20;

// Null until the placeholder is bound.
std::byte* at(std::byte* base, int64_t offset) { return base ? base + offset : nullptr; }

}  // namespace

// In AddressSanitizer builds thunks may touch only the arena storages that they name.
class Runner::ThunkMemory {
 public:
  ThunkMemory(const Runner& run, std::span<const Thunk> thunks) : run_(run), thunks_(thunks) {
    if (run_.watches_arena()) each(allow);
  }
  ~ThunkMemory() {
    if (run_.watches_arena()) each(forbid);
  }
  ThunkMemory(const ThunkMemory&) = delete;
  ThunkMemory& operator=(const ThunkMemory&) = delete;

 private:
  void each(void (*mark)(const void*, size_t)) const {
    for (const Thunk& thunk : thunks_)
      for (const size_t s : storages_of(thunk)) {
        const Storage& storage = run_.program_.thunks.storages[s];
        if (storage.placeholder < 0 && storage.bytes > 0)
          mark(run_.base_[s], static_cast<size_t>(storage.bytes));
      }
  }
  const Runner& run_;
  const std::span<const Thunk> thunks_;
};

// Times a thunk whose call's return is its end from its construction to its destruction.
class Runner::ThunkClock {
 public:
  ThunkClock(Runner& run, size_t thunk)
      : run_(run.times_.empty() || run.times_queue() ? nullptr : &run), thunk_(thunk) {
    if (run_) begin_ = Clock::now();
  }
  ~ThunkClock() {
    if (run_) run_->add_time(thunk_, std::chrono::nanoseconds(Clock::now() - begin_).count());
  }
  ThunkClock(const ThunkClock&) = delete;
  ThunkClock& operator=(const ThunkClock&) = delete;

 private:
  using Clock = std::chrono::steady_clock;
  Runner* const run_;  // null: it isn't timed here
  const size_t thunk_;
  Clock::time_point begin_;
};

// Tells the observer, if there is one, of the time from its construction to its destruction.
class Runner::Watched {
 public:
  Watched(RunObserver* observer, RunObserver::Name name) : observer_(observer) {
    if (observer_) observer_->began(name);
  }
  ~Watched() {
    if (observer_) observer_->ended();
  }
  Watched(const Watched&) = delete;
  Watched& operator=(const Watched&) = delete;

 private:
  RunObserver* observer_;
};

Runner::Runner(const RunnableProgram& program, std::shared_ptr<ArenaMemory> arena,
               std::shared_ptr<Executor> executor)
    : program_(program), arena_(std::move(arena)), executor_(std::move(executor)),
      observer_(dynamic_cast<RunObserver*>(executor_.get())),
      last_reads_(last_reads(program.thunks)) {
  const auto& storages = program_.thunks.storages;
  base_.resize(storages.size());
  std::byte* const nothing = arena_->queue() == nullptr ? nothing_ : arena_->data();
  for (size_t s = 0; s < storages.size(); ++s) {
    if (storages[s].placeholder >= 0) {
      const auto placeholder = static_cast<size_t>(storages[s].placeholder);
      if (placeholder >= placeholder_storage_.size()) placeholder_storage_.resize(placeholder + 1);
      placeholder_storage_[placeholder] = s;
    } else {
      base_[s] = storages[s].bytes > 0 ? arena_->data() + program_.offsets[s] : nothing;
    }
  }
  size_t foreign = 0;
  for (const Thunk& thunk : program_.thunks.thunks) {
    if (observer_) names_.push_back(observer_->add_name(thunk.name, kind_of(thunk)));
    first_pointer_.push_back(pointers_.size());
    job_end_.push_back(first_pointer_.size());
    foreign_number_.push_back(std::holds_alternative<ForeignCall>(thunk.work) ? foreign++ : 0);
    if (auto* k = std::get_if<KernelCall>(&thunk.work))
      for (size_t s : k->storages) add_pointer(s);
    if (auto* l = std::get_if<LibraryCall>(&thunk.work)) add_pointers(*l);
    if (auto* t = std::get_if<TransferCall>(&thunk.work)) add_pointer(t->storage);
    if (auto* f = std::get_if<ForeignCall>(&thunk.work)) {
      for (const auto& s : f->operands) s ? add_pointer(*s) : pointers_.push_back(nullptr);
      for (size_t s : f->results) add_pointer(s);
    }
  }
  for (const JoinedCalls& job : program_.thunks.joined) job_end_[job.begin] = job.end;
  std::ranges::stable_sort(slots_, {}, &Slot::storage);
  for (size_t s = 0, k = 0; s <= storages.size(); ++s) {
    while (k < slots_.size() && slots_[k].storage < s) ++k;
    first_slot_.push_back(k);
  }
}

void Runner::add_pointer(size_t storage) {
  pointers_.push_back(nullptr);
  set_pointer(pointers_.size() - 1, storage, 0);
}

void Runner::set_pointer(size_t position, size_t storage, int64_t offset) {
  slots_.push_back({storage, position, offset});
  pointers_[position] = at(base_[storage], offset);
}

// Pointers to the operands by position, then to the workspace.
void Runner::add_pointers(const LibraryCall& call) {
  const size_t first = pointers_.size();
  pointers_.resize(first + max_library_operands + 1);
  for (const LibraryCall::Operand& o : call.operands)
    set_pointer(first + o.position, o.storage, o.layout.offset * size_of(o.dtype));
  if (call.workspace) set_pointer(first + max_library_operands, *call.workspace, 0);
}

void Runner::bind(size_t placeholder, void* data) {
  const size_t storage = placeholder_storage_[placeholder];
  base_[storage] = static_cast<std::byte*>(data);
  for (size_t k = first_slot_[storage]; k < first_slot_[storage + 1]; ++k)
    pointers_[slots_[k].position] = at(base_[storage], slots_[k].offset);
}

const Storage* Runner::find_unbound() const {
  for (const size_t at : placeholder_storage_) {
    const Storage& s = program_.thunks.storages[at];
    if (!base_[at] && s.bytes > 0 && s.first >= 0) return &s;
  }
  return nullptr;
}

bool Runner::is_taken(const JumpCall& jump) const {
  return !jump.unless || !arena_->flag(base_[jump.unless->storage] + jump.unless->offset);
}

std::optional<FailedThunk> Runner::run(const Release* release, const AtEnd* at_end) {
  struct Call {
    Runner& runner;
    const Release* release;
    const AtEnd* at_end;
    std::optional<FailedThunk> failed = {};
  } call{*this, release, at_end};
  executor_->with_threads(
      [](void* given) {
        Call& c = *static_cast<Call*>(given);
        c.failed = c.runner.run_thunks(c.release, c.at_end);
      },
      &call);
  return call.failed;
}

std::optional<FailedThunk> Runner::run_thunks(const Release* release, const AtEnd* at_end) {
  const Forbidden arena(arena_->data(), watches_arena() ? arena_bytes() : 0);
  const Watched whole(observer_, RunObserver::whole);
  RunContext context{*executor_, arena_->queue(), arena_->fault()};
  const auto& thunks = program_.thunks.thunks;
  size_t released = 0;
  const auto passes = [&](size_t thunk) {
    for (; released < last_reads_.size() && last_reads_[released].end <= thunk; ++released) {
      const size_t placeholder = last_reads_[released].placeholder;
      if ((*release)(placeholder)) base_[placeholder_storage_[placeholder]] = nullptr;
    }
  };
  start_times(thunks.size());
  for (size_t i = 0; i < thunks.size(); ++i) {
    if (release != nullptr) passes(i);
    // Watched calls run one by one, so that each has its time.
    const size_t end = is_watched() ? i + 1 : job_end_[i];
    const ThunkMemory memory(*this, {thunks.data() + i, end - i});
    if (end > i + 1) {
      call_joined(i, end, context);
      i = end - 1;
      continue;
    }
    const Watched watched(observer_, observer_ ? names_[i] : 0);
    const ThunkClock clock(*this, i);
    if (auto* jump = std::get_if<JumpCall>(&thunks[i].work)) {
      if (jump->unless)  // a failed check leaves the flag as it was
        if (auto failed = finish()) return failed;
      if (is_taken(*jump)) i = jump->target - 1;  // ++i makes it the target, also for target 0
      if (jump->unless) start_times(1);
    } else if (const auto fault = call(i, context)) {
      return FailedThunk{i, *fault};
    } else if (times_queue()) {
      arena_->mark_time();
      marked_.push_back(i);
    }
    if (observer_ != nullptr) {
      if (auto failed = finish()) return failed;
      start_times(1);
    }
  }
  if (release != nullptr) passes(thunks.size());
  if (at_end != nullptr) (*at_end)();
  return finish();
}

std::optional<Fault> Runner::call(size_t thunk, RunContext& context) {
  context.thunk = static_cast<int64_t>(thunk);
  void** const at = pointers_.data() + first_pointer_[thunk];
  const auto& work = program_.thunks.thunks[thunk].work;
  if (auto* k = std::get_if<KernelCall>(&work))
    return program_.kernels[k->kernel]->call(at, k->scalars.data(), context);
  if (auto* l = std::get_if<LibraryCall>(&work))
    l->function->call(at, at[max_library_operands], context);
  else if (auto* t = std::get_if<TransferCall>(&work))
    transfer(*t, static_cast<std::byte*>(*at));
  else if (auto* f = std::get_if<ForeignCall>(&work))
    program_.foreign[foreign_number_[thunk]](at, at + f->operands.size());
  return {};
}

void Runner::call_joined(size_t begin, size_t end, RunContext& context) {
  std::array<LibraryRun, max_joined_calls> calls;
  for (size_t i = begin; i < end; ++i) {
    void** const at = pointers_.data() + first_pointer_[i];
    const auto* call = std::get_if<LibraryCall>(&program_.thunks.thunks[i].work);
    calls[i - begin] = {call->function.get(), at, at[max_library_operands]};
  }
  calls[0].function->call_joined({calls.data(), end - begin}, context);
}

void Runner::transfer(const TransferCall& call, std::byte* at) {
  using Step = TransferCall::Step;
  if (call.step == Step::end_out || call.step == Step::end_in) return arena_->end_copy(call.number);
  arena_->begin_copy({.number = call.number,
                      .is_out = call.step == Step::begin_out,
                      .at = at,
                      .host_offset = call.host_offset,
                      .bytes = program_.thunks.storages[call.storage].bytes});
}

void Runner::queue_calls() {
  RunContext context{*executor_, arena_->queue(), arena_->fault()};
  for (called_ = 0; called_ < program_.thunks.thunks.size(); ++called_) call(called_, context);
}

void Runner::queue_calls(const CallOrder& order) {
  for (size_t lane = 1; lane < CallOrder::lanes; ++lane)
    if (std::ranges::find(order.calls, lane, &CallOrder::Call::lane) != order.calls.end())
      arena_->fork_lane(lane);
  for (called_ = 0; called_ < program_.thunks.thunks.size(); ++called_) {
    const CallOrder::Call& c = order.calls[called_];
    for (const size_t before : c.waits) arena_->wait_for_call(c.lane, before);
    RunContext context{*executor_, arena_->lane(c.lane), arena_->fault()};
    call(called_, context);
    if (c.is_waited_for) arena_->end_call(c.lane, called_);
  }
  for (const size_t before : order.ends) arena_->wait_for_call(0, before);
}

CallOrder Runner::call_order() const {
  std::vector<CallUse> uses;
  for (const Thunk& thunk : program_.thunks.thunks) {
    CallUse use{.may_fail = thunk.may_fail};
    // A copy goes on behind the call that begins it.
    const bool is_copy = std::holds_alternative<TransferCall>(thunk.work);
    int64_t bytes = 0;
    const auto writes = [&](const KernelCall& k, size_t b) {
      return program_.kernels[k.kernel]->writes(b);
    };
    each_storage(thunk, writes, [&](size_t s, bool is_written) {
      const int64_t size = program_.thunks.storages[s].bytes;
      if (size == 0 || base_[s] == nullptr) return;
      bytes += size;
      use.memory.push_back({base_[s], size, is_written || is_copy});
    });
    use.is_small =
        std::holds_alternative<KernelCall>(thunk.work) && !thunk.may_fail && bytes <= small_bytes;
    uses.push_back(std::move(use));
  }
  return order_calls(uses);
}

const Thunk* Runner::first_jump() const {
  for (const Thunk& thunk : program_.thunks.thunks)
    if (std::holds_alternative<JumpCall>(thunk.work)) return &thunk;
  return nullptr;
}

void Runner::start_times(size_t calls) {
  if (times_queue()) arena_->start_times(calls);
}

void Runner::add_time(size_t thunk, int64_t ns) {
  Time& to = times_[thunk];
  to.sum += ns;
  to.least = to.least == 0 ? ns : std::min(to.least, ns);
}

std::optional<FailedThunk> Runner::finish() {
  const std::optional<QueuedFault> fault = arena_->finish();
  if (times_queue()) {
    const std::vector<int64_t> ns = arena_->take_times();
    for (size_t k = 0; k < marked_.size() && k < ns.size(); ++k) add_time(marked_[k], ns[k]);
    marked_.clear();
  }
  if (!fault) return {};
  return failed(*fault);
}

FailedThunk Runner::failed(const QueuedFault& fault) const {
  const auto thunk = static_cast<size_t>(fault.thunk);
  const auto& call = std::get<KernelCall>(program_.thunks.thunks[thunk].work);
  return {thunk, program_.kernels[call.kernel]->fault_of(fault)};
}

}  // namespace cleave
