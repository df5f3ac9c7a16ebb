#include "tool/trainer.h"

#include <chrono>
#include <cmath>

#include "base/write_file.h"
#include "cleave/progress.h"
#include "remat/parse_budget.h"
#include "runtime/alloc_watch.h"
#include "runtime/thread_pool.h"
#include "tool/command.h"
#include "tool/graph_file.h"
#include "tool/grouped.h"
#include "tool/interrupt.h"
#include "tool/named_files.h"
#include "tool/standard_streams.h"

namespace cleave::tool {
namespace {

Status check(const TrainArguments& o) {
  const GptShape& s = o.shape;
  const std::pair<const char*, int64_t> positive[] = {
      {"--layers", s.layers},   {"--width", s.width}, {"--heads", s.heads},
      {"--context", s.context}, {"--batch", o.batch}, {"--every", o.every}};
  for (const auto& [name, value] : positive)
    if (value < 1 || value > 1 << 20)
      return user_error("{} {}: expected 1 to 1048576", name, value);
  if (s.width % s.heads)
    return user_error("--heads {}: expected a divisor of --width {}", s.heads, s.width);
  if (o.steps < 0 || o.sample < 0 || o.warmup < 0 || o.checkpoint_every < 0)
    return user_error("--steps, --sample, --warmup and --checkpoint-every can't be negative");
  if (!(s.dropout >= 0 && s.dropout < 1))
    return user_error("--dropout {}: expected 0 to below 1", s.dropout);
  if (!(o.lr > 0) || !std::isfinite(o.lr))
    return user_error("--lr {}: expected a positive number", o.lr);
  if (!(o.final_lr >= 0) || !(o.clip >= 0) || !(o.weight_decay >= 0))
    return user_error("--final-lr, --clip and --weight-decay can't be negative");
  if (o.schedule != "cosine" && o.schedule != "linear" && o.schedule != "constant")
    return user_error("--schedule {}: expected cosine, linear or constant", o.schedule);
  if (!(o.init_scale > 0) || std::isinf(static_cast<float>(o.init_scale)))
    return user_error("--init-scale {}: expected a positive number of f32", o.init_scale);
  if (o.threads < 0 || o.threads > 1024)
    return user_error("--threads {}: expected 0 to 1024", o.threads);
  for (const auto& [name, path] : {std::pair("--out", &o.out), std::pair("--save-init", &o.init)})
    if (*path == "-") return user_error("{} -: a checkpoint needs a file", name);
  for (const auto& [name, path] :
       {std::pair("--save-graph", &o.graph), std::pair("--trace", &o.trace.path)})
    if (*path == "-") return user_error("{} -: expected a file, as stdout has the losses", name);
  return check_files({{"--text", o.text}, {"--resume", o.resume, true}},
                     {{"--out", o.out},
                      {"--save-init", o.init},
                      {"--save-graph", o.graph},
                      {"--trace", o.trace.path}},
                     o.json ? Stdout::json : Stdout::free);
}

Result<LossScaling> loss_scaling_of(const std::string& text) {
  if (text == "automatic") return LossScaling::automatic;
  if (text == "on") return LossScaling::on;
  if (text == "off") return LossScaling::off;
  return user_error("--loss-scaling {}: expected automatic, on or off", text);
}

// Of the step; the other programs take none of its budget, dump and cache.
Result<CompileOptions> compile_options(const TrainArguments& o) {
  CompileOptions out;
  CLEAVE_TRY(out.target, o.target.runnable());
  CLEAVE_TRY(const std::optional<Device> device, o.device.device());
  if (device) out.device = *device;
  CLEAVE_CHECK(check_device_runs(out));
  CLEAVE_TRY(out.autocast, o.autocast.dtype());
  if (o.mode != "exact" && o.mode != "pytorch")
    return user_error("--mode {}: expected exact or pytorch", o.mode);
  CLEAVE_CHECK(o.rules.check(o.mode));
  if (o.mode == "pytorch") {
    CLEAVE_TRY(out.partition, o.rules.options(o.budget));
  } else if (!o.budget.empty()) {
    CLEAVE_TRY(out.memory_budget, parse_budget(o.budget));
  }
  out.dump_dir = o.dump;
  out.repro = o.repro;
  CLEAVE_CHECK(o.cache.apply(out));
  CLEAVE_TRY(out.executor, runtime::start_threads(o.threads));
  return out;
}

Result<TrainOptions> step_options(const TrainArguments& o, const CompileOptions& compile) {
  TrainOptions out{.compile = compile, .clip_norm = o.clip};
  CLEAVE_TRY(out.loss_scaling, loss_scaling_of(o.loss_scaling));
  out.init_scale = o.init_scale;
  out.seed = o.seed;
  return out;
}

// For errors in the model's program: they name no source line, which would be one of this file.
constexpr Location no_line{};

double learning_rate(const TrainArguments& o, int64_t step) {
  if (o.schedule == "constant") return optim::constant(step, o.lr, o.warmup);
  if (o.schedule == "linear") return optim::linear(step, o.lr, o.warmup, o.steps, o.final_lr);
  return optim::cosine(step, o.lr, o.warmup, o.steps, o.final_lr);
}

// The metadata of a checkpoint that must equal those of a run that resumes from it.
Metadata identity(const TrainArguments& o, const TextData& data) {
  auto number = [](auto v) { return fmt::format("{}", v); };
  std::string vocabulary;
  for (unsigned char c : data.vocabulary()) vocabulary += fmt::format("{:02x}", c);
  return {{"layers", number(o.shape.layers)},
          {"width", number(o.shape.width)},
          {"heads", number(o.shape.heads)},
          {"context", number(o.shape.context)},
          {"dropout", number(o.shape.dropout)},
          {"batch", number(o.batch)},
          {"seed", number(o.seed)},
          {"vocabulary", vocabulary}};
}

Status resume(const TrainArguments& o, const TextData& data, const Store& store) {
  const Metadata have = inspect_checkpoint(o.resume).metadata;
  for (const auto& [key, want] : identity(o, data)) {
    auto at = have.find(key);
    if (at == have.end())
      return user_error("{}: not a checkpoint of `cleave train`: no '{}'", o.resume, key);
    if (at->second != want && key == "vocabulary")
      return user_error("{}: was trained on a text with other characters than {}", o.resume,
                        o.text);
    if (at->second != want)
      return user_error("{}: was made with --{} {}, this run has {}", o.resume, key, at->second,
                        want);
  }
  load_checkpoint(o.resume, store);
  return {};
}

// Finds out before the first step, and not after the last, whether a checkpoint can be written.
Status check_writable(const std::string& path) {
  if (path.empty()) return {};
  const std::string probe = path + ".probe";
  CLEAVE_CHECK(write_file(probe, ""));
  std::remove(probe.c_str());
  return {};
}

class Trainer {
 public:
  Trainer(const TrainArguments& o, CompileOptions compile, const TextData& data)
      : o_(o), compile_(std::move(compile)), data_(data), rng_(o.seed), model_(o.shape, rng_),
        specs_{{"idx", DType::i64, {o.batch, o.shape.context}},
               {"target", DType::i64, {o.batch, o.shape.context}}},
        batch_{HostTensor(DType::i64, specs_[0].shape), HostTensor(DType::i64, specs_[1].shape)} {}

