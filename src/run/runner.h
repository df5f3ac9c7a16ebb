// Runs a program: pointers are resolved once; a run makes one call per thunk and allocates nothing.
//
//   Runner runner({program, offsets, kernels, foreign}, arena, executor);
//   runner.bind(0, x.data());                    // every placeholder
//   if (auto failed = runner.run()) ...          // a check that failed, and of which thunk
//   runner.result(0);
//
// It checks neither what it is bound to nor that it is bound, and is entered once at a time.
#pragma once
#include <functional>
#include <memory>
#include <span>

#include "base/poison.h"
#include "run/arena_memory.h"
#include "run/call_order.h"
#include "run/kernel_function.h"
#include "run/last_read.h"
#include "run/program.h"
#include "run/run_observer.h"

namespace cleave {

// What a run reads. All of it outlives the runner.
struct RunnableProgram {
  const ThunkProgram& thunks;           // linked: library calls have their functions
  const std::vector<int64_t>& offsets;  // by storage, in the arena
  std::span<const std::unique_ptr<const KernelFunction>> kernels;
  std::span<const ForeignFunction> foreign;  // of ForeignCalls, in order
};

struct FailedThunk {
  size_t thunk = 0;
  Fault fault;
};

class Runner {
 public:
  // The arena is as large as the program's plan says, or larger, and has room for its transfers.
  Runner(const RunnableProgram& program, std::shared_ptr<ArenaMemory> arena,
         std::shared_ptr<Executor> executor);

  size_t placeholder_count() const { return placeholder_storage_.size(); }
  const Storage& placeholder(size_t k) const {
    return program_.thunks.storages[placeholder_storage_[k]];
  }
  void bind(size_t placeholder, void* data);
  // Null: it isn't bound.
  std::byte* bound(size_t placeholder) const { return base_[placeholder_storage_[placeholder]]; }
  // A placeholder that is read, and isn't bound; null if there is none.
  const Storage* find_unbound() const;

  // Asks `release`, if it isn't null, of each placeholder that isn't returned, behind its last
  // reader: if it is true, the placeholder's memory is gone and it is unbound.
  using Release = std::function<bool(size_t placeholder)>;
  // Where calls return before they have finished: called behind the last thunk, before the run
  // waits for its queue, on which it may put more.
  using AtEnd = std::function<void()>;
  std::optional<FailedThunk> run(const Release* release = nullptr, const AtEnd* at_end = nullptr);
  // Puts all calls on the arena's queue, and waits for none. Of a program without jumps, whose
  // calls are neither timed nor watched. What a call throws passes through; called() is its thunk
  // then.
  void queue_calls();
  // The same on lanes, for calls that are noted (ArenaMemory::lane).
  void queue_calls(const CallOrder& order);
  // With what is bound now.
  CallOrder call_order() const;
  const Thunk& called() const { return program_.thunks.thunks[called_]; }
  // Null: there is none. The host reads its flag, so the calls before it must be waited for.
  const Thunk* first_jump() const;
  bool is_watched() const { return !times_.empty() || observer_ != nullptr; }
  // The thunk of a check that failed on the queue.
  FailedThunk failed(const QueuedFault& fault) const;
  const std::byte* result(size_t k) const { return base_[program_.thunks.returns[k]]; }
  const std::shared_ptr<ArenaMemory>& arena() const { return arena_; }

  struct Time {
    int64_t sum = 0, least = 0;  // ns; least is 0 before the first run
  };
  // Turns the timing of thunks on, with all times at 0, or off.
  void time_thunks(bool on) { times_.assign(on ? program_.thunks.thunks.size() : 0, {}); }
  const std::vector<Time>& times() const { return times_; }  // by thunk

 private:
  std::optional<FailedThunk> run_thunks(const Release* release, const AtEnd* at_end);
  class ThunkMemory;
  class ThunkClock;
  class Watched;
  // An entry of the table of pointers, from which thunks take their arguments.
  struct Slot {
    size_t storage;
    size_t position;
    int64_t offset;  // bytes
  };
  void add_pointer(size_t storage);
  void set_pointer(size_t position, size_t storage, int64_t offset);
  void add_pointers(const LibraryCall& call);
  bool is_taken(const JumpCall& jump) const;
  std::optional<Fault> call(size_t thunk, RunContext& context);
  void call_joined(size_t begin, size_t end, RunContext& context);
  void transfer(const TransferCall& call, std::byte* at);
  // Waits for all thunks that were called; the first one that failed. Timed ones have their times.
  std::optional<FailedThunk> finish();
  bool times_queue() const { return !times_.empty() && arena_->queue() != nullptr; }
  void start_times(size_t calls);
  void add_time(size_t thunk, int64_t ns);
  // Whether it is memory that AddressSanitizer knows.
  bool watches_arena() const { return watches_memory && arena_->queue() == nullptr; }
  size_t arena_bytes() const { return static_cast<size_t>(arena_->size_bytes()); }

  const RunnableProgram program_;
  const std::shared_ptr<ArenaMemory> arena_;
  const std::shared_ptr<Executor> executor_;
  RunObserver* const observer_;           // the executor, if it is one; else null
  std::vector<RunObserver::Name> names_;  // by thunk, if there is one
  const std::vector<LastRead> last_reads_;
  std::vector<std::byte*> base_;  // by storage
  std::vector<size_t> placeholder_storage_;
  std::vector<Time> times_;      // empty while thunks are not timed
  std::vector<size_t> marked_;   // thunks on the queue whose times aren't known yet
  std::vector<void*> pointers_;  // the arguments of all thunks, one after the other
  std::vector<size_t> first_pointer_;
  std::vector<size_t>
      job_end_;  // by thunk: of the calls that it begins a job with, or the next one
  std::vector<size_t> foreign_number_;  // by thunk: its number among the calls of the host program
  std::vector<Slot> slots_;             // by rising storage
  std::vector<size_t> first_slot_;      // by storage, and the end
  size_t called_ = 0;
  alignas(64) std::byte nothing_[64];  // the address of storages of 0 bytes; of a device: the arena
};

}  // namespace cleave
