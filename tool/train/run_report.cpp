#include "tool/train/run_report.h"

#include <cmath>

#include "tool/graph_file.h"
#include "tool/grouped.h"
#include "tool/standard_streams.h"

namespace cleave::tool {
namespace {

double compile_ms(const Report& r) { return r.trace_ms + r.compile_ms; }

}  // namespace

RunReport::RunReport(const TrainArguments& o, const RunModel& model, int64_t first_step)
    : o_(o), model_(model), progress_(*o.steps, first_step) {}

void RunReport::describe(const RunData& data, const Report& compiled) const {
  if (o_.json) return;
  fmt::print("{}\n", data.about());
  fmt::print("{}: {} parameters\n", model_.about, grouped(model_.module.parameter_count()));
  fmt::print("compiled in {:.0f} ms: {} nodes, {} kernels ({} different), planned peak {} bytes\n",
             compile_ms(compiled), compiled.nodes, compiled.kernels, compiled.distinct_kernels,
             grouped(compiled.planned_peak_bytes));
}

Status RunReport::step(const StepFigures& f) {
  if (o_.json) {
    Json about{{"step", f.step},
               {"loss", f.loss},
               {fmt::format("{}_per_s", model_.unit()), f.units_per_s}};
    if (f.scale) {
      about["loss_scale"] = f.scale->first;
      about["skipped_steps"] = f.scale->second;
    }
    if (o_.is_model_run()) {
      about["lr"] = f.lr;
      about["grad_norm"] = f.grad_norm;
      about[model_.unit()] = f.units;
      about["seconds"] = f.seconds;
    }
    return print_json(about);
  }
  const std::string rate = grouped(std::llround(f.units_per_s));
  if (f.step % o_.every == 0 || f.step + 1 == *o_.steps) {
    progress_.clear();
    const std::string lr = o_.is_model_run() ? fmt::format("lr {:.3g}  ", f.lr) : "";
    put(fmt::format("step {:>6}  loss {:.4f}  {}{:>9} {}/s\n", f.step, f.loss, lr, rate,
                    model_.unit()));
    CLEAVE_CHECK(check_stdout());
  }
  const std::string peak =
      f.peak_bytes ? fmt::format("  peak {} bytes", grouped(f.peak_bytes)) : "";
  progress_.show(f.step + 1,
                 fmt::format("loss {:.4f}  {} {}/s{}", f.loss, rate, model_.unit(), peak));
  return {};
}

Status RunReport::held_out(int64_t step, double loss) {
  if (o_.json) return print_json({{"step", step}, {"val_loss", loss}});
  progress_.clear();
  put(fmt::format("step {:>6}  validation loss {:.4f}\n", step, loss));
  return check_stdout();
}

Status RunReport::finish(const RunFigures& f, const Report& compiled) {
  if (o_.json) {
    Json about{{"val_loss", f.val_loss},
               {"compile_ms", compile_ms(compiled)},
               {"peak_bytes", f.peak_bytes},
               {"planned_peak_bytes", compiled.planned_peak_bytes},
               {"allocations_per_step", f.allocations}};
    if (f.scale) about["skipped_steps"] = f.scale->second;
    if (o_.is_model_run()) {
      about[model_.unit()] = f.units;
      about["seconds"] = f.seconds;
    }
    return print_json(about);
  }
  fmt::print("validation loss {:.4f} after {} steps in {}\n", f.val_loss, f.steps,
             clock_text(f.seconds));
  if (f.scale)
    fmt::print("scale    {} of the loss; {} steps were skipped\n", f.scale->first, f.scale->second);
  if (f.peak_bytes)
    fmt::print("memory   planned peak {} bytes, measured {}; {} allocations in a step\n",
               grouped(compiled.planned_peak_bytes), grouped(f.peak_bytes), f.allocations);
  return {};
}

}  // namespace cleave::tool
