// The programs of one function, by the sizes of its inputs (input_sizes.h); one program where no
// size varies.
//
//   Family           the sizes, and the code for each: what instances share
//   SizedPrograms    an instance: a BoundProgram for each size that it has run, in one arena
//
// Both keep kept_sizes of them: the family what was made or asked for last, so that instances that
// live shortly find it; an instance what it has run last, so that it asks the family, which locks,
// for new sizes alone.
// The code for the largest sizes is made first and never dropped. Its arena serves smaller programs
// as well; one that needs more has its own, which serves those after it.
// All share the functions of their kernels (compile/code_pool.h), which are learned from the
// largest sizes and some others (sample_sizes.h): at a new size nothing is compiled, but where
// these didn't show what its kernels need.
#pragma once
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>

#include "exec/bound_program.h"
#include "exec/input_sizes.h"
#include "exec/notices.h"
#include "exec/recently_used.h"

namespace cleave {

class SizedPrograms {
 public:
  using CodePtr = std::shared_ptr<const ProgramCode>;
  // Traces the function for static specs, with options of which the folder of dumps is the one for
  // these sizes. Throws with the host program's line. Kept only while sizes vary.
  using Trace = std::function<ProgramCode::Parts(const std::vector<InputSpec>& specs,
                                                 const CompileOptions& options)>;

  // Makes the code for the largest sizes. Throws what `trace` throws, and at `at`: the errors of
  // compilation; user: those of InputSizes; kept_sizes below 1. `notices` may be another's too.
  static std::unique_ptr<SizedPrograms> make(const std::string& what,
                                             const std::vector<InputSpec>& specs,
                                             const CompileOptions& options,
                                             std::shared_ptr<Notices> notices, Trace trace,
                                             Location at);
  // Waits for what was started, which may ask for last().
  ~SizedPrograms();
  // Thread-safe, also while this one runs.
  Result<std::unique_ptr<SizedPrograms>> instance() const;

  // Makes the program for these inputs if need be, and runs it. Errors (user): those of
  // InputSizes::read; it is running, or another instance that assigns Variables is.
  Status run(std::span<const InputRef> inputs) { return run(inputs, nullptr, nullptr); }
  // As Instance::start: with memory of a device it returns when the inputs are read.
  Status start(std::span<const InputRef> inputs, std::shared_ptr<StartedRun> started) {
    return run(inputs, nullptr, std::move(started));
  }
  // Waits for what was started; of the error as Instance::settle.
  Status settle() const { return last_->settle(); }
  // Takes the inputs when they are found right, and frees each behind its last reader.
  Status run_boxed(HostTensors&& inputs);
  // Traces the function for these sizes, which vary; nothing is compiled. Throws what the trace
  // throws.
  ProgramCode::Parts traced(const std::vector<int64_t>& sizes) const;
  const InputSizes& sizes() const;
  // The program of the last run, even if that failed; before, that for the largest sizes.
  BoundProgram& last() const { return *last_; }
  size_t results() const;
  // Result k of the last run: a view that keeps its memory.
  HostTensor result(size_t k) const { return last_->result(k, last_); }
  DeviceTensor result_there(size_t k) const { return last_->result_there(k, last_); }
  void watch_memory();
  void profile_kernels(bool on);

 private:
  struct Family;
  using ProgramPtr = std::shared_ptr<BoundProgram>;
  SizedPrograms() = default;
  static Result<std::unique_ptr<SizedPrograms>> instance_of(std::shared_ptr<Family> family);
  Status run(std::span<const InputRef> inputs, HostTensors* boxed,
             std::shared_ptr<StartedRun> started);
  Result<ProgramPtr> program(const std::vector<int64_t>& sizes);
  Result<ProgramPtr> bound(CodePtr code);
  template <class F>
  void each(const F& f) const;

  std::shared_ptr<Family> family_;
  std::shared_ptr<ArenaMemory> arena_;
  ProgramPtr largest_, last_;
  std::unique_ptr<RecentlyUsed<ProgramPtr>> others_;
  std::vector<int64_t> given_;  // the sizes of this run
  bool profiles_ = false;
  std::atomic<bool> running_ = false;
};

}  // namespace cleave
