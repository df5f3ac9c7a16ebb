#include "exec/sized_programs.h"

#include "base/busy.h"
#include "compile/code_pool.h"
#include "compile/stages.h"
#include "exec/sample_kernels.h"
#include "exec/sample_sizes.h"
#include "trace/tracing.h"

namespace cleave {
namespace {

constexpr size_t samples_at_once = 4;
// A graph of the device for each takes memory there, and each size is met too seldom
// (torch._inductor.config.triton.cudagraph_dynamic_shape_warn_limit, PyTorch 2.13).
constexpr int64_t most_graphs = 50;

}  // namespace

struct SizedPrograms::Family {
  Family(InputSizes s, CompileOptions o, std::shared_ptr<Notices> n, Trace t, Location where)
      : sizes(std::move(s)), largest_sizes(sizes.largest()), options(std::move(o)),
        notices(std::move(n)), trace(std::move(t)), at(where), others(kept_sizes()) {
    if (!sizes.vary()) return;
    compute_each_time(options);
    // Functions of a GPU have sizes in them, and are those of one program.
    std::shared_ptr<Backend> backend = backend_for(options);
    if (backend->target().cuda_arch != 0) return;
    pool = std::make_shared<CodePool>(std::move(backend), [this](CodePool&, CodePool::When when) {
      when == CodePool::When::first ? learn_samples() : learn_beside();
    });
  }

  size_t kept_sizes() const { return static_cast<size_t>(options.kept_sizes); }
  // These throw what `trace` throws.
  Result<CodePtr> code(const std::vector<int64_t>& wanted);
  ProgramCode::Parts traced(const std::vector<int64_t>& wanted, const CompileOptions& own);
  Result<CodePtr> made(const std::vector<int64_t>& wanted);
  void learn_samples();
  void learn_beside();
  size_t learn(std::span<const std::vector<int64_t>> samples);

