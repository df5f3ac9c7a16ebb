// Checkpoints: a run resumes bit for bit, weights have PyTorch's names, files that don't match.
// tests: checkpoint.cpp
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "cleave/cleave.h"
#include "import/safetensors.h"
#include "test/trace/traced.h"

namespace cleave {
namespace {

using test::message;

class Checkpoint : public testing::Test {
 protected:
  Checkpoint()
      : folder_(std::filesystem::temp_directory_path() /
                fmt::format("cleave_checkpoint_{}_{}", getpid(),
                            testing::UnitTest::GetInstance()->current_test_info()->name())) {
    std::filesystem::create_directories(folder_);
  }
  ~Checkpoint() override { std::filesystem::remove_all(folder_); }
  std::string path(const std::string& name) const { return (folder_ / name).string(); }

 private:
  std::filesystem::path folder_;
};

// A run with dropout, momentum and a buffer, so that every part of the state matters.
struct Session {
  Generator rng{1};
  nn::Linear first, second;
  nn::Module model;
  Variable seen;
  TrainStep step;
  Generator data{2};

  Session() : first(4, 16, rng), second(16, 4, rng), step(make()) {}

  TrainStep make() {
    model.add_module("first", first);
    model.add_module("second", second);
    seen = model.add_buffer("seen", HostTensor(DType::f32, {}));
    return train_step(model,
                      [this](const Tensor& x) {
                        assign(seen, seen + sum(x * 0.0 + 1.0) / 32.0);  // x has 32 elements
                        return mse_loss(second(dropout(tanh(first(x)), 0.3)), x);
                      },
                      optim::AdamW({.lr = 1e-2}), {{"x", DType::f32, {8, 4}}},
                      {.clip_norm = 0.1, .seed = 5});
  }
  std::vector<double> losses(int count) {
    std::vector<double> out;
    for (int i = 0; i < count; ++i) out.push_back(step.run({data.normal({8, 4})}).loss);
    return out;
  }
};

TEST_F(Checkpoint, a_run_goes_on_bit_for_bit) {
  Session whole;
  whole.losses(7);
  save_checkpoint(path("run.safetensors"), whole.step.store(), {{"text", "kjv.txt"}});
  const std::vector<double> want = whole.losses(8);

  Session resumed;
  resumed.losses(3);  // somewhere else, to be forgotten
  EXPECT_EQ(load_checkpoint(path("run.safetensors"), resumed.step.store()),
            (Metadata{{"text", "kjv.txt"}}));
  EXPECT_EQ(resumed.step.steps(), 7);
  EXPECT_EQ(resumed.seen.value().item(), 7);
  resumed.data = Generator(2);
  for (int i = 0; i < 7; ++i) resumed.data.normal({8, 4});
  EXPECT_EQ(resumed.losses(8), want);
  const Store kept = whole.step.store();
  for (const auto& [name, v] : kept.entries())
    EXPECT_TRUE(v.value().same_bits(resumed.step.store().at(name).value())) << name;
}

TEST_F(Checkpoint, holds_everything_under_its_name) {
  Session run;
  save_checkpoint(path("a.safetensors"), run.step.store());
  const CheckpointInfo info = inspect_checkpoint(path("a.safetensors"));
  EXPECT_EQ(info.metadata, (Metadata{{"cleave_checkpoint", "1"}}));
  std::map<std::string, std::string> tensors(info.tensors.begin(), info.tensors.end());
  EXPECT_EQ(tensors,
            (std::map<std::string, std::string>{{"first.weight", "f32[16,4]"},
                                                {"first.bias", "f32[16]"},
                                                {"second.weight", "f32[4,16]"},
                                                {"second.bias", "f32[4]"},
                                                {"seen", "f32[]"},
                                                {"optimizer.step", "i64[]"},
                                                {"rng", "i64[2]"},
                                                {"optimizer.exp_avg.first.weight", "f32[16,4]"},
                                                {"optimizer.exp_avg.first.bias", "f32[16]"},
                                                {"optimizer.exp_avg.second.weight", "f32[4,16]"},
                                                {"optimizer.exp_avg.second.bias", "f32[4]"},
                                                {"optimizer.exp_avg_sq.first.weight", "f32[16,4]"},
                                                {"optimizer.exp_avg_sq.first.bias", "f32[16]"},
                                                {"optimizer.exp_avg_sq.second.weight", "f32[4,16]"},
                                                {"optimizer.exp_avg_sq.second.bias", "f32[4]"}}));
}

void write(const std::string& path, const std::vector<std::pair<std::string, HostTensor>>& tensors,
           const Metadata& metadata = {}) {
  std::vector<TensorEntry> entries;
  for (const auto& [name, t] : tensors)
    entries.push_back({name,
                       t.dtype(),
                       t.shape(),
                       {static_cast<const std::byte*>(t.data()), static_cast<size_t>(t.bytes())}});
  value_or_throw(write_safetensors(path, entries, metadata));
}

TEST_F(Checkpoint, weights_of_a_state_dict) {
  Generator rng(1);
  nn::Linear a(2, 2, rng, {.bias = false}), b(2, 2, rng, {.bias = false});
  b.share("weight", a.parameter("weight"));
  const nn::Sequential model(a, nn::ReLU(), b);
  const HostTensor w = HostTensor::from<float>({1, 2, 3, 4}, {2, 2});
  const HostTensor other = HostTensor::from<float>({1, 2, 3, 5}, {2, 2});
  const auto weight = [&] { return a.parameter("weight").value().to_vector<double>(); };

  write(path("both"), {{"0.weight", w}, {"2.weight", w}});
  load_weights(path("both"), model);
  EXPECT_EQ(weight(), (std::vector<double>{1, 2, 3, 4}));
  write(path("second"), {{"2.weight", other}});
  load_weights(path("second"), model);
  EXPECT_EQ(weight(), (std::vector<double>{1, 2, 3, 5}));
  write(path("unequal"), {{"0.weight", w}, {"2.weight", other}});
  EXPECT_EQ(message([&] { load_weights(path("unequal"), model); }),
            path("unequal") +
                ": tensors: the file does not fit the model: 1 pairs of names of one "
                "tied weight with different contents: 0.weight and 2.weight");
  write(path("extra"), {{"0.weight", w}, {"3.weight", w}});
  EXPECT_EQ(message([&] { load_weights(path("extra"), model); }),
            path("extra") + ": tensors: the file does not fit the model: 1 unexpected: 3.weight");
  EXPECT_EQ(weight(), (std::vector<double>{1, 2, 3, 5}));
  load_weights(path("extra"), model, Strictness::ignore_extra);
  EXPECT_EQ(weight(), (std::vector<double>{1, 2, 3, 4}));

  save_weights(path("out"), model);
  const CheckpointInfo info = inspect_checkpoint(path("out"));
  ASSERT_EQ(info.tensors.size(), 2u);  // what load_state_dict asks for
  EXPECT_EQ(info.tensors[0].first, "0.weight");
  EXPECT_EQ(info.tensors[1].first, "2.weight");
  load_weights(path("out"), model);
}

TEST_F(Checkpoint, weights_of_a_checkpoint) {
  Session run, fresh;
  run.losses(3);
  save_checkpoint(path("a"), run.step.store());
  load_weights(path("a"), fresh.model, Strictness::ignore_extra);
  EXPECT_TRUE(
      fresh.first.parameter("weight").value().same_bits(run.first.parameter("weight").value()));
  EXPECT_EQ(fresh.step.steps(), 0);
}

TEST_F(Checkpoint, errors_leave_the_store_as_it_was) {
  Session run;
  const HostTensor before = run.first.parameter("weight").value();
  const auto load = [&](const std::string& name) {
    return message([&] { load_checkpoint(path(name), run.step.store()); });
  };
  EXPECT_NE(load("absent").find(path("absent")), std::string::npos);
  write(path("weights"), {{"first.weight", HostTensor(DType::f32, {16, 4})}});
  EXPECT_EQ(load("weights"), path("weights") +
                                 ": version: this is no checkpoint of cleave; "
                                 "load_weights takes weights alone");
  write(path("future"), {{"first.weight", HostTensor(DType::f32, {16, 4})}},
        {{"cleave_checkpoint", "2"}});
  EXPECT_EQ(load("future"), path("future") + ": version: the checkpoint has version 2, expected 1");
  write(path("short"),
        {{"first.weight", HostTensor(DType::f32, {16, 4})},
         {"first.bias", HostTensor(DType::f32, {17})},
         {"second.bias", HostTensor(DType::f64, {4})},
         {"third.bias", HostTensor(DType::f64, {4})}},
        {{"cleave_checkpoint", "1"}});
  EXPECT_EQ(load("short"),
            path("short") +
                ": tensors: the file does not fit the model: 12 missing: seen, second.weight, "
                "optimizer.step, rng, optimizer.exp_avg.first.weight, "
                "optimizer.exp_avg_sq.first.weight and 6 more; 1 unexpected: third.bias; 2 of "
                "another type: first.bias is f32[17], expected f32[16], second.bias is f64[4], "
                "expected f32[4]");
  std::ofstream(path("garbage")) << "not a safetensors file";
  EXPECT_NE(load("garbage").find(path("garbage")), std::string::npos);
  EXPECT_TRUE(run.first.parameter("weight").value().same_bits(before));
  EXPECT_EQ(
      message([&] { save_checkpoint(path("a"), run.step.store(), {{"cleave_checkpoint", "9"}}); }),
      path("a") + ": metadata: cleave_checkpoint is cleave's own");
  EXPECT_NE(message([&] { save_checkpoint(path("no/such/a"), run.step.store()); }).find("no/such"),
            std::string::npos);
}

}  // namespace
}  // namespace cleave
