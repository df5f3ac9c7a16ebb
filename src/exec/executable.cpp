// Runs a built program: pointers are resolved once; a run makes one call per thunk and allocates
// nothing.
#include "exec/executable.h"

#include <algorithm>
#include <atomic>
#include <chrono>

#include "base/busy.h"
#include "base/element_address.h"
#include "base/poison.h"
#include "compile/stages.h"
#include "exec/index_fault.h"
#include "exec/last_read.h"
#include "lower/thunk_uses.h"
#include "runtime/shared_threads.h"

namespace cleave {
namespace {

class Compiled final : public CompiledProgram {
 public:
  Compiled(BuiltProgram built, Report report, std::shared_ptr<const CompiledProgram> frozen_part)
      : built_(std::move(built)), report_(std::move(report)), frozen_part_(std::move(frozen_part)) {
    for (const Return& r : built_.frozen.returns()) folded_.push_back(built_.frozen.name(r.value));
    for (const Storage& s : built_.lowered().storages)
      if (s.placeholder >= 0) {
        const auto at = static_cast<size_t>(s.placeholder);
        if (at >= placeholders_.size()) placeholders_.resize(at + 1);
        placeholders_[at] = s.name;
      }
  }
  const Graph& graph() const override { return built_.graph->get(); }
  const std::vector<std::string>& placeholders() const override { return placeholders_; }
  const Report& report() const override { return report_; }
  const std::shared_ptr<const CompiledProgram>& frozen_part() const override {
    return frozen_part_;
  }
  const std::vector<std::string>& folded() const override { return folded_; }
  const BuiltProgram& built() const { return built_; }

 private:
  BuiltProgram built_;
  Report report_;
  std::shared_ptr<const CompiledProgram> frozen_part_;
  std::vector<std::string> folded_, placeholders_;
};

// An entry of an instance's table of pointers, from which its thunks take their arguments.
struct Slot {
  size_t storage;
  size_t position;
  int64_t offset;  // bytes
};

class RunningInstance final : public Instance {
 public:
  static Result<std::unique_ptr<Instance>> make(std::shared_ptr<const Compiled> program,
                                                std::shared_ptr<Executor> executor,
                                                std::shared_ptr<ArenaMemory> arena) {
    const BuiltProgram& built = program->built();
    if (!arena || arena->size_bytes() < built.planned.arena_bytes) {
      CLEAVE_TRY(arena, built.backend->make_arena(built.planned.arena_bytes));
    }
    return std::unique_ptr<Instance>(
        new RunningInstance(std::move(program), std::move(executor), std::move(arena)));
  }

  Status bind(size_t placeholder, const HostMemory& memory) override {
    CLEAVE_CHECK(check_memory(placeholder, memory));
    const size_t storage = placeholder_storage_[placeholder];
    base_[storage] = static_cast<std::byte*>(memory.data);
    for (const Slot& s : slots_)
      if (s.storage == storage) pointers_[s.position] = at(base_[storage], s.offset);
    return {};
  }

  Status run(const Release* release) override {
    const Busy busy(running_);
    if (!busy.is_mine())
      return user_error("this instance is running already; make a second one to run two at once");
    CLEAVE_CHECK(check_bound());
    const Forbidden arena(arena_->data(), watches_memory ? arena_bytes() : 0);
    return run_thunks(release);
  }

  const std::shared_ptr<ArenaMemory>& arena() const override { return arena_; }
  bool overlaps_arena(const void* data, int64_t bytes) const override {
    const auto* begin = static_cast<const std::byte*>(data);
    return begin < arena_->data() + arena_bytes() && arena_->data() < begin + bytes;
  }
  const void* result(size_t k) const override { return base_[lowered().returns[k]]; }
  void fill_arena_pattern() override { arena_->fill_pattern(); }
  int64_t touched_arena_bytes() const override { return arena_->touched_bytes(); }
  void profile_kernels(bool on) override { times_.assign(on ? lowered().thunks.size() : 0, {}); }
  std::vector<StepTime> step_times() const override {
    std::vector<StepTime> out;
    for (size_t i = 0; i < times_.size(); ++i) {
      const KernelTraffic& moved = program_->built().traffic[i];
      out.push_back({moved.name, moved.kind, times_[i].sum, times_[i].least,
                     moved.read + moved.written, moved.flops});
    }
    return out;
  }