  Status run() {
    CLEAVE_CHECK(compile_step());
    if (!o_.resume.empty()) CLEAVE_CHECK(resume(o_, data_, step_->store()));
    if (!o_.init.empty()) save_checkpoint(o_.init, step_->store(), identity(o_, data_));
    if (!o_.graph.empty())
      CLEAVE_CHECK(write_text(o_.graph, aot_module(model_, loss(), specs_).joint_graph().text()));
    describe();
    CLEAVE_CHECK(check_stdout());
    const InterruptGuard guard;
    CLEAVE_CHECK(steps());
    if (!o_.out.empty()) save_checkpoint(o_.out, step_->store(), identity(o_, data_));
    const double val_loss = validate();
    CLEAVE_CHECK(o_.trace.write());
    return finish(val_loss);
  }

 private:
  // A public call throws: here its error becomes a value, and names the option that it is about.
  Status compile_step() {
    CLEAVE_TRY(const TrainOptions options, step_options(o_, compile_));
    try {
      step_.emplace(train_step(model_, loss(), adamw(), specs_, options, {}, no_line));
    } catch (const Error& e) {
      Failure failure{e.kind(), e.what()};
      if (o_.budget.empty() || e.kind() != ErrorKind::user) return failure;
      return std::move(failure).within("--budget " + o_.budget);
    }
    return {};
  }
  CompileOptions evaluation() const {
    return {.executor = compile_.executor,
            .target = compile_.target,
            .device = compile_.device,
            .autocast = compile_.autocast};
  }
  TracedFunction loss() {
    return [this](const Tensor& idx, const Tensor& target) { return model_.loss(idx, target); };
  }
  optim::AdamW adamw() const {
    return optim::AdamW(
        {.lr = o_.lr,
         .beta2 = 0.99,
         .weight_decay = o_.weight_decay,
         .decays = [](const std::string&, const Tensor& p) { return p.dim() >= 2; }});
  }
  double compile_ms() const { return step_->report().trace_ms + step_->report().compile_ms; }