  const InputSizes sizes;
  const std::vector<int64_t> largest_sizes;
  CompileOptions options;
  const std::shared_ptr<Notices> notices;
  Trace trace;
  const Location at;
  CodePtr largest;
  std::mutex mutex;  // of what follows, and of the calls of the host program's function
  std::shared_ptr<CodePool> pool;  // null: no size varies, or the target has none
  std::vector<int64_t> current;    // what is being made
  RecentlyUsed<CodePtr> others;
  std::atomic<int64_t> made_sizes = 0, recompiles = 0;
  std::atomic<bool> assigns = false;  // an instance runs that assigns Variables
};

ProgramCode::Parts SizedPrograms::Family::traced(const std::vector<int64_t>& wanted,
                                                 const CompileOptions& own) {
  ProgramCode::Parts parts = trace(sizes.at(wanted), own);
  parts.sizes = sizes.text(wanted);
  if (largest && parts.results != largest->results)
    throw_failure(user_error("{}: the function returns {} results, expected {}, as for {}{}",
                             sizes.what(), parts.results, largest->results,
                             sizes.text(largest_sizes), trace::sizes_note()));
  return parts;
}

Result<SizedPrograms::CodePtr> SizedPrograms::Family::made(const std::vector<int64_t>& wanted) {
  current = wanted;
  const std::string text = sizes.text(wanted);
  const trace::Within program(&trace::Tracing::sizes, text.empty() ? nullptr : text.c_str());
  notices->begins(sizes.what(), text);
  CompileOptions own = options;
  if (!own.dump_dir.empty() && !text.empty()) own.dump_dir += "/" + text;
  ProgramCode::Parts parts = traced(wanted, own);
  CodePtr code = trace::value_or_throw_at(at, ProgramCode::make(std::move(parts), pool));
  notices->is_ready(sizes.what(), text, code->report);
  return code;
}

// Returns how many kernels were new.
size_t SizedPrograms::Family::learn(std::span<const std::vector<int64_t>> samples) {
  size_t missed = 0;
  for (const auto& kernels : sample_kernels(sizes, samples, trace, options, pool->backend()))
    missed += pool->learn(kernels);
  return missed;
}

void SizedPrograms::Family::learn_samples() {
  const SampleSizes samples = sample_sizes(sizes);
  learn(samples.first);
  for (std::span more(samples.more); !more.empty();) {
    const size_t count = std::min(more.size(), samples_at_once);
    if (learn(more.first(count)) == 0) break;
    more = more.subspan(count);
  }
}

// What a kernel of these sizes has for its numbers shows what they depend on.
void SizedPrograms::Family::learn_beside() { learn(sizes_beside(sizes, current)); }

Result<SizedPrograms::CodePtr> SizedPrograms::Family::code(const std::vector<int64_t>& wanted) {
  if (wanted == largest_sizes) return largest;
  const std::lock_guard lock(mutex);
  if (const CodePtr* known = others.find(wanted)) return *known;
  CLEAVE_TRY(CodePtr code, made(wanted));
  others.add(wanted, code);
  ++made_sizes;
  if (!code->report.recompiled.empty()) ++recompiles;
  return code;
}

std::unique_ptr<SizedPrograms> SizedPrograms::make(const std::string& what,
                                                   const std::vector<InputSpec>& specs,
                                                   const CompileOptions& options,
                                                   std::shared_ptr<Notices> notices, Trace trace,
                                                   Location at) {
  if (!options.device.is_cpu())
    trace = [traced = std::move(trace), at](const std::vector<InputSpec>& static_specs,
                                            const CompileOptions& own) {
      ProgramCode::Parts parts = traced(static_specs, own);
      trace::value_or_throw_at(at, ProgramCode::move_to_device(parts));
      return parts;
    };
  InputSizes sizes =
      trace::value_or_throw_at(at, InputSizes::make(what, specs, options.other_sizes));
  if (options.kept_sizes < 1)
    trace::refuse(at, "{}: kept_sizes is {}, expected 1 or more", what, options.kept_sizes);
  auto family =
      std::make_shared<Family>(std::move(sizes), options, std::move(notices), std::move(trace), at);
  family->largest = value_or_throw(family->made(family->largest_sizes));
  if (!family->sizes.vary()) family->trace = nullptr;
  if (const auto hints = family->sizes.hints()) value_or_throw(family->code(*hints));
  return trace::value_or_throw_at(at, instance_of(std::move(family)));
}

SizedPrograms::~SizedPrograms() {
  if (last_) last_->wait();
}

Result<std::unique_ptr<SizedPrograms>> SizedPrograms::instance() const {
  return instance_of(family_);
}

Result<std::unique_ptr<SizedPrograms>> SizedPrograms::instance_of(std::shared_ptr<Family> family) {
  std::unique_ptr<SizedPrograms> out(new SizedPrograms);
  out->family_ = std::move(family);
  out->others_ = std::make_unique<RecentlyUsed<ProgramPtr>>(out->family_->kept_sizes());
  out->given_.reserve(out->family_->largest_sizes.size());
  CLEAVE_TRY(out->largest_, out->bound(out->family_->largest));
  out->last_ = out->largest_;
  return out;
}

Result<SizedPrograms::ProgramPtr> SizedPrograms::bound(CodePtr code) {
  CLEAVE_TRY(std::unique_ptr<BoundProgram> made, BoundProgram::make(std::move(code), arena_));
  arena_ = made->instance().arena();
  made->instance().profile_kernels(profiles_);
  return ProgramPtr(std::move(made));
}

Result<SizedPrograms::ProgramPtr> SizedPrograms::program(const std::vector<int64_t>& sizes) {
  if (sizes == family_->largest_sizes) return largest_;
  if (const ProgramPtr* known = others_->find(sizes)) return *known;
  CLEAVE_TRY(CodePtr code, family_->code(sizes));
  CLEAVE_TRY(ProgramPtr made, bound(std::move(code)));
  if (const int64_t count = family_->made_sizes; count > most_graphs)
    made->instance().skip_graphs(fmt::format("too many sizes ({})", count));
  others_->add(sizes, made);
  each([&](const ProgramPtr& p) {
    p->set_count("sizes", family_->made_sizes);
    p->set_count("recompiles", family_->recompiles);
  });
  return made;
}

Status SizedPrograms::run_boxed(HostTensors&& inputs) {
  const std::vector<InputRef> refs(inputs.begin(), inputs.end());
  return run(refs, &inputs, nullptr);
}

Status SizedPrograms::run(std::span<const InputRef> inputs, HostTensors* boxed,
                          std::shared_ptr<StartedRun> started) {
  const std::string& what = sizes().what();
  const Busy busy(running_);
  if (!busy.is_mine())
    return user_error("{}: it is running on another thread; one program runs once at a time", what);
  CLEAVE_CHECK(sizes().read(inputs, given_));
  CLEAVE_TRY(const ProgramPtr ours, program(given_));
  std::atomic<bool> reads_alone = false;
  const Busy assigning(ours->assigns_variables() ? family_->assigns : reads_alone);
  if (!assigning.is_mine())
    return user_error("{}: it assigns Variables, and another instance is running on another thread",
                      what);
  if (last_ != ours) CLEAVE_CHECK(last_->settle());  // they share an arena
  last_ = ours;
  using Next = BoundProgram::Next;
  Status bound = ours->bind(inputs, started ? Next::start : Next::run);
  if (!bound.ok()) return std::move(bound).failure().within(what);
  Status ran = boxed     ? ours->run_boxed(std::move(*boxed))
               : started ? ours->start(std::move(started))
                         : ours->run();
  if (const Warning* warning = ours->new_warning()) {
    const std::lock_guard lock(family_->mutex);
    family_->notices->warn({warning, 1});
  }
  return ran;
}

ProgramCode::Parts SizedPrograms::traced(const std::vector<int64_t>& sizes) const {
  const std::lock_guard lock(family_->mutex);
  const std::string text = family_->sizes.text(sizes);
  const trace::Within program(&trace::Tracing::sizes, text.c_str());
  return family_->traced(sizes, family_->options);
}

const InputSizes& SizedPrograms::sizes() const { return family_->sizes; }
size_t SizedPrograms::results() const { return family_->largest->results; }

template <class F>
void SizedPrograms::each(const F& f) const {
  f(largest_);
  others_->each(f);
}

void SizedPrograms::watch_memory() {
  each([](const ProgramPtr& p) { p->instance().fill_arena_pattern(); });
}

void SizedPrograms::profile_kernels(bool on) {
  profiles_ = on;
  each([&](const ProgramPtr& p) { p->instance().profile_kernels(on); });
}

}  // namespace cleave
