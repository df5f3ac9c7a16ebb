// An instance of a library: its state, its constants, and for each of its programs a runner over
// them, all in the memory of the largest.
//
//   inputs                 their shapes say which size is run, and the state, which micro step
//   library, weight file   values, shared and never written
//   state                  what runs write is copied into the instance when it is opened; the rest
//                          is read where it lies, until set_state() puts a copy in its place
//   constants              a set of them, with what `folding` made of them: set_constants() makes
//                          another one aside, which the next run takes
//
// One thread at a time, but for set_constants(), which may run beside run().
#pragma once
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string_view>

#include "base/busy.h"
#include "runtime/arena.h"
#include "standalone/check_tensor.h"
#include "standalone/linked_program.h"
#include "standalone/size_choice.h"
#include "standalone/weight_file.h"

namespace cleave::standalone {

// A program of an instance.
struct LinkedEntry {
  std::unique_ptr<const LinkedProgram> linked;
  std::unique_ptr<Runner> runner;
  const ProgramEntry* entry = nullptr;
  const std::vector<int64_t>* sizes = nullptr;
};

struct LinkedSize {
  LinkedEntry step;
  std::optional<LinkedEntry> gather;
};

class Instance {
 public:
  // Errors: user for options that are wrong, files that can't be read, values that are missing;
  // unsupported for a processor that lacks what the program uses.
  static Result<std::unique_ptr<Instance>> open(const cleave_embedded& embedded,
                                                const cleave_options* options);
  // Their types, without data; results of the last run, if there are any.
  Status input(size_t index, cleave_tensor* type) const;
  Status output(size_t index, cleave_tensor* type) const;
  Status bind(const char* name, const cleave_tensor* tensor);
  // `in` may be null: inputs are where bind() said. `out` may be null: results are asked for.
  Status run(const cleave_tensor* in, size_t in_count, const cleave_tensor* out, size_t out_count);
  Status result(size_t index, cleave_tensor* result) const;
  Status get_state(const char* name, const cleave_tensor* to);
  Status set_state(const char* name, const cleave_tensor* from);
  Status set_constants(const char* const* names, const cleave_tensor* from, size_t count);

 private:
  // The memory of an entry of the state.
  struct Held {
    std::byte* data = nullptr;  // null: it has no value
    std::shared_ptr<void> own;  // keeps it; null: it is the library's or the caller's
  };
  using HeldList = std::vector<Held>;  // by entry
  // Where an input is bound, and which of its types that has.
  struct Bound {
    std::byte* data = nullptr;
    std::optional<size_t> type;
  };
  Instance() = default;

  // ---- open
  Status check_options(const cleave_options& options) const;
  Status find_callbacks(const cleave_options& options);
  Status link_programs(const cleave_embedded& embedded);
  Status start_threads(const cleave_options& options);
  Status make_runners(const cleave_options& options);
  // ---- a run (instance_run.cpp)
  Result<const LinkedEntry*> choose(const cleave_tensor* in, size_t count);
  Status check_bound() const;
  Status take_inputs(const cleave_tensor* in, size_t count);
  bool gathers() const;
  Status check_outputs(const LinkedEntry& program, const cleave_tensor* out, size_t count) const;
  Status check_values() const;
  Status check_apart() const;
  Status check_state_apart() const;
  int64_t input_bytes(size_t k) const;
  void bind_all(const LinkedEntry& program) const;
  static void copy_results(const LinkedEntry& program, const cleave_tensor* out, size_t count);
  Failure failure_of(const LinkedEntry& program, const FailedThunk& failed);
  // ---- the state (instance_state.cpp)
  Status read_weights(const cleave_embedded& embedded, const cleave_options& options);
  Status take_file(const std::string& path);
  Result<Held> copy_of(const StateEntry& entry, const cleave_tensor& from) const;
  static Result<Held> fresh(int64_t bytes);
  bool has_all_constants(const HeldList& constants) const;
  Status fold(HeldList& constants) const;
  Status fold(size_t folding, HeldList& constants) const;
  void take_pending();
  Result<size_t> find_state(const char* name, std::string_view what) const;
  Status is_ready(const Busy& busy, std::string_view what) const;
  std::string told(std::string_view what) const { return file_.name + "_" + std::string(what); }

  ProgramFile file_;
  const SizeChoice choice_{file_};
  std::unique_ptr<runtime::LibraryCache> functions_;
  std::vector<ForeignFunction> callbacks_;
  std::vector<LinkedSize> sized_;  // as in file_
  std::vector<std::unique_ptr<const LinkedProgram>> foldings_;
  std::shared_ptr<Executor> executor_;
  std::shared_ptr<ArenaMemory> arena_;
  std::optional<WeightFile> weights_;  // what the state may lie in
  HeldList held_;                      // by entry; constants: what runs read now
  bool is_state_moved_ = false;        // bound since the last run
  std::vector<Bound> inputs_;
  std::vector<size_t> types_;             // of inputs_, for a run
  size_t last_ = 0;                       // the size of the last run
  const LinkedEntry* results_ = nullptr;  // whose results there are
  std::map<std::string, size_t, std::less<>> state_by_name_, input_by_name_;
  std::atomic<bool> busy_ = false;
  std::mutex setting_;  // one thread makes constants at a time
  std::mutex mutex_;    // of what follows
  HeldList constants_;  // the newest
  bool is_pending_ = false;
};

}  // namespace cleave::standalone
