// An instance of a library's program: its state, its constants, and a runner over them.
//
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

#include "runtime/arena.h"
#include "standalone/check_tensor.h"
#include "standalone/linked_program.h"
#include "standalone/weight_file.h"

namespace cleave::standalone {

class Instance {
 public:
  // Errors: user for options that are wrong, files that can't be read, values that are missing;
  // unsupported for a processor that lacks what the program uses.
  static Result<std::unique_ptr<Instance>> open(const cleave_embedded& embedded,
                                                const cleave_options* options);
  // Their types, without data.
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
  Instance() = default;

  Status check_options(const cleave_options& options) const;
  Status make_functions(const cleave_embedded& embedded, const cleave_options& options);
  Status start_threads(const cleave_options& options);
  Status make_runner(const cleave_options& options);
  Status read_weights(const cleave_embedded& embedded, const cleave_options& options);
  Status take_file(const std::string& path);
  Result<Held> copy_of(const StateEntry& entry, const cleave_tensor& from) const;
  static Result<Held> fresh(int64_t bytes);
  bool has_all_constants(const HeldList& constants) const;
  Status fold(HeldList& constants) const;
  void bind_state(size_t k, const Held& held);
  void take_pending();
  Status check_values() const;
  Status check_inputs(const cleave_tensor* in, size_t count);
  Status check_apart() const;
  Failure failure_of(const FailedThunk& failed);
  Result<size_t> find_state(const char* name, std::string_view what) const;
  std::string told(std::string_view what) const { return file_.name + "_" + std::string(what); }

  ProgramFile file_;
  std::unique_ptr<runtime::LibraryCache> functions_;
  std::vector<ForeignFunction> callbacks_;
  std::unique_ptr<const LinkedProgram> step_, folding_;
  std::shared_ptr<Executor> executor_;
  std::shared_ptr<ArenaMemory> arena_;
  std::unique_ptr<Runner> runner_;
  std::optional<WeightFile> weights_;  // what the state may lie in
  HeldList held_;                      // by entry; constants: what runs read now
  std::vector<std::byte*> inputs_;     // where they are bound
  std::map<std::string, size_t, std::less<>> state_by_name_, input_by_name_;
  std::atomic<bool> busy_ = false;
  bool has_results_ = false;
  std::mutex setting_;  // one thread makes constants at a time
  std::mutex mutex_;    // of what follows
  HeldList constants_;  // the newest
  bool is_pending_ = false;
};

}  // namespace cleave::standalone
