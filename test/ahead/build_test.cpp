// build(): programs of the public API as libraries, with the bits of the programs themselves.
// tests: build_library.cpp pack_program.cpp compile_units.cpp link_library.cpp weights.cpp
// tests: describe.cpp c_text.cpp
#include "cleave/build.h"

#include <cmath>
#include <thread>

#include "base/poison.h"
#include "cleave/generator.h"
#include "cleave/loss.h"
#include "cleave/nn_activation.h"
#include "cleave/optim.h"
#include "test/ahead/library.h"

namespace cleave {
namespace {

struct Mlp {
  Generator rng{7};
  nn::Sequential model{nn::Linear(3, 17, rng), nn::Tanh(), nn::Dropout(0.1),
                       nn::Linear(17, 2, rng)};
  TrainStep step =
      train_step(model, [&](const Tensor& x, const Tensor& y) { return mse_loss(model(x), y); },
                 optim::AdamW({.lr = 1e-2}), {{"x", DType::f32, {8, 3}}, {"y", DType::f32, {8, 2}}},
                 {.clip_norm = 1.0});
  HostTensors batch() { return {rng.uniform({8, 3}, -1, 1), rng.uniform({8, 2}, -1, 1)}; }
};

float loss_of(Opened& run, const HostTensors& batch) {
  HostTensors out = {HostTensor(DType::f32, {}), HostTensor(DType::f32, {})};  // and the norm
  EXPECT_EQ(run.run(batch, out), CLEAVE_DONE) << run.message();
  return *out[0].data<float>();
}

TEST(Build, a_training_step_has_the_losses_and_the_state_of_the_step) {
  Mlp mlp;
  const Folder folder;
  const BuiltLibrary built = build(mlp.step, folder / "step.so");
  Library library(built.path, "step");
  Opened run(library), other(library);
  std::vector<HostTensors> batches;
  for (int i = 0; i < 5; ++i) batches.push_back(mlp.batch());
  std::vector<float> losses;
  for (const HostTensors& b : batches) {
    losses.push_back(static_cast<float>(mlp.step.run({b[0], b[1]}).loss));
    EXPECT_EQ(loss_of(run, b), losses.back());
  }
  const Store store = mlp.step.store();
  for (const auto& [name, v] : store.entries()) {
    HostTensor got(v.dtype(), v.shape());
    ASSERT_EQ(run.get_state(name, got), CLEAVE_DONE) << run.message();
    EXPECT_TRUE(got.same_bits(v.value())) << name;
  }
  // The other instance has a state of its own, which began as the step's did.
  for (size_t i = 0; i < batches.size(); ++i) EXPECT_EQ(loss_of(other, batches[i]), losses[i]);
}

TEST(Build, weights_are_inside_or_beside_or_given) {
  Mlp mlp;
  const Folder folder;
  const HostTensors batch = mlp.batch();
  build(mlp.step, folder / "inside.so");
  const BuiltLibrary beside =
      build(mlp.step, folder / "beside.so", {.weights = WeightPlace::beside});
  const BuiltLibrary none = build(mlp.step, folder / "none.so", {.weights = WeightPlace::none});
  EXPECT_EQ(beside.weights, folder / "beside.safetensors");
  EXPECT_EQ(none.weight_bytes, 0);
  EXPECT_EQ(beside.key, none.key);
  const auto expected = static_cast<float>(mlp.step.run({batch[0], batch[1]}).loss);
  for (const char* name : {"inside", "beside"}) {
    Library library(folder / (std::string(name) + ".so"), name);
    Opened run(library);
    EXPECT_EQ(loss_of(run, batch), expected) << name;
  }
  Library library(none.path, "none");
  {
    Opened run(library);
    HostTensors out;
    EXPECT_EQ(run.run(batch, out), CLEAVE_USER_ERROR);
    EXPECT_EQ(
        run.message(),
        "none_run: `0.weight` and 14 more has no value: give `weights` to none_open(), or set "
        "each");
  }
  cleave_options options = CLEAVE_OPTIONS_INIT(0);
  options.weights = beside.weights.c_str();
  Opened run(library, &options);
  EXPECT_EQ(loss_of(run, batch), expected);
  // A file that is gone, or another one's.
  std::filesystem::remove(beside.weights);
  Library orphan(beside.path, "beside");
  EXPECT_EQ(orphan.open(), nullptr);
  EXPECT_EQ(orphan.error.message, "beside_open: " + beside.weights + ": No such file or directory");
  EXPECT_EQ(orphan.error.code, CLEAVE_USER_ERROR);
}

TEST(Build, state_is_set_and_never_reaches_the_library) {
  Mlp mlp;
  const Folder folder;
  const BuiltLibrary built = build(mlp.step, folder / "step.so");
  const std::string before = bytes_of(built.path);
  Library library(built.path, "step");
  Opened run(library);
  const HostTensors batch = mlp.batch();
  const float first = loss_of(run, batch);
  HostTensor lr = HostTensor::scalar(0, DType::f64), weight(DType::f32, {17, 3});
  ASSERT_EQ(run.set_state("optimizer.lr", lr), CLEAVE_DONE) << run.message();
  HostTensor got(DType::f32, {17, 3});
  ASSERT_EQ(run.get_state("0.weight", weight), CLEAVE_DONE);
  loss_of(run, batch);
  ASSERT_EQ(run.get_state("0.weight", got), CLEAVE_DONE);
  EXPECT_TRUE(got.same_bits(weight));  // by a rate of 0
  Opened again(library);
  EXPECT_EQ(loss_of(again, batch), first);
  EXPECT_EQ(bytes_of(built.path), before);
  HostTensor wrong(DType::f32, {3, 17});
  EXPECT_EQ(run.set_state("0.weight", wrong), CLEAVE_USER_ERROR);
  EXPECT_EQ(run.message(), "step_set_state: `0.weight`: it is f32[3,17], expected f32[17,3]");
  EXPECT_EQ(run.get_state("nothing", got), CLEAVE_USER_ERROR);
  EXPECT_EQ(run.message(),
            "step_get_state: the program has no state `nothing` (step_describe() lists what it "
            "has)");
}

TEST(Build, the_same_bytes_from_another_folder_and_under_another_name_the_same_key) {
  Mlp mlp;
  const Folder a, b;
  const BuiltLibrary one = build(mlp.step, a / "step.so"), two = build(mlp.step, b / "step.so");
  EXPECT_EQ(bytes_of(one.path), bytes_of(two.path));
  EXPECT_EQ(bytes_of(one.header), bytes_of(two.header));
  EXPECT_EQ(bytes_of(one.description), bytes_of(two.description));
  EXPECT_EQ(bytes_of(one.path).find(a / ""), std::string::npos);
  const bool names_files = watches_memory;  // sanitizers do
  EXPECT_EQ(!names_files && bytes_of(one.path).find("/tmp") != std::string::npos, false);
  const BuiltLibrary keyed = build(mlp.step, b / "", {.name = "other"});
  EXPECT_EQ(keyed.key, one.key);
  EXPECT_EQ(keyed.path, b / (one.key + ".so"));
  const int64_t most = watches_memory ? one.bytes : 3 << 20;  // sanitizers add to it
  EXPECT_LE(one.bytes - one.code_bytes - one.weight_bytes, most);
}

TEST(Build, a_step_that_is_skipped_draws_the_random_numbers_of_the_next_one) {
  Mlp mlp;
  TrainStep step = train_step(
      mlp.model, [&](const Tensor& x, const Tensor& y) { return mse_loss(mlp.model(x), y); },
      optim::AdamW({.lr = 1e-2}), {{"x", DType::f32, {8, 3}}, {"y", DType::f32, {8, 2}}},
      {.on_nonfinite = NonFinite::skip_step});
  const Folder folder;
  Library library(build(step, folder / "step.so").path, "step");
  Opened run(library);
  const HostTensors batch = mlp.batch();
  HostTensors bad = batch;
  bad[1].set_number(0, INFINITY);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(loss_of(run, batch), static_cast<float>(step.run({batch[0], batch[1]}).loss)) << i;
    EXPECT_TRUE(step.run({bad[0], bad[1]}).skipped);
    HostTensors none;
    EXPECT_EQ(run.run(bad, none), CLEAVE_USER_ERROR);
    EXPECT_TRUE(run.message().starts_with(
        "step_run: train_step: the loss or a gradient is not finite, computing %"))
        << run.message();
    EXPECT_TRUE(run.message().ends_with("; the step was skipped")) << run.message();
  }
}

TEST(Build, a_tied_weight_is_one_entry) {
  Generator rng(3);
  nn::Linear wide(4, 4, rng);
  nn::Sequential model(wide, nn::Tanh(), wide);
  CompiledFunction f =
      compile(model, [&](const Tensor& x) { return model(x); }, {{"x", DType::f32, {2, 4}}});
  const Folder folder;
  Library library(build(f, folder / "tied.so").path, "tied");
  Opened run(library);
  const HostTensor x = rng.uniform({2, 4}, -1, 1);
  HostTensors out = {HostTensor(DType::f32, {2, 4})};
  ASSERT_EQ(run.run({x}, out), CLEAVE_DONE) << run.message();
  EXPECT_TRUE(out[0].same_bits(f.run({x})[0]));
  const std::string text = library.describe();
  EXPECT_NE(text.find("\"name\":\"0.weight\""), std::string::npos);
  EXPECT_EQ(text.find("\"name\":\"2.weight\""), std::string::npos) << text;
}

TEST(Build, a_frozen_program_folds_its_constants_when_it_is_opened_and_set) {
  Generator rng(3);
  const auto weight = [&](const char* name) {
    return Variable(name, rng.uniform({16, 16}, -1, 1));
  };
  Variable first = weight("first"), second = weight("second");
  const auto f = [&](const Tensor& x) { return matmul(x, matmul(Tensor(first), Tensor(second))); };
  CompiledFunction frozen = compile(f, {{"x", DType::f32, {4, 16}}}, {.freeze = true});
  const Folder folder;
  Library library(build(frozen, folder / "frozen.so").path, "frozen");
  EXPECT_NE(library.describe().find("\"state\":[],\"constants\":[{"), std::string::npos);
  Opened run(library);
  const HostTensor x = rng.uniform({4, 16}, -1, 1);
  HostTensors out = {HostTensor(DType::f32, {4, 16})};
  ASSERT_EQ(run.run({x}, out), CLEAVE_DONE) << run.message();
  EXPECT_TRUE(out[0].same_bits(frozen.run({x})[0]));
  const HostTensor next = rng.uniform({16, 16}, -1, 1);
  first.set(next);
  frozen.refreeze();
  ASSERT_EQ(run.set_constants({{"first", next}}), CLEAVE_DONE) << run.message();
  ASSERT_EQ(run.run({x}, out), CLEAVE_DONE) << run.message();
  EXPECT_TRUE(out[0].same_bits(frozen.run({x})[0]));
  HostTensor got(DType::f32, {16, 16});
  ASSERT_EQ(run.get_state("first", got), CLEAVE_DONE) << run.message();
  EXPECT_TRUE(got.same_bits(next));
  // One that is refused, and nothing changes.
  EXPECT_EQ(run.set_constants({{"first", x}}), CLEAVE_USER_ERROR);
  EXPECT_EQ(run.message(), "frozen_set_constants: 0 `first`: it is f32[4,16], expected f32[16,16]");
  HostTensors same = {HostTensor(DType::f32, {4, 16})};
  ASSERT_EQ(run.run({x}, same), CLEAVE_DONE);
  EXPECT_TRUE(same[0].same_bits(out[0]));
  EXPECT_EQ(run.set_state("first", next), CLEAVE_USER_ERROR);
}

TEST(Build, constants_are_set_while_runs_go_on_and_no_run_sees_half_of_them) {
  Variable a("a", HostTensor(DType::f32, {64})), b("b", HostTensor(DType::f32, {64}));
  CompiledFunction frozen =
      compile([&](const Tensor& x) { return x * 2 + (Tensor(a) - Tensor(b)); },
              {{"x", DType::f32, {64}}}, {.freeze = true});
  const Folder folder;
  Library library(build(frozen, folder / "frozen.so").path, "frozen");
  Opened run(library);
  std::thread other([&] {  // equal ones: their difference stays 0
    Library same(folder / "frozen.so", "frozen");
    for (int i = 1; i < 200; ++i) {
      const HostTensor value = HostTensor::from(std::vector<float>(64, static_cast<float>(i)));
      EXPECT_EQ(Opened::set_constants(same, run.get(), {{"a", value}, {"b", value}}), CLEAVE_DONE);
    }
  });
  const HostTensor x = HostTensor::from(std::vector<float>(64, 3));
  HostTensors out = {HostTensor(DType::f32, {64})};
  for (int i = 0; i < 200; ++i) {
    ASSERT_EQ(run.run({x}, out), CLEAVE_DONE) << run.message();
    for (const float y : out[0].span<float>()) ASSERT_EQ(y, 6);
  }
  other.join();
}

TEST(Build, what_it_does_not_cover_is_refused) {
  const Folder folder;
  Mlp mlp;
  const auto refusal = [&](const auto& program, const BuildOptions& options = {},
                           const std::string& path = "x.so") {
    try {
      build(program, folder / path, options);
    } catch (const Error& e) { return std::string(e.what()); }
    return std::string("nothing");
  };
  EXPECT_EQ(refusal(mlp.step, {.name = "int"}),
            "build: the name `int`: expected an identifier of C that doesn't begin with `cleave`");
  EXPECT_NE(refusal(mlp.step, {}, "no/folder.so").find("no/folder"), std::string::npos);
}

}  // namespace
}  // namespace cleave
