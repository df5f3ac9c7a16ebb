// The code of doc/how_do_i.md, between the lines `// [NAME]` and `// [end]`; script/check_readme
// compares the page with it.
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <regex>
#include <sstream>
#include <thread>

#include "cleave/cleave.h"
#include "test/pretrained/small.h"

namespace cleave {
namespace {

std::string tmp(const std::string& name) {
  static const test::TempFolder folder;  // gone with the program
  return folder / name;
}

// A classifier of points: is x0 x1 above 0?
struct Points : testing::Test {
  Generator rng{7};
  nn::Sequential model{nn::Linear(2, 32, rng), nn::ReLU(), nn::Linear(32, 2, rng)};
  const int64_t size = 32;

  TracedFunction loss() {
    return [this](const Tensor& x, const Tensor& y) { return cross_entropy(model(x), y); };
  }
  std::vector<InputSpec> inputs() {
    return {{"x", DType::f32, {size, 2}}, {"y", DType::i64, {size}}};
  }
  data::SourcePtr points(int64_t count) {
    HostTensor x = rng.uniform({count, 2}, -1, 1), y(DType::i64, {count});
    for (int64_t i = 0; i < count; ++i)
      y.at<int64_t>({i}) = x.at<float>({i, 0}) * x.at<float>({i, 1}) > 0;
    return data::tensors({x, y});
  }
};

TEST_F(Points, validate) {
  data::SourcePtr examples = points(1000);
  TrainStep step = train_step(model, loss(), optim::AdamW({.lr = 1e-2}), inputs());
  // [validate]
  auto [train, held_out] = data::split(examples, 0.8, /*seed=*/7);
  data::Batches batches(train, {.size = size, .seed = 7});
  data::Batches checks(held_out, {.size = size, .shuffle = false});
  // A program of its own: it reads the parameters where the training step writes them, and drops
  // nothing, whatever the mode of the model.
  CompiledFunction scores =
      compile(model, [&](const Tensor& x) { return model(x); }, {{"x", DType::f32, {size, 2}}});
  EarlyStopping stopping({.patience = 5, .maximize = true});
  RunningMean right;
  do {
    for (int64_t i = 0; i < batches.per_epoch(); ++i) {
      const HostTensors& b = batches.next();
      step.run({{"x", b[0]}, {"y", b[1]}});
    }
    right.reset();
    for (int64_t i = 0; i < checks.per_epoch(); ++i) {
      const HostTensors& b = checks.next();
      right.add(accuracy(scores.run({b[0]})[0], b[1]), static_cast<double>(size));
    }
  } while (!stopping.should_stop(right.value()));
  // [end]
  EXPECT_GT(stopping.best(), 0.9);
}

TEST_F(Points, save_and_resume) {
  data::SourcePtr examples = points(320);
  const auto run = [&](int64_t steps) {
    Generator fresh(7);
    nn::Sequential model(nn::Linear(2, 32, fresh), nn::ReLU(), nn::Linear(32, 2, fresh));
    const auto loss = [&](const Tensor& x, const Tensor& y) { return cross_entropy(model(x), y); };
    const std::string path = tmp("how_do_i_run.safetensors");
    double last = 0;
    // [resume]
    TrainStep step = train_step(model, loss, optim::AdamW({.lr = 1e-2}), inputs());
    data::Batches batches(examples, {.size = size, .seed = 7});
    if (std::filesystem::exists(path)) {
      load_checkpoint(path, step.store());  // parameters, moments, rates, the step, random numbers
      batches.seek(step.steps());           // the batch that was next
    }
    while (step.steps() < steps) {
      const HostTensors& b = batches.next();
      last = step.run({b[0], b[1]}).loss;
      if (step.steps() % 5 == 0) save_checkpoint(path, step.store());
    }
    // [end]
    return last;
  };
  const std::string path = tmp("how_do_i_run.safetensors");
  std::filesystem::remove(path);
  const double whole = run(20);
  std::filesystem::remove(path);
  run(12);  // killed after step 12; the file is of step 10
  EXPECT_EQ(run(20), whole);
}

TEST_F(Points, save) {
  const std::string path = tmp("how_do_i_weights.safetensors");
  // [save]
  save_weights(path, model, {{"made by", "train.cpp"}});  // PyTorch: load_file, load_state_dict
  nn::Sequential other(nn::Linear(2, 32, rng), nn::ReLU(), nn::Linear(32, 2, rng));
  load_weights(path, other);
  // [end]
  EXPECT_TRUE(other.parameter("2.bias").value().same_bits(model.parameter("2.bias").value()));
}

TEST_F(Points, pytorch) {
  const std::string path = tmp("how_do_i_backbone.safetensors");
  save_tensors(path, {{"module.body.weight", HostTensor(DType::bf16, {32, 2})},
                      {"module.body.bias", HostTensor(DType::bf16, {32})},
                      {"module.old_head.weight", HostTensor(DType::bf16, {1000, 32})}});
  // In PyTorch: safetensors.torch.save_file(model.state_dict(), "backbone.safetensors")
  // [pytorch]
  LoadReport report =
      load_weights(path, model,
                   {.allow_missing = true,  // "2.*", the new head, stays as it is
                    .allow_extra = true,    // the old head is skipped
                    .cast = true,           // the file is bf16, the model f32
                    .prefix = "module.",    // of DistributedDataParallel
                    .rename = [](const std::string& name) -> std::string {
                      return name.starts_with("body.") ? "0" + name.substr(4) : name;
                    }});
  for (const std::string& name : report.missing) std::cout << name << " is new\n";
  // [end]
  EXPECT_EQ(report.loaded, (std::vector<std::string>{"0.weight", "0.bias"}));
  EXPECT_EQ(report.missing, (std::vector<std::string>{"2.weight", "2.bias"}));
}

TEST_F(Points, freeze) {
  // [freeze]
  nn::Linear body(2, 32, rng), head(32, 2, rng);
  nn::Sequential both(body, nn::ReLU(), head);
  body.set_requires_grad(false);  // before the step is compiled: it then has no gradients of these
  const auto loss = [&](const Tensor& x, const Tensor& y) { return cross_entropy(both(x), y); };
  TrainStep step = train_step(both, loss, optim::SGD({.lr = 0.1}), inputs());
  // Later, everything: another step, which goes on with the state of the first.
  body.set_requires_grad(true);
  TrainStep fine = train_step(both, loss, optim::SGD({.lr = 0.01}), inputs(), {}, step.store());
  // [end]
  body.set_requires_grad(false);
  const HostTensor before = body.parameter("weight").value();
  const HostTensor x = rng.uniform({size, 2}, -1, 1), y(DType::i64, {size});
  step.run({x, y});
  EXPECT_TRUE(body.parameter("weight").value().same_bits(before));
  body.set_requires_grad(true);
  fine.run({x, y});
  EXPECT_FALSE(body.parameter("weight").value().same_bits(before));
}

TEST_F(Points, groups) {
  // [groups]
  optim::Groups groups(
      {{optim::named("2."), optim::AdamW({.lr = 1e-2})},                  // the last layer
       {[](const std::string&, const Tensor& p) { return p.dim() < 2; },  // other biases
        optim::SGD({.lr = 1e-3, .momentum = 0.9})},
       {optim::others(), optim::AdamW({.lr = 1e-3, .weight_decay = 0.1})}});
  TrainStep step = train_step(model, loss(), groups, inputs());
  step.set_learning_rate(0, optim::cosine(step.steps(), 1e-2, 20, 500));  // of the first group
  // [end]
  EXPECT_EQ(step.learning_rate(2), 1e-3);
}

TEST_F(Points, own_operator) {
  // [operator]
  Operators ops;
  ops.add({.name = "cube",
           .signature = "(Tensor x, *, float scale=1.0) -> (Tensor y)",
           .infer = [](const OpCall& op) { return std::vector{op.operand(0)}; },
           // What it means, in float64: tests compare the kernel with it.
           .reference =
               [](const OpCall& op, const HostTensors& in, HostTensors& out) {
                 for (int64_t i = 0; i < in[0].numel(); ++i)
                   out[0].data<double>()[i] = op.float_attr("scale") * std::pow(in[0].number(i), 3);
               },
           .grad =
               [](const OpGradCall& op) {
                 const Tensor& x = op.operand_value(0);
                 return Tensors{op.cotangent(0) * x * x * (3 * op.float_attr("scale"))};
               },
           // The body of a C function over x and y, for these sizes and attributes.
           .kernel =
               [](const OpCall& op) {
                 return "for (long i = 0; i < " + std::to_string(op.operand(0).numel()) +
                        "; ++i) y[i] = " + std::to_string(op.float_attr("scale")) +
                        "f * x[i] * x[i] * x[i];";
               }});
  CompiledFunction f =
      compile([](const Tensor& x) { return call("cube", {x}, {{"scale", 2.0}})[0]; },
              {{"x", DType::f32, {3}}}, {.ops = ops});
  // [end]
  EXPECT_EQ(f.run({HostTensor::from<float>({1, 2, 3})})[0].to_vector<double>(),
            (std::vector<double>{2, 16, 54}));
}

TEST_F(Points, budget) {
  // [budget]
  for (const MemoryTrade& t : memory_trades(model, loss(), optim::AdamW({}), inputs()))
    std::printf("%ld B  +%ld ns\n", t.peak_bytes, t.recompute_ns);
  TrainStep step = train_step(model, loss(), optim::AdamW({}), inputs(),
                              {.compile = {.memory_budget = 1 << 20}});
  // [end]
  EXPECT_LE(step.report().planned_peak_bytes, 1 << 20);
}

TEST_F(Points, accumulate) {
  // [accumulate]
  TrainStep step = train_step(model, loss(), optim::AdamW({}), inputs(),
                              {.clip_norm = 1.0, .accumulate = 4});  // four runs make a step
  // [end]
  const HostTensor x = rng.uniform({size, 2}, -1, 1), y(DType::i64, {size});
  for (int i = 0; i < 8; ++i) step.run({x, y});
  EXPECT_EQ(step.steps(), 2);
}

TEST_F(Points, averages) {
  const std::string path = tmp("how_do_i_averages.safetensors");
  const HostTensor x = rng.uniform({size, 2}, -1, 1), y(DType::i64, {size});
  // [averages]
  TrainStep step = train_step(model, loss(), optim::AdamW({}), inputs(), {.ema_decay = 0.99});
  step.run({x, y});
  step.use_ema(true);  // the averages stand in the place of the parameters
  save_weights(path, model);
  step.use_ema(false);  // before the next step, and before a checkpoint
  // [end]
  step.run({x, y});
}

TEST_F(Points, lengths) {
  const HostTensor few = rng.uniform({5, 2}, -1, 1), many = rng.uniform({60, 2}, -1, 1);
  // [lengths]
  CompiledFunction scores = compile(model, [&](const Tensor& x) { return model(x); },
                                    {{"x", DType::f32, {dyn("N", 1, 64), 2}}});
  HostTensors a = scores.run({few});   // [5,2]: made at the first run of 5 rows, and kept
  HostTensors b = scores.run({many});  // [60,2]
  // [end]
  EXPECT_EQ(a[0].shape(), (Sizes{5, 2}));
  EXPECT_EQ(b[0].shape(), (Sizes{60, 2}));
}

TEST_F(Points, layouts) {
  // [layouts]
  // Rows of pixels of 3 colors each, for a program that reads channels first.
  CompiledFunction brightness = compile([](const Tensor& x) { return mean(x, {1, 2}); },
                                        {{"x", DType::f32, {3, 4, 6}, /*strides=*/{1, 18, 3}}});
  std::vector<float> pixels(4 * 6 * 3, 0.5f);
  HostTensor picture = HostTensor::borrow(DType::f32, {3, 4, 6}, {1, 18, 3}, pixels.data());
  HostTensor colors = brightness.run({picture})[0];  // nothing is moved
  // One that takes any layout, and copies what isn't row-major (counted).
  CompiledFunction any = compile([](const Tensor& x) { return mean(x, {1, 2}); },
                                 {{.name = "x", .shape = {3, 4, 6}, .copy_strides = true}});
  HostTensor same = any.run({picture})[0];
  // [end]
  EXPECT_EQ(colors.number(2), 0.5);
  EXPECT_TRUE(same.same_bits(colors));
  EXPECT_EQ(any.report().count("stride_copies"), 1);
}

TEST_F(Points, update) {
  // [update]
  // Keys of the last 8 tokens: one row is replaced in each run, in the caller's memory.
  CompiledFunction append = compile(
      [](const Tensor& key, const Tensor& at, const Tensor& cache) {
        const Tensor row = eq(arange(0, 8), at).view({8, 1});
        assign(cache, where(row, key, cache));
        return sum(cache * key, {1});  // reads the old value
      },
      {{"key", DType::f32, {4}},
       {"at", DType::i64, {}},
       {.name = "cache", .shape = {8, 4}, .is_static = true, .is_updated = true}});
  HostTensor cache(DType::f32, {8, 4});
  for (int64_t i = 0; i < 3; ++i) {
    HostTensor at = HostTensor::scalar(static_cast<double>(i), DType::i64);
    append.run({rng.normal({4}), at, cache});
  }
  // [end]
  EXPECT_NE(cache.number(11), 0);
  EXPECT_EQ(cache.number(12), 0);
  EXPECT_EQ(append.report().count("rebinds"), 0);
}

TEST_F(Points, tree) {
  const HostTensor x = rng.normal({4, 2});
  // [tree]
  CompiledTree step = compile_tree(
      model,
      [&](const Tree<Tensor>& in) {
        const Tensor h = add(model(in["x"]), in["state"][0].leaf());
        return Tree<Tensor>::map({{"y", relu(h)}, {"state", Tree<Tensor>::list({h})}});
      },
      Tree<InputSpec>::map({{"x", InputSpec{.shape = {4, 2}}},
                            {"state", Tree<InputSpec>::list({InputSpec{.shape = {4, 2}}})}}));
  Tree<HostTensor> out = step.run(Tree<InputRef>::map(
      {{"state", Tree<InputRef>::list({HostTensor(DType::f32, {4, 2})})}, {"x", x}}));
  out = step.run(Tree<InputRef>::map({{"x", x}, {"state", out["state"]}}));  // the next step
  HostTensor y = out["y"];
  // [end]
  EXPECT_EQ(y.type_text(), "f32[4,2]");
  EXPECT_EQ(out.shape_text(), "{y: *, state: [*]}");
}

TEST_F(Points, boxed) {
  // [boxed]
  CompiledFunction scores = compile(model, [&](const Tensor& x) { return softmax(model(x), 1); },
                                    {{"x", DType::f32, {size, 2}}});
  HostTensors batch;
  batch.push_back(rng.normal({size, 2}));
  HostTensors out = scores.run(std::move(batch));  // x is freed behind the first layer
  // [end]
  EXPECT_TRUE(batch.empty());
  EXPECT_EQ(out[0].shape(), (std::vector<int64_t>{32, 2}));
}

TEST_F(Points, serve) {
  const HostTensor request = rng.uniform({1, 2}, -1, 1);
  std::atomic<int> answered = 0;
  // [serve]
  CompiledFunction scores =
      compile(model, [&](const Tensor& x) { return model(x); }, {{"x", DType::f32, {1, 2}}});
  std::vector<std::thread> workers;
  for (int k = 0; k < 4; ++k)
    workers.emplace_back([&, mine = scores.instance()]() mutable {  // its own memory, in 20 us
      for (int i = 0; i < 10; ++i) {
        mine.run_in_place({{request}});  // allocates nothing
        answered += mine.output_view(0).data<float>()[0] == mine.output_view(0).number(0);
      }
    });
  for (std::thread& w : workers) w.join();
  // [end]
  EXPECT_EQ(answered, 40);
}

TEST_F(Points, inference) {
  const HostTensor request = rng.uniform({1, 2}, -1, 1), other = rng.uniform({32}, 1, 2);
  // [inference]
  CompiledFunction scores = compile(model, [&](const Tensor& x) { return model(x); },
                                    {{"x", DType::f32, {1, 2}}}, {.freeze = true});
  HostTensor before = scores.run({request})[0];
  model.parameter("0.bias").set(other);
  scores.refreeze();  // without compiling anything
  HostTensor after = scores.run({request})[0];
  const FrozenReport& frozen = scores.report().frozen;  // what was folded, packed, kept, dropped
  // [end]
  EXPECT_FALSE(before.same_bits(after));
  EXPECT_EQ(frozen.kept.count + frozen.dropped.count, 4);
}

TEST_F(Points, start_again) {
  const std::string folder = tmp("how_do_i_cache");
  // [start_again]
  const CompileOptions kept{.cache_dir = folder};  // such as ~/.cache/my_program
  CompiledFunction first =
      compile([](const Tensor& x) { return exp(x) * 2; }, {{"x", DType::f32, {64}}}, kept);
  CompiledFunction again =
      compile([](const Tensor& x) { return exp(x) * 2; }, {{"x", DType::f32, {64}}}, kept);
  std::cout << first.report().cache << ", then " << again.report().cache << "\n";  // miss, then hit
  // [end]
  EXPECT_EQ(first.report().cache, "miss");
  EXPECT_EQ(again.report().cache, "hit");
  std::filesystem::remove_all(folder);
}

TEST_F(Points, gan) {
  nn::Sequential maker(nn::Linear(4, 32, rng), nn::ReLU(), nn::Linear(32, 2, rng));
  nn::Sequential critic(nn::Linear(2, 32, rng), nn::ReLU(), nn::Linear(32, 1, rng));
  const HostTensor real = rng.uniform({size, 2}, -1, 1), z = rng.normal({size, 4});
  // [gan]
  const auto zero = [](const Tensor& t) { return zeros_like(t); };
  const auto one = [](const Tensor& t) { return ones_like(t); };
  TrainStep critic_step =
      train_step(critic,
                 [&](const Tensor& x, const Tensor& noise) {
                   const Tensor good = critic(x), bad = critic(maker(noise));
                   return binary_cross_entropy_with_logits(good, one(good)) +
                          binary_cross_entropy_with_logits(bad, zero(bad));
                 },
                 optim::Adam({.lr = 1e-3}),
                 {{"real", DType::f32, {size, 2}}, {"noise", DType::f32, {size, 4}}},
                 {.frozen = {{"maker", maker}}});
  TrainStep maker_step =
      train_step(maker,
                 [&](const Tensor& noise) {
                   const Tensor made = critic(maker(noise));
                   return binary_cross_entropy_with_logits(made, one(made));
                 },
                 optim::Adam({.lr = 1e-3}), {{"noise", DType::f32, {size, 4}}},
                 {.frozen = {{"critic", critic}}});  // gradients flow through it, and it stays
  critic_step.run({real, z});
  maker_step.run({z});
  // [end]
  EXPECT_EQ(critic_step.steps() + maker_step.steps(), 2);
}

TEST_F(Points, target) {
  const HostTensor x = rng.uniform({size, 2}, -1, 1), y(DType::i64, {size});
  // [target]
  nn::Sequential target = nn::clone(model);  // parameters of its own, with the same values
  TrainStep step =
      train_step(model,
                 [&](const Tensor& in, const Tensor& label) {
                   return cross_entropy(model(in), label) + mse_loss(model(in), target(in));
                 },
                 optim::AdamW({}), inputs(), {.frozen = {{"target", target}}});
  step.run({x, y});
  target.copy_from(model, 0.01);  // target = 0.01 model + 0.99 target; the step reads it
  // [end]
  step.run({x, y});
}

TEST_F(Points, penalty) {
  const HostTensor x = rng.uniform({size, 2}, -1, 1), y(DType::i64, {size});
  // [gradient]
  TrainStep step = train_step(
      model,
      [&](const Tensor& in, const Tensor& label) {
        const Tensor score = model(in).select(1, 1);
        const Tensor slope = grad(score.sum(), {in})[0];  // of in's shape
        return cross_entropy(model(in), label) + 0.1 * square(slope).mean();
      },
      optim::AdamW({}), inputs());
  // [end]
  EXPECT_GT(step.run({x, y}).loss, 0);
}

TEST(HowDoI, dlpack) {
  HostTensor given(DType::f32, {2, 3});
  given.at<float>({1, 2}) = 21;
  dlpack::ManagedTensorVersioned* const theirs = to_dlpack(DeviceTensor(std::move(given)));
  // [dlpack]
  // `theirs` is a DLManagedTensorVersioned*, of the host or of the program's device.
  CompiledFunction twice =
      compile([](const Tensor& x) { return x * 2; }, {{"x", DType::f32, {2, 3}}});
  DeviceTensor x = from_dlpack(theirs);  // read where it lies; their deleter runs when x is gone
  twice.run_in_place(std::vector<InputRef>{x});
  // For somebody else, who calls its deleter: on a device it stays there.
  dlpack::ManagedTensorVersioned* ours = to_dlpack(twice.output_there(0));
  // [end]
  EXPECT_EQ(from_dlpack(ours).host().at<float>({1, 2}), 42);
}

TEST_F(Points, nonfinite) {
  const HostTensor x(DType::f32, {size, 2}), y(DType::i64, {size});
  std::string what;
  // [nonfinite]
  TrainStep step = train_step(
      model,
      [&](const Tensor& in, const Tensor& label) { return cross_entropy(model(log(in)), label); },
      optim::AdamW({}), inputs(), {.on_nonfinite = NonFinite::error});
  try {
    step.run({x, y});
  } catch (const Error& e) { what = e.what(); }  // every Variable is as it was
  // [end]
  EXPECT_NE(what.find("the first value that isn't finite is %log, -inf at [0,0]"),
            std::string::npos)
      << what;
}

TEST_F(Points, debug) {
  std::ostringstream out;
  // [debug]
  TrainStep step =
      train_step(model,
                 [&](const Tensor& x, const Tensor& y) {
                   const Tensor h = model(x).named("logits");
                   out << h << "\n";  // while it is traced: "%logits: f32[32,2], train.cpp:12"
                   return Tensors{cross_entropy(h, y), h};  // what follows the loss is an output
                 },
                 optim::AdamW({}), inputs(), {.compile = {.watch = {"logits", "grad.logits"}}});
  const HostTensor x = rng.uniform({size, 2}, -1, 1), y(DType::i64, {size});
  step.run({x, y});
  out << step.output(0).at<float>({0, 1}) << "\n";  // the values of a run
  out << step.value("grad.logits") << "\n";         // what is watched, gradients too
  out << step.graph_text();                         // forward, backward and optimizer
  for (const Warning& w : step.report().warnings) out << w.text << "\n";
  step.profile_kernels(true);
  step.run({x, y});
  for (const StepTime& t : step.step_times()) out << t.name << " " << t.ns << " ns\n";
  // [end]
  EXPECT_TRUE(out.str().starts_with("%logits: f32[32,2], ")) << out.str();
}

TEST_F(Points, observe) {
  std::ostringstream out;
  const std::vector<InputSpec> inputs_of_one = {{"x", DType::f32, {1, 2}}};
  // [observe]
  struct FinalGraph : CompileObserver {
    explicit FinalGraph(std::ostream& to) : out(to) {}
    void after(std::string_view stage, const StageText& text) override {
      if (stage == "fuse") out << text();  // made here; files() has the parts of later stages apart
    }
    std::ostream& out;
  };
  CompileOptions options{.observers = {std::make_shared<FinalGraph>(out)},
                         .log = [&](LogLevel level, const std::string& text) {
                           out << (level == LogLevel::warning ? "warning: " : "") << text << "\n";
                         }};
  // A pass from text to text: what it returns is parsed, verified, and compared in its interface.
  options.functions.push_back({.name = "relu_is_gelu",
                               .version = "1",
                               .point = RulePoint::joint,
                               .function = [](const std::string& graph) {
                                 return std::regex_replace(graph, std::regex(" relu\\("), " gelu(");
                               }});
  const CompiledFunction scores =
      compile(model, [&](const Tensor& x) { return model(x); }, inputs_of_one, options);
  for (const CompileStage& s : scores.report().stages)
    out << s.name << ": " << s.ms << " ms, " << s.edits << " edits\n";
  // [end]
  EXPECT_TRUE(out.str().starts_with("compile: begins\ngraph @")) << out.str();
  EXPECT_NE(out.str().find("compile: ready after "), std::string::npos) << out.str();
  EXPECT_NE(out.str().find("build: "), std::string::npos) << out.str();
}

TEST_F(Points, rule) {
  std::ostringstream out;
  // [rule]
  CompileOptions options;
  options.rules.push_back({.name = "narrow_softmax",
                           .text = R"(
    graph @search(%m: symint, %n: symint, %x: input f32[m,n]) {
      %y = _softmax(%x; dim=1, half_to_float=false)
      return %y
    })",
                           .version = "1",  // a cache knows no more of the functions
                           .when = [](const RuleMatch& m) { return m.size("n") <= 32; },
                           .make =
                               [](const RuleMatch& m) {
                                 const Tensor e = exp(m["x"] - amax(m["x"], 1, true));
                                 return Tensors{e / sum(e, 1, true)};
                               }});
  CompiledFunction scores =
      compile([](const Tensor& x) { return softmax(x, 1); }, {{"x", DType::f32, {4, 10}}}, options);
  for (const CompilePass& p : scores.report().passes)
    if (p.matches > 0) out << p.name << " " << p.matches << "\n";
  // [end]
  EXPECT_NE(out.str().find("narrow_softmax 1"), std::string::npos) << out.str();
  const HostTensor x = HostTensor::from<float>(std::vector<float>(40, 2.0f)).reshaped({4, 10});
  EXPECT_NEAR(scores.run({x})[0].at<float>({3, 9}), 0.1, 1e-6);
}

TEST_F(Points, timeline) {
  const std::string path = tmp("how_do_i_step.json");
  data::Batches batches(points(320), {.size = size, .seed = 7});
  // [timeline]
  Timeline timeline;
  TrainStep step = train_step(
      model, loss(), optim::AdamW({.lr = 1e-2}), inputs(),
      {.compile = {.executor = timeline.executor(), .observers = {timeline.observer()}}});
  for (int k = 0; k < 10; ++k) {
    const auto begin = Timeline::Clock::now();
    const HostTensors& b = batches.next();
    timeline.add("batch", "data", begin, Timeline::Clock::now());
    step.run({b[0], b[1]});
  }
  timeline.write(path);  // for ui.perfetto.dev
  // [end]
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  for (const char* part : {"\"lower\"", "\"run\"", "\"batch\"", "\"kernel\"", "thread 0"})
    EXPECT_NE(text.str().find(part), std::string::npos) << part;
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace cleave
