// Checkpoints: a run resumes bit for bit, weights have PyTorch's names, files that don't match.
// tests: checkpoint.cpp weights.cpp match_tensors.cpp
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
                                                {"optimizer.lr", "f64[]"},
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
  load_weights(path("extra"), model, {.allow_extra = true});
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
  load_weights(path("a"), fresh.model, {.allow_extra = true});
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

// Two training steps of one program in one file, each under a name of its own.
TEST_F(Checkpoint, of_several_steps) {
  Session a, b;
  a.losses(3), b.losses(5);
  save_checkpoint(path("both"), {{"a.", a.step.store()}, {"b.", b.step.store()}});
  const std::vector<double> want_a = a.losses(2), want_b = b.losses(2);
  Session c, d;
  load_checkpoint(path("both"), {{"a.", c.step.store()}, {"b.", d.step.store()}});
  EXPECT_EQ(c.step.steps(), 3);
  EXPECT_EQ(d.step.steps(), 5);
  c.data = Generator(2), d.data = Generator(2);
  for (int i = 0; i < 3; ++i) c.data.normal({8, 4});
  for (int i = 0; i < 5; ++i) d.data.normal({8, 4});
  EXPECT_EQ(c.losses(2), want_a);
  EXPECT_EQ(d.losses(2), want_b);
  EXPECT_NE(
      message([&] { save_checkpoint(path("x"), {{"", c.step.store()}, {"", d.step.store()}}); }),
      "no error");
}

using Names = std::vector<std::string>;

TEST_F(Checkpoint, weights_under_other_names_and_of_other_dtypes) {
  Generator rng(1);
  const nn::Sequential model(nn::Linear(2, 1, rng));
  const HostTensor w = HostTensor::from<float>({1, 2}, {1, 2}), b = HostTensor::from<float>({3});
  write(path("ddp"), {{"module.0.weight", w.to(DType::bf16)}, {"module.0.bias", b}, {"epoch", b}});
  EXPECT_EQ(message([&] { load_weights(path("ddp"), model, {.prefix = "module."}); }),
            path("ddp") +
                ": tensors: the file does not fit the model: 1 unexpected: epoch; 1 of "
                "another type: 0.weight is bf16[1,2], expected f32[1,2]");
  const LoadReport r =
      load_weights(path("ddp"), model, {.allow_extra = true, .cast = true, .prefix = "module."});
  EXPECT_EQ(r.loaded, (Names{"0.weight", "0.bias"}));
  EXPECT_EQ(r.converted, (Names{"0.weight"}));
  EXPECT_EQ(r.extra, (Names{"epoch"}));
  EXPECT_EQ(model.parameter("0.weight").value().to_vector<double>(), (std::vector<double>{1, 2}));

  // The head alone, from a file that calls it otherwise; an integer is never converted.
  write(path("head"),
        {{"fc.b", HostTensor::from<float>({7})}, {"fc.w", HostTensor(DType::i64, {1, 2})}});
  const auto head = [](const std::string& name) {
    return name == "fc.b" ? "0.bias" : std::string();
  };
  EXPECT_EQ(message([&] { load_weights(path("head"), model, {.rename = head}); }),
            path("head") +
                ": tensors: the file does not fit the model: 1 missing: 0.weight; 1 "
                "unexpected: fc.w");
  const LoadReport part = load_weights(
      path("head"), model, {.allow_missing = true, .allow_extra = true, .rename = head});
  EXPECT_EQ(part.missing, (Names{"0.weight"}));
  EXPECT_EQ(model.parameter("0.bias").value().item(), 7);
  EXPECT_EQ(message([&] {
              load_weights(path("head"), model, {.cast = true, .rename = [](const std::string&) {
                                                   return std::string("0.bias");
                                                 }});
            }),
            path("head") + ": rename: fc.w and fc.b are both 0.bias");
}

TEST_F(Checkpoint, tensors_by_name) {
  const NamedTensors all = {{"x", HostTensor::from<int64_t>({1, 2, 3})},
                            {"y", HostTensor(DType::bf16, {0, 4})},
                            {"z", HostTensor::from<bool>({true, false})}};
  save_tensors(path("t"), all, {{"about", "a test"}});
  const NamedTensors read = load_tensors(path("t"));
  ASSERT_EQ(read.size(), all.size());
  for (const auto& [name, t] : all) EXPECT_TRUE(read.at(name).same_bits(t)) << name;
  EXPECT_EQ(inspect_checkpoint(path("t")).metadata.at("about"), "a test");
}

TEST_F(Checkpoint, files_that_are_no_weights) {
  Session run;
  save_checkpoint(path("whole"), run.step.store());
  EXPECT_TRUE(message([&] { load_weights(path("whole"), run.model); })
                  .ends_with("; it is a checkpoint, whose weights alone are loaded with "
                             "{.allow_extra = true}"));
  std::ofstream(path("model.pt")) << "PK\3\4 and so on, as a zip";
  EXPECT_EQ(message([&] { load_weights(path("model.pt"), run.model); }),
            path("model.pt") +
                ": format: this is a file of torch.save, which can run any code when it is read; "
                "write it again in Python: safetensors.torch.save_file(torch.load(PATH, "
                "weights_only=True), \"weights.safetensors\")");
}

}  // namespace
}  // namespace cleave