  void describe() const {
    if (o_.json) return;
    const Report& r = step_->report();
    fmt::print("text     {}: {} characters to learn from, {} held out, {} different\n", o_.text,
               grouped(data_.train_size()), grouped(data_.held_out_size()),
               data_.vocabulary().size());
    fmt::print("model    {} layers, width {}, {} heads, context {}: {} parameters\n",
               o_.shape.layers, o_.shape.width, o_.shape.heads, o_.shape.context,
               grouped(model_.parameter_count()));
    fmt::print(
        "compiled in {:.0f} ms: {} nodes, {} kernels ({} different), planned peak {} bytes\n",
        compile_ms(), r.nodes, r.kernels, r.distinct_kernels, grouped(r.planned_peak_bytes));
  }

  Status steps() {
    using Clock = std::chrono::steady_clock;
    const double tokens = static_cast<double>(o_.batch * o_.shape.context);
    const int64_t first = step_->steps() + skipped_steps();
    ProgressLine progress(o_.steps, first);
    auto begin = Clock::now();
    for (int64_t i = first; i < o_.steps; ++i) {
      const auto step_began = Clock::now();
      data_.train_batch(o_.seed, i, batch_);
      step_->set_learning_rate(learning_rate(o_, i));
      const bool measured = i == first + 1 || (i == first && i + 1 == o_.steps);
      if (measured) step_->watch_memory();
      runtime::AllocWatch watch;
      if (measured) watch.start();
      result_ = step_->run({batch_.input, batch_.target});
      const double loss = result_.loss;
      if (measured) {
        const runtime::AllocCounts seen = watch.stop();
        allocations_ = seen.allocations;
        peak_bytes_ = step_->measured_peak_bytes() + seen.peak_live_bytes;
      }
      if (Timeline* timeline = o_.trace.timeline())
        timeline->add(fmt::format("step {}", i), "step", step_began, Clock::now());
      const double now = std::chrono::duration<double>(Clock::now() - begin).count();
      seconds_ = now;
      const double rate = tokens * static_cast<double>(i - first + 1) / now;
      if (!std::isfinite(loss) && !scales_loss())  // else the step was skipped
        return user_error("step {}: the loss is {}; a smaller --lr may help", i, loss);
      if (Status reported = report(i, loss, rate, progress); !reported.ok()) {
        if (!o_.out.empty()) save_checkpoint(o_.out, step_->store(), identity(o_, data_));
        return reported;
      }
      if (InterruptGuard::is_set()) return interrupt(i + 1);
      if (o_.checkpoint_every && (i + 1) % o_.checkpoint_every == 0 && !o_.out.empty())
        save_checkpoint(o_.out, step_->store(), identity(o_, data_));
    }
    return {};
  }

  // Steps of the store that the loss's scale has skipped, which steps() doesn't count.
  int64_t skipped_steps() const {
    const Variable skipped = step_->store().find("optimizer.skipped_steps");
    return skipped.defined() ? *skipped.data<int64_t>() : 0;
  }
  bool scales_loss() const { return step_->store().find("optimizer.loss_scale").defined(); }

  // Error (user): stdout can't be written.
  Status report(int64_t i, double loss, double rate, ProgressLine& progress) const {
    if (o_.json) {
      Json about{{"step", i}, {"loss", loss}, {"tokens_per_s", rate}};
      if (scales_loss()) {
        about["loss_scale"] = result_.loss_scale.value();
        about["skipped_steps"] = static_cast<int64_t>(result_.skipped_steps);
      }
      return print_json(about);
    }
    if (i % o_.every == 0 || i + 1 == o_.steps) {
      progress.clear();
      put(fmt::format("step {:>6}  loss {:.4f}  {:>9} tokens/s\n", i, loss,
                      grouped(std::llround(rate))));
      CLEAVE_CHECK(check_stdout());
    }
    progress.show(i + 1,
                  fmt::format("loss {:.4f}  {} tokens/s", loss, grouped(std::llround(rate))));
    return {};
  }

  Status interrupt(int64_t done) {
    if (o_.out.empty()) {
      fmt::print(stderr,
                 "\ninterrupted after {} steps; nothing was saved, since --out is not given\n",
                 done);
    } else {
      save_checkpoint(o_.out, step_->store(), identity(o_, data_));
      fmt::print(stderr, "\ninterrupted after {} steps; go on with --resume {}\n", done, o_.out);
    }
    throw Interrupted();
  }

