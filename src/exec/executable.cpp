// A built program and its instances: a runner (run/runner.h), and the messages of its graph.
#include "exec/executable.h"

#include <algorithm>
#include <atomic>
#include <mutex>

#include "base/busy.h"
#include "base/element_address.h"
#include "compile/stages.h"
#include "exec/device_operands.h"
#include "exec/device_runs.h"
#include "exec/folded_values.h"
#include "exec/index_fault.h"
#include "run/runner.h"
#include "runtime/shared_threads.h"

namespace cleave {
namespace {

class Compiled final : public CompiledProgram {
 public:
  // What is computed once is the business of instances if it depends on no Variable.
  enum class Once : uint8_t { by_caller, by_instances };
  Compiled(BuiltProgram built, Report report, std::shared_ptr<const CompiledProgram> part,
           Once once, CudaGraphs graphs)
      : built_(std::move(built)), report_(std::move(report)), graphs_(graphs) {
    (once == Once::by_caller ? frozen_part_ : constant_part_) = std::move(part);
    std::vector<std::string>& names = once == Once::by_caller ? folded_ : constants_;
    for (const Return& r : built_.frozen.returns()) names.push_back(built_.frozen.name(r.value));
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
  int64_t constant_bytes() const override {
    const std::lock_guard lock(mutex_);
    int64_t bytes = 0;
    for (const HostTensor& t : values_ ? *values_ : FoldedValues::List())
      bytes += rounded(t.bytes());
    return bytes;
  }
  const BuiltProgram& built() const { return built_; }
  CudaGraphs graphs() const { return graphs_; }

  // Whether instances bind this placeholder, with which value.
  struct Constant {
    size_t placeholder;
    const HostTensor* bytes;
  };
  // Thread-safe. The values live as long as the program.
  Result<std::vector<Constant>> constants(const std::shared_ptr<Executor>& executor) const {
    std::vector<Constant> out;
    if (!constant_part_) return out;
    const std::lock_guard lock(mutex_);
    if (!values_) {
      CLEAVE_TRY(const auto made, FoldedValues::make(constant_part_, {}, executor));
      values_ = made->newer_than(nullptr);
    }
    for (size_t k = 0; k < constants_.size(); ++k) {
      const auto at = std::ranges::find(placeholders_, constants_[k]);
      if (at == placeholders_.end()) continue;  // a later pass found that nothing reads it
      out.push_back({static_cast<size_t>(at - placeholders_.begin()), &(*values_)[k]});
    }
    return out;
  }

 private:
  BuiltProgram built_;
  Report report_;
  std::shared_ptr<const CompiledProgram> frozen_part_, constant_part_;
  std::vector<std::string> folded_, constants_, placeholders_;
  const CudaGraphs graphs_;
  mutable std::mutex mutex_;
  mutable std::shared_ptr<const FoldedValues::List> values_;  // of constants_
};

class RunningInstance final : public Instance {
 public:
  static Result<std::unique_ptr<Instance>> make(std::shared_ptr<const Compiled> program,
                                                std::shared_ptr<Executor> executor,
                                                std::shared_ptr<ArenaMemory> arena) {
    const BuiltProgram& built = program->built();
    if (!arena || arena->size_bytes() < built.planned.arena_bytes) {
      CLEAVE_CHECK(check_room(built));
      CLEAVE_TRY(arena, built.backend->make_arena(built.planned.arena_bytes));
    }
    CLEAVE_CHECK(arena->reserve_host(host_bytes(built.lowered())));
    CLEAVE_TRY(const std::vector<Compiled::Constant> constants, program->constants(executor));
    std::unique_ptr<RunningInstance> out(
        new RunningInstance(std::move(program), std::move(executor), std::move(arena)));
    for (const auto& [placeholder, bytes] : constants) {
      const HostMemory memory{const_cast<void*>(bytes->data()), bytes->bytes(), std::nullopt,
                              /*is_constant=*/true};
      CLEAVE_CHECK(out->bind(placeholder, memory));
      out->first_constant_ = std::min(out->first_constant_, placeholder);
    }
    return std::unique_ptr<Instance>(std::move(out));
  }

