#include "tool/train/trainer.h"

#include <chrono>
#include <cmath>

#include "cleave/aot.h"
#include "runtime/alloc_watch.h"
#include "tool/command.h"
#include "tool/graph_file.h"
#include "tool/interrupt.h"
#include "tool/standard_streams.h"
#include "tool/train/program_options.h"

namespace cleave::tool {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

}  // namespace

Trainer::Trainer(TrainArguments& o, CompileOptions compile, const RunModel& model, RunData& data)
    : o_(o), model_(model), data_(data), compile_(std::move(compile)),
      evaluation_(evaluation_options(compile_)),
      files_(o, model, run_identity(o, model.identity, data.identity())),
      validation_(model, data, evaluation_), units_per_step_(model.batch_units() * o.accumulate) {
  files_.curves.title = fmt::format("loss of {}", model.name);
}

// A public call throws: here its error becomes a value, and names the option that it is about.
Status Trainer::compile_step() {
  CLEAVE_TRY(const TrainOptions options, step_options(o_, compile_));
  try {
    step_ = train_step(model_.module, model_.loss, adamw(o_), model_.inputs, options, {}, no_line);
  } catch (const Error& e) {
    Failure failure{e.kind(), e.what()};
    if (o_.budget.empty() || e.kind() != ErrorKind::user) return failure;
    return std::move(failure).within("--budget " + o_.budget);
  }
  return {};
}

Status Trainer::run() {
  CLEAVE_CHECK(compile_step());
  CLEAVE_CHECK(files_.resume(step_.store()));
  CLEAVE_CHECK(files_.write_initial(step_.store()));
  if (!o_.graph.empty()) {
    const AotFunction joint = aot_module(model_.module, model_.loss, model_.inputs);
    CLEAVE_CHECK(write_text(o_.graph, joint.joint_graph().text()));
  }
  report_.emplace(o_, model_, step_.steps() + skipped_steps());
  report_->describe(data_, step_.report());
  CLEAVE_CHECK(check_stdout());
  const InterruptGuard guard;
  CLEAVE_CHECK(steps());
  report_->clear();
  CLEAVE_CHECK(files_.write(step_.store()));
  const std::optional<double> val_loss = validation_.mean_loss();
  if (!val_loss) return interrupt(*o_.steps);
  if (*o_.steps > 0) files_.curves.held_out.emplace_back(*o_.steps - 1, *val_loss);
  CLEAVE_CHECK(files_.write_chart());
  CLEAVE_CHECK(o_.trace.write());
  std::optional<std::pair<double, int64_t>> scale;
  if (scales_loss())
    scale.emplace(step_.store().at("optimizer.loss_scale").value().item(), skipped_steps());
  return report_->finish({.val_loss = *val_loss,
                          .seconds = seconds_,
                          .units = *o_.steps * units_per_step_,
                          .steps = step_.steps(),
                          .peak_bytes = peak_bytes_,
                          .allocations = allocations_,
                          .scale = scale},
                         step_.report());
}

Status Trainer::steps() {
  const int64_t first = step_.steps() + skipped_steps();
  const auto begin = Clock::now();
  double validating = 0;
  for (int64_t i = first; i < *o_.steps; ++i) {
    const auto step_began = Clock::now();
    const double lr = learning_rate(o_, i);
    step_.set_learning_rate(lr);
    const double loss = run_batches(i, i == first + 1 || (i == first && i + 1 == *o_.steps));
    if (Timeline* timeline = o_.trace.timeline())
      timeline->add(fmt::format("step {}", i), "step", step_began, Clock::now());
    seconds_ = seconds_since(begin);
    if (!std::isfinite(loss) && !scales_loss())  // else the step was skipped
      return user_error("step {}: the loss is {}; a smaller --lr may help", i, loss);
    files_.curves.train.emplace_back(i, loss);
    const auto done = static_cast<double>((i - first + 1) * units_per_step_);
    const Status reported = report_->step({.step = i,
                                           .loss = loss,
                                           .lr = lr,
                                           .grad_norm = result_.grad_norm,
                                           .units_per_s = done / (seconds_ - validating),
                                           .seconds = seconds_,
                                           .units = (i + 1) * units_per_step_,
                                           .peak_bytes = peak_bytes_,
                                           .scale = scale_of_step()});
    if (!reported.ok()) {
      CLEAVE_CHECK(files_.write(step_.store()));
      return reported;
    }
    if (!InterruptGuard::is_set() && o_.eval_every && (i + 1) % o_.eval_every == 0 &&
        i + 1 < *o_.steps) {
      const auto validation_began = Clock::now();
      CLEAVE_CHECK(validate_at(i));
      validating += seconds_since(validation_began);
    }
    if (InterruptGuard::is_set()) return interrupt(i + 1);
    if (o_.checkpoint_every && (i + 1) % o_.checkpoint_every == 0 && files_.has_checkpoint())
      CLEAVE_CHECK(files_.write(step_.store()));
  }
  return {};
}

double Trainer::run_batches(int64_t step, bool is_measured) {
  double sum = 0;
  for (int64_t k = 0; k < o_.accumulate; ++k) {
    const HostTensors& batch = data_.train_batch(step * o_.accumulate + k);
    const bool measures = is_measured && k + 1 == o_.accumulate;  // the run that updates
    if (measures) step_.watch_memory();
    runtime::AllocWatch watch;
    if (measures) watch.start();
    const InputRef inputs[] = {batch[0], batch[1]};
    result_ = step_.run(inputs);
    sum += result_.loss.value();
    if (!measures) continue;
    const runtime::AllocCounts seen = watch.stop();
    allocations_ = seen.allocations;
    peak_bytes_ = step_.measured_peak_bytes() + seen.peak_live_bytes;
  }
  return sum / static_cast<double>(o_.accumulate);
}

Status Trainer::validate_at(int64_t step) {
  const std::optional<double> loss = validation_.mean_loss();
  if (!loss) return {};
  files_.curves.held_out.emplace_back(step, *loss);
  return report_->held_out(step, *loss);
}

Status Trainer::interrupt(int64_t done) {
  report_->clear();
  CLEAVE_CHECK(files_.write(step_.store()));
  const std::string saved = o_.save.empty() ? "" : fmt::format("; the model is in {}", o_.save);
  if (!o_.out.empty())
    fmt::print(stderr, "\ninterrupted after {} steps; go on with --resume {}{}\n", done, o_.out,
               saved);
  else if (!o_.save.empty())
    fmt::print(stderr, "\ninterrupted after {} steps{}\n", done, saved);
  else
    fmt::print(stderr,
               "\ninterrupted after {} steps; nothing was saved, since --out is not given\n", done);
  throw Interrupted{InterruptGuard::signal()};
}

// Steps of the store that the loss's scale has skipped, which steps() doesn't count.
int64_t Trainer::skipped_steps() const {
  const Variable skipped = step_.store().find("optimizer.skipped_steps");
  return skipped.defined() ? *skipped.data<int64_t>() : 0;
}

bool Trainer::scales_loss() const { return step_.store().find("optimizer.loss_scale").defined(); }

std::optional<std::pair<double, int64_t>> Trainer::scale_of_step() const {
  if (!scales_loss()) return std::nullopt;
  return std::pair(result_.loss_scale.value(), static_cast<int64_t>(result_.skipped_steps.value()));
}

}  // namespace cleave::tool