  // Mean loss over the held-out windows.
  double validate() {
    CompiledFunction f = compile(model_, loss(), specs_, evaluation(), no_line);
    const int64_t batches = data_.held_out_batches(o_.batch, o_.shape.context);
    double sum = 0;
    for (int64_t b = 0; b < batches; ++b) {
      data_.held_out_batch(b, batch_);
      const HostTensor inputs[] = {
          HostTensor::borrow(DType::i64, specs_[0].shape, batch_.input.data()),
          HostTensor::borrow(DType::i64, specs_[1].shape, batch_.target.data())};
      const InputRef refs[] = {inputs[0], inputs[1]};
      f.run_in_place(refs);
      sum += f.output_view(0).item();
    }
    return sum / static_cast<double>(batches);
  }

  // Draws characters one after another at temperature 0.8.
  std::string sample() {
    const int64_t context = o_.shape.context;
    CompiledFunction f = compile(
        model_, [this](const Tensor& idx) { return model_.logits(idx); },
        {{"idx", DType::i64, {1, context}}}, evaluation(), no_line);
    Generator rng(o_.seed + 1);
    HostTensor idx(DType::i64, {1, context});
    const size_t newline = data_.vocabulary().find('\n');
    int64_t length = 1;
    idx.at<int64_t>({0, 0}) = newline == std::string::npos ? 0 : static_cast<int64_t>(newline);
    std::string out;
    const auto vocabulary = static_cast<int64_t>(data_.vocabulary().size());
    while (static_cast<int64_t>(out.size()) < o_.sample) {
      const InputRef refs[] = {idx};
      f.run_in_place(refs);
      const HostTensor logits = f.output_view(0);
      const float* row = logits.data<float>() + (length - 1) * vocabulary;
      const int64_t next = draw(row, vocabulary, rng.uniform());
      out += data_.vocabulary()[static_cast<size_t>(next)];
      int64_t* x = idx.data<int64_t>();
      if (length == context)
        std::copy(x + 1, x + context, x);
      else
        ++length;
      x[length - 1] = next;
    }
    return out;
  }

  static int64_t draw(const float* logits, int64_t n, double u) {
    constexpr double temperature = 0.8;
    double top = logits[0], total = 0;
    for (int64_t k = 1; k < n; ++k) top = std::max<double>(top, logits[k]);
    for (int64_t k = 0; k < n; ++k) total += std::exp((logits[k] - top) / temperature);
    for (int64_t k = 0; k < n; ++k)
      if ((u -= std::exp((logits[k] - top) / temperature) / total) < 0) return k;
    return n - 1;
  }

  Status finish(double val_loss) {
    const int64_t planned = step_->report().planned_peak_bytes;
    if (o_.json) {
      Json about{{"val_loss", val_loss},
                 {"compile_ms", compile_ms()},
                 {"peak_bytes", peak_bytes_},
                 {"planned_peak_bytes", planned},
                 {"allocations_per_step", allocations_}};
      if (scales_loss()) about["skipped_steps"] = skipped_steps();
      return print_json(about);
    }
    fmt::print("validation loss {:.4f} after {} steps in {}\n", val_loss, step_->steps(),
               clock_text(seconds_));
    if (scales_loss())
      fmt::print("scale    {} of the loss; {} steps were skipped\n",
                 step_->store().at("optimizer.loss_scale").value().item(), skipped_steps());
    if (peak_bytes_)
      fmt::print("memory   planned peak {} bytes, measured {}; {} allocations in a step\n",
                 grouped(planned), grouped(peak_bytes_), allocations_);
    if (o_.sample) fmt::print("\n{}\n", sample());
    if (!o_.out.empty()) fmt::print(stderr, "checkpoint: {}\n", o_.out);
    return {};
  }

  TrainArguments o_;
  CompileOptions compile_;
  const TextData& data_;
  Generator rng_;
  Gpt model_;
  std::vector<InputSpec> specs_;
  Batch batch_;
  std::optional<TrainStep> step_;  // from run() on
  StepResult result_;              // of the last step
  double seconds_ = 0;
  int64_t peak_bytes_ = 0, allocations_ = 0;
};

}  // namespace

Status train(TrainArguments o) {
  CLEAVE_CHECK(check(o));
  CLEAVE_TRY(CompileOptions compile, compile_options(o));
  o.trace.watch(compile);
  CLEAVE_TRY(TextData data, TextData::open(o.text, o.shape.context));
  CLEAVE_CHECK(check_writable(o.out));
  CLEAVE_CHECK(check_writable(o.init));
  o.shape.vocabulary = static_cast<int64_t>(data.vocabulary().size());
  return Trainer(o, std::move(compile), data).run();
}

}  // namespace cleave::tool