  Status bind(size_t placeholder, const HostMemory& memory) override {
    CLEAVE_CHECK(check_memory(placeholder, memory));
    if (there_) return there_->bind(placeholder, memory);
    runner_.bind(placeholder, memory.data);
    return {};
  }
  Status bind_there(size_t placeholder, void* data, int64_t bytes) override {
    if (!there_ || placeholder >= runner_.placeholder_count() ||
        bytes < runner_.placeholder(placeholder).bytes)
      return bug("bind_there: placeholder {}: {} B", placeholder, bytes);
    there_->bind_there(placeholder, data);
    return {};
  }
  const std::shared_ptr<DeviceMemory>& device_memory() const override { return device_memory_; }

  Status run(const Release* release) override {
    const Release of_caller = [this, release](size_t placeholder) {
      return placeholder < first_constant_ && (*release)(placeholder);
    };
    if (release != nullptr) release = &of_caller;
    return run_if_free([&]() -> Status {
      if (runs_) return runs_->run(release);
      if (!counts_.reason.empty()) ++counts_.skipped;
      if (const std::optional<FailedThunk> failed = runner_.run(release)) return told(*failed, 0);
      return {};
    });
  }
  Status start(std::shared_ptr<StartedRun> run) override {
    if (runs_) return run_if_free([&] { return runs_->start(std::move(run)); });
    Status ran = this->run(nullptr);
    run->ended(ran);
    return ran;
  }
  Status settle() override { return runs_ ? runs_->settle() : Status(); }
  std::shared_ptr<DeviceUse> use() const override { return runs_ ? runs_->use() : nullptr; }
  const void* ended_result(size_t k) const override {
    return there_ ? there_->small_result(k) : runner_.result(k);
  }
  const GraphCounts& graph_counts() const override { return counts_; }
  void skip_graphs(std::string reason) override {
    if (runs_) runs_->skip_graphs(std::move(reason));
  }

  const std::shared_ptr<ArenaMemory>& arena() const override { return runner_.arena(); }
  bool overlaps_arena(const void* data, int64_t bytes) const override {
    if (there_) return there_->overlaps_results(data, bytes);
    return overlaps_there(data, bytes);
  }
  bool overlaps_there(const void* data, int64_t bytes) const override {
    const auto* begin = static_cast<const std::byte*>(data);
    const std::byte* memory = arena()->data();
    return begin < memory + arena()->size_bytes() && memory < begin + bytes;
  }
  const void* result(size_t k) const override {
    if (!there_) return runner_.result(k);
    value_or_throw(runs_->settle());
    return there_->result(k);
  }
  void* result_there(size_t k) const override {
    if (runs_) value_or_throw(runs_->settle());
    return const_cast<void*>(static_cast<const void*>(runner_.result(k)));
  }
  void fill_arena_pattern() override {
    wait();
    arena()->fill_pattern();
  }
  int64_t touched_arena_bytes() const override {
    wait();
    return arena()->touched_bytes();
  }
  void profile_kernels(bool on) override {
    wait();
    runner_.time_thunks(on);
  }
  std::vector<StepTime> step_times() const override {
    std::vector<StepTime> out;
    const std::vector<Runner::Time>& times = runner_.times();
    for (size_t i = 0; i < times.size(); ++i) {
      const KernelTraffic& moved = program_->built().traffic[i];
      out.push_back({moved.name, moved.kind, times[i].sum, times[i].least,
                     moved.read + moved.written, moved.flops});
    }
    return out;
  }
  Result<Target> tuned_target() const override {
    std::vector<LibrarySpec> calls;
    for (const Thunk& thunk : program_->built().lowered().thunks)
      if (auto* call = std::get_if<LibraryCall>(&thunk.work)) calls.push_back(call->spec);
    return program_->built().backend->tuned_target(calls);
  }

 private:
  RunningInstance(std::shared_ptr<const Compiled> program, std::shared_ptr<Executor> executor,
                  std::shared_ptr<ArenaMemory> arena)
      : program_(std::move(program)), device_memory_(program_->built().backend->device_memory()),
        runner_(program_->built().runnable(), std::move(arena), std::move(executor)) {
    const CudaGraphs graphs = program_->graphs();
    if (device_memory_) {
      there_ = std::make_unique<DeviceOperands>(device_memory_, runner_,
                                                program_->built().lowered(), program_->graph());
      runs_ = std::make_unique<DeviceRuns>(
          runner_, *there_,
          [this](const FailedThunk& failed, size_t turn) { return told(failed, turn); }, counts_,
          graphs != CudaGraphs::off, waiting_call());
    } else if (graphs == CudaGraphs::on) {
      const std::vector<std::string>& names = program_->placeholders();
      counts_.reason =
          fmt::format("cpu device{}", names.empty() ? "" : fmt::format(" (%{})", names.front()));
    }
  }