 private:
  RunningInstance(std::shared_ptr<const Compiled> program, std::shared_ptr<Executor> executor,
                  std::shared_ptr<ArenaMemory> arena)
      : program_(std::move(program)), executor_(std::move(executor)), arena_(std::move(arena)) {
    const auto& storages = lowered().storages;
    const std::vector<int64_t>& offsets = program_->built().planned.offsets;
    base_.resize(storages.size());
    for (size_t s = 0; s < storages.size(); ++s) {
      if (storages[s].placeholder >= 0) {
        const auto placeholder = static_cast<size_t>(storages[s].placeholder);
        if (placeholder >= placeholder_storage_.size())
          placeholder_storage_.resize(placeholder + 1);
        placeholder_storage_[placeholder] = s;
      } else {
        base_[s] = storages[s].bytes > 0 ? arena_->data() + offsets[s] : nothing_;
      }
    }
    size_t foreign = 0;
    for (const Thunk& thunk : lowered().thunks) {
      first_pointer_.push_back(pointers_.size());
      foreign_number_.push_back(std::holds_alternative<ForeignCall>(thunk.work) ? foreign++ : 0);
      if (auto* k = std::get_if<KernelCall>(&thunk.work))
        for (size_t s : k->storages) add_pointer(s);
      if (auto* l = std::get_if<LibraryCall>(&thunk.work)) add_pointers(*l);
      if (auto* f = std::get_if<ForeignCall>(&thunk.work)) {
        for (const auto& s : f->operands) s ? add_pointer(*s) : pointers_.push_back(nullptr);
        for (size_t s : f->results) add_pointer(s);
      }
    }
    last_reads_ = last_reads(lowered());
  }

  const LoweredProgram& lowered() const { return program_->built().lowered(); }

  void add_pointer(size_t storage) {
    pointers_.push_back(nullptr);
    set_pointer(pointers_.size() - 1, storage, 0);
  }
  void set_pointer(size_t position, size_t storage, int64_t offset) {
    slots_.push_back({storage, position, offset});
    pointers_[position] = at(base_[storage], offset);
  }
  // Pointers to the operands by position, then to the workspace.
  void add_pointers(const LibraryCall& call) {
    const size_t first = pointers_.size();
    pointers_.resize(first + max_library_operands + 1);
    for (const LibraryCall::Operand& o : call.operands)
      set_pointer(first + o.position, o.storage, o.layout.offset * size_of(o.dtype));
    if (call.workspace) set_pointer(first + max_library_operands, *call.workspace, 0);
  }
  // Null until the placeholder is bound.
  static std::byte* at(std::byte* base, int64_t offset) { return base ? base + offset : nullptr; }

  Status check_memory(size_t placeholder, const HostMemory& memory) const {
    if (placeholder >= placeholder_storage_.size())
      return user_error("bind: placeholder {} is outside [0, {})", placeholder,
                        placeholder_storage_.size());
    const Storage& s = lowered().storages[placeholder_storage_[placeholder]];
    const bool same_dtype = !memory.dtype || *memory.dtype == s.dtype;
    if (s.bytes > 0 && !is_aligned(memory.data, s.dtype))
      return user_error("placeholder %{}: its address is no multiple of the {} bytes of {}", s.name,
                        alignment_of(s.dtype), name_of(s.dtype));
    if (same_dtype && memory.bytes >= s.bytes) return {};
    const Graph& g = program_->graph();
    return user_error(
        "placeholder %{}: it is bound to {} B of {}, expected at least {} B of {}: {}", s.name,
        memory.bytes, memory.dtype ? name_of(*memory.dtype) : "any dtype", s.bytes,
        name_of(s.dtype), g.type(g.placeholders()[placeholder].value).text());
  }

  Status check_bound() const {
    for (size_t i = 0; i < placeholder_storage_.size(); ++i) {
      const Storage& s = lowered().storages[placeholder_storage_[i]];
      if (!base_[placeholder_storage_[i]] && s.bytes > 0 && s.first >= 0)
        return user_error("placeholder %{} is not bound to memory", s.name);
    }
    return {};
  }

  Status run_thunks(const Release* release) {
    const auto& thunks = lowered().thunks;
    size_t released = 0;
    const auto passes = [&](size_t thunk) {
      for (; released < last_reads_.size() && last_reads_[released].end <= thunk; ++released) {
        const size_t placeholder = last_reads_[released].placeholder;
        if ((*release)(placeholder)) base_[placeholder_storage_[placeholder]] = nullptr;
      }
    };
    for (size_t i = 0; i < thunks.size(); ++i) {
      if (release != nullptr) passes(i);
      const ThunkMemory memory(*this, thunks[i]);
      const ThunkClock clock(times_.empty() ? nullptr : &times_[i]);
      if (auto* k = std::get_if<KernelCall>(&thunks[i].work)) {
        CLEAVE_CHECK(run_kernel(*k, thunks[i], pointers_.data() + first_pointer_[i]));
      } else if (auto* l = std::get_if<LibraryCall>(&thunks[i].work)) {
        void* const* operands = pointers_.data() + first_pointer_[i];
        l->function->call(operands, operands[max_library_operands], *executor_);
      } else if (auto* f = std::get_if<ForeignCall>(&thunks[i].work)) {
        void** at = pointers_.data() + first_pointer_[i];
        program_->built().code.foreign[foreign_number_[i]](at, at + f->operands.size());
      } else if (const auto& jump = std::get<JumpCall>(thunks[i].work); is_taken(jump)) {
        i = jump.target - 1;  // ++i makes it the target, also for target 0
      }
    }
    if (release != nullptr) passes(thunks.size());
    return {};
  }

  bool is_taken(const JumpCall& jump) const {
    return !jump.unless || !arena_->flag(base_[jump.unless->storage] + jump.unless->offset);
  }

  size_t arena_bytes() const { return static_cast<size_t>(arena_->size_bytes()); }

  // In AddressSanitizer builds a thunk may touch only the arena storages that it names.
  class ThunkMemory {
   public:
    ThunkMemory(const RunningInstance& run, const Thunk& thunk) : run_(run), thunk_(thunk) {
      if (watches_memory) each(allow);
    }
    ~ThunkMemory() {
      if (watches_memory) each(forbid);
    }
    ThunkMemory(const ThunkMemory&) = delete;
    ThunkMemory& operator=(const ThunkMemory&) = delete;

   private:
    void each(void (*mark)(const void*, size_t)) const {
      for (const size_t s : storages_of(thunk_)) {
        const Storage& storage = run_.lowered().storages[s];
        if (storage.placeholder < 0 && storage.bytes > 0)
          mark(run_.base_[s], static_cast<size_t>(storage.bytes));
      }
    }
    const RunningInstance& run_;
    const Thunk& thunk_;
  };

  struct MeasuredTime {
    int64_t sum = 0, least = 0;  // ns; least is 0 before the first run
  };
  // Adds the time from its construction to its destruction to `to`, if that isn't null.
  class ThunkClock {
   public:
    explicit ThunkClock(MeasuredTime* to) : to_(to) {
      if (to_) begin_ = Clock::now();
    }
    ~ThunkClock() {
      if (!to_) return;
      const int64_t ns =
          std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now() - begin_).count();
      to_->sum += ns;
      to_->least = to_->least == 0 ? ns : std::min(to_->least, ns);
    }

   private:
    using Clock = std::chrono::steady_clock;
    MeasuredTime* to_;
    Clock::time_point begin_;
  };

  Status run_kernel(const KernelCall& call, const Thunk& thunk, void* const* buffers) {
    const KernelFunction& kernel = *program_->built().code.kernels[call.kernel];
    const std::optional<Fault> fault = kernel.call(buffers, call.scalars.data(), *executor_);
    if (!fault) return {};
    return user_error("{}", fault_text(program_->graph(), thunk.node, thunk.name, *fault,
                                       [&](size_t k) { return base_[placeholder_storage_[k]]; }));
  }

  std::shared_ptr<const Compiled> program_;
  std::shared_ptr<Executor> executor_;
  std::vector<LastRead> last_reads_;
  const std::shared_ptr<ArenaMemory> arena_;
  std::atomic<bool> running_ = false;
  std::vector<std::byte*> base_;  // by storage
  std::vector<size_t> placeholder_storage_;
  std::vector<MeasuredTime> times_;  // by thunk; empty while thunks are not timed
  std::vector<void*> pointers_;      // the arguments of all thunks, one after the other
  std::vector<size_t> first_pointer_;
  std::vector<size_t> foreign_number_;  // by thunk: its number among the calls of the host program
  std::vector<Slot> slots_;
  alignas(64) std::byte nothing_[64];  // the address of storages of 0 bytes
};

StageOptions options_of_part(StageOptions options) {
  options.is_frozen_part = true;
  options.memory_budget = {};
  options.family = nullptr;
  if (options.pool) options.pool = options.pool->part();
  if (!options.dump_dir.empty()) options.dump_dir += "/frozen";
  return options;
}

}  // namespace

Result<std::shared_ptr<const CompiledProgram>> CompiledProgram::compile(
    const Graph& graph, const OpRegistry& ops, const StageOptions& options) {
  StageOptions complete = options;
  if (!complete.executor) {
    CLEAVE_TRY(complete.executor, runtime::shared_threads(options.threads));
  }
  // Copies of placeholders alone are interpreted: no compiler is opened for them.
  if (graph.node_count() == 0) {
    complete.compiler = CompilerChoice::none;
    complete.pool = nullptr;
  }
  Report report;
  CLEAVE_TRY(BuiltProgram built, build_program(graph, ops, complete, report));
  std::shared_ptr<const CompiledProgram> part;
  if (!built.frozen.returns().empty()) {
    CLEAVE_TRY(part, compile(built.frozen, ops, options_of_part(std::move(complete))));
    report.compile_ms += part->report().compile_ms;
    if (report.cache == "hit") report.cache = part->report().cache;
  }
  return std::shared_ptr<const CompiledProgram>(
      std::make_shared<Compiled>(std::move(built), std::move(report), std::move(part)));
}

Result<std::unique_ptr<Instance>> Instance::make(std::shared_ptr<const CompiledProgram> program,
                                                 std::shared_ptr<Executor> executor,
                                                 std::shared_ptr<ArenaMemory> arena) {
  auto compiled = std::dynamic_pointer_cast<const Compiled>(program);
  if (!compiled) return bug("instance: a program that cleave did not compile");
  CLEAVE_CHECK(compiled->built().backend->check_runs_here());
  if (!executor) { CLEAVE_TRY(executor, runtime::shared_threads(0)); }
  return RunningInstance::make(std::move(compiled), std::move(executor), std::move(arena));
}

}  // namespace cleave