  template <class F>
  Status run_if_free(const F& f) {
    const Busy busy(running_);
    if (!busy.is_mine())
      return user_error("this instance is running already; make a second one to run two at once");
    if (const Storage* s = runner_.find_unbound())
      return user_error("placeholder %{} is not bound to memory", s->name);
    return f();
  }
  void wait() const {
    if (runs_) runs_->use()->wait();
  }
  // Of a run in this turn.
  Failure told(const FailedThunk& failed, size_t turn) const {
    const Thunk& thunk = program_->built().lowered().thunks[failed.thunk];
    return user_error("{}", fault_text(program_->graph(), thunk.node, thunk.name, failed.fault,
                                       [&](size_t k) -> const void* {
                                         return there_ ? there_->to_read(k, turn)
                                                       : runner_.bound(k);
                                       }));
  }
  // The first one that reads a flag on the host: "cond (%y)"; empty: there is none.
  std::string waiting_call() const {
    const Thunk* const jump = runner_.first_jump();
    if (jump == nullptr) return {};
    const Graph& g = program_->graph();
    return fmt::format("{} (%{})", jump->node.valid() ? g.node(jump->node).op->name : "cond",
                       jump->name);
  }

  static Status check_room(const BuiltProgram& built) {
    const std::shared_ptr<DeviceMemory> memory = built.backend->device_memory();
    if (!memory) return {};
    CLEAVE_TRY(const DeviceMemory::Room room, memory->room());
    if (built.planned.arena_bytes <= room.free) return {};
    return user_error(
        "{}: {} B of {} are free; the arena needs {} (the planned peak is {}, which a "
        "memory_budget lowers)",
        memory->device().text(), room.free, room.total, built.planned.arena_bytes,
        built.planned.peak_bytes());
  }

  Status check_memory(size_t placeholder, const HostMemory& memory) const {
    if (placeholder >= runner_.placeholder_count())
      return user_error("bind: placeholder {} is outside [0, {})", placeholder,
                        runner_.placeholder_count());
    const Storage& s = runner_.placeholder(placeholder);
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

  const std::shared_ptr<const Compiled> program_;
  const std::shared_ptr<DeviceMemory> device_memory_;  // of the backend; null: the host's
  Runner runner_;
  std::unique_ptr<DeviceOperands> there_;  // with it
  GraphCounts counts_;
  std::unique_ptr<DeviceRuns> runs_;  // with it
  std::atomic<bool> running_ = false;
  size_t first_constant_ = SIZE_MAX;  // those that the caller binds come before
};

// Code of the host program reads the host's memory.
Status check_calls(const BuiltProgram& built) {
  const std::shared_ptr<DeviceMemory> memory = built.backend->device_memory();
  if (!memory) return {};
  for (const Thunk& thunk : built.lowered().thunks)
    if (std::holds_alternative<ForeignCall>(thunk.work))
      return unsupported(
          "%{} is computed by code of the host program, which can't read the memory of {}",
          thunk.name, memory->device().text());
  return {};
}

StageOptions options_of_part(StageOptions options) {
  options.is_frozen_part = true;
  options.forward_results = 0;
  options.partition.reset();
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
  CLEAVE_CHECK(check_calls(built));
  std::shared_ptr<const CompiledProgram> part;
  if (!built.frozen.returns().empty()) {
    CLEAVE_TRY(part, compile(built.frozen, ops, options_of_part(std::move(complete))));
    report.compile_ms += part->report().compile_ms;
    if (report.cache == "hit") report.cache = part->report().cache;
  }
  const auto once = options.freeze ? Compiled::Once::by_caller : Compiled::Once::by_instances;
  return std::shared_ptr<const CompiledProgram>(std::make_shared<Compiled>(
      std::move(built), std::move(report), std::move(part), once, options.cudagraphs));
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
