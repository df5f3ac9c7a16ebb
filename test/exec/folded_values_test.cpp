// Frozen programs: what is computed once, when it is computed again, what it costs in memory.
#include "exec/folded_values.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <thread>

#include "cleave/cleave.h"
#include "test/trace/traced.h"

namespace cleave {
namespace {

using test::message;

const std::vector<std::string> frozen_passes = {"fuse_conv_bn", "fold_binary", "batch_linear_lhs"};

// y = x (w v): what is computed once is one product.
struct TwoWeights : nn::Module {
  explicit TwoWeights(Generator& rng)
      : w(add_parameter("w", rng.normal({8, 32}))), v(add_parameter("v", rng.normal({32, 32}))) {}
  Tensor operator()(const Tensor& x) const { return matmul(x, matmul(Tensor(w), Tensor(v))); }
  Variable w, v;
};

struct Served {
  Generator rng{5};
  TwoWeights model{rng};
  HostTensor x = rng.normal({4, 8});
  CompiledFunction compiled(const CompileOptions& options = {.freeze = true}) const {
    return compile(
        model, [m = model](const Tensor& t) { return m(t); }, {{"x", DType::f32, {4, 8}}}, options);
  }
};

// Convolutions with batch norms whose statistics aren't 0 and 1, and a position table.
nn::Sequential pictures(Generator& rng) {
  nn::Sequential model(nn::Conv2d(3, 8, 3, rng, {.padding = 1, .bias = false}), nn::BatchNorm2d(8),
                       nn::ReLU(), nn::Conv2d(8, 16, 3, rng, {.stride = 2}), nn::BatchNorm2d(16),
                       nn::ReLU(), nn::Flatten(), nn::Linear(16 * 3 * 3, 5, rng));
  for (auto [name, b] : model.named_buffers()) {
    if (name.ends_with("running_mean")) b.set(rng.uniform(b.shape(), -0.2, 0.2));
    if (name.ends_with("running_var")) b.set(rng.uniform(b.shape(), 0.5, 2));
  }
  return model;
}

TEST(Frozen, bits_are_those_of_the_same_passes_without_freezing) {
  Generator rng(3);
  nn::Sequential model = pictures(rng);
  model.eval();
  const HostTensor x = rng.normal({2, 3, 8, 8});
  const auto result = [&](const CompileOptions& options) {
    return compile(
               model, [&](const Tensor& t) { return model(t); }, {{"x", DType::f32, {2, 3, 8, 8}}},
               options)
        .run({x})[0];
  };
  EXPECT_TRUE(result({.freeze = true}).same_bits(result({.passes_on = frozen_passes})));
  EXPECT_FALSE(result({.freeze = true}).same_bits(result({})));  // batch norms went into weights
  EXPECT_TRUE(result({.strict = true, .freeze = true}).same_bits(result({.strict = true})));
  EXPECT_TRUE(result({.autocast = DType::bf16, .strict = true, .freeze = true})
                  .same_bits(result({.autocast = DType::bf16, .strict = true})));
  EXPECT_TRUE(
      result({.passes_off = {"all"}, .freeze = true}).same_bits(result({.passes_off = {"all"}})));
}

TEST(Frozen, the_report_counts_values_and_bytes) {
  const Served net;
  const CompiledFunction f = net.compiled();
  const FrozenReport& frozen = f.report().frozen;
  EXPECT_EQ(frozen.folded.count, 1);
  EXPECT_EQ(frozen.folded.bytes, 8 * 32 * 4);
  EXPECT_EQ(frozen.packed.count, 1);  // the product that x is multiplied with
  EXPECT_EQ(frozen.packed.bytes, 8 * 32 * 4);
  EXPECT_EQ(frozen.dropped.count, 2);
  EXPECT_EQ(frozen.dropped.bytes, (8 + 32) * 32 * 4);
  EXPECT_EQ(frozen.kept.count, 0);
  // x and the product; nothing but the result is in the arena.
  EXPECT_EQ(f.report().placeholder_bytes, 4 * 8 * 4 + 8 * 32 * 4);
  EXPECT_EQ(f.report().kernels, 1);
  const CompiledFunction plain = net.compiled({});
  EXPECT_EQ(plain.report().kernels, 2);
  EXPECT_EQ(plain.report().frozen.dropped.count, 0);
}

TEST(Frozen, without_its_pass_every_weight_is_kept) {
  Served net;
  const CompiledFunction f = net.compiled({.passes_off = {"fold_frozen"}, .freeze = true});
  EXPECT_EQ(f.report().frozen.folded.count, 0);
  EXPECT_EQ(f.report().frozen.kept.count, 2);
  CompiledFunction g = f;
  net.model.w.set(net.model.w.value());
  EXPECT_NE(message([&] { g.run({net.x}); }), "");  // and frozen all the same
}

TEST(Frozen, a_variable_that_is_written_is_an_error_until_it_is_frozen_again) {
  Served net;
  CompiledFunction f = net.compiled();
  CompiledFunction g = f.instance();
  const HostTensor before = f.run({net.x})[0];
  EXPECT_TRUE(g.run({net.x})[0].same_bits(before));
  net.model.v.set(net.rng.normal({32, 32}));
  for (CompiledFunction* one : {&f, &g})
    EXPECT_EQ(message([&] { one->run({net.x}); }),
              "compile: `v` was written after it was frozen; refreeze() takes its values");
  g.refreeze();
  const HostTensor after = net.compiled().run({net.x})[0];
  EXPECT_FALSE(after.same_bits(before));
  EXPECT_TRUE(f.run({net.x})[0].same_bits(after));
  EXPECT_TRUE(g.run({net.x})[0].same_bits(after));
}

TEST(Frozen, every_way_to_write_a_variable_is_noticed) {
  const std::string file = (std::filesystem::path(testing::TempDir()) / "frozen.safetensors");
  const std::pair<const char*, void (*)(Served&, const std::string&)> ways[] = {
      {"set", [](Served& n, const std::string&) { n.model.w.set(n.rng.normal({8, 32})); }},
      {"data", [](Served& n, const std::string&) { n.model.w.data<float>()[0] = 3; }},
      {"bind",
       [](Served& n, const std::string&) {
         n.model.w.bind(n.rng.normal({8, 32}), Contents::of_memory);
       }},
      {"load_weights",
       [](Served& n, const std::string& path) {
         save_weights(path, n.model);
         load_weights(path, n.model);
       }},
      {"copy_from",
       [](Served& n, const std::string&) {
         TwoWeights other(n.rng);
         n.model.copy_from(other, 0.5);
       }},
      {"train_step",
       [](Served& n, const std::string&) {
         TrainStep step = train_step(n.model, [m = n.model](const Tensor& t) { return mean(m(t)); },
                                     optim::SGD({.lr = 0.1}), {{"x", DType::f32, {4, 8}}});
         step.run({n.x});
       }},
  };
  for (const auto& [name, write] : ways) {
    SCOPED_TRACE(name);
    Served net;
    CompiledFunction f = net.compiled();
    f.run({net.x});
    write(net, file);
    EXPECT_NE(message([&] { f.run({net.x}); }), "");
    f.refreeze();
    EXPECT_TRUE(f.run({net.x})[0].same_bits(net.compiled().run({net.x})[0]));
  }
  Served net;
  CompiledFunction f = net.compiled();
  const HostTensor before = f.run({net.x})[0];
  net.model.w.bind(HostTensor(DType::f32, {8, 32}), Contents::of_variable);  // the same values
  EXPECT_TRUE(f.run({net.x})[0].same_bits(before));
}

TEST(Frozen, what_no_run_reads_goes_with_its_model) {
  std::weak_ptr<int> memory;
  CompiledFunction f;
  HostTensor x, before;
  {
    Served net;
    const auto keep = std::make_shared<int>();
    memory = keep;
    static float elements[8 * 32];
    net.model.w.bind(HostTensor::borrow(DType::f32, {8, 32}, elements, keep),
                     Contents::of_variable);
    f = net.compiled();
    x = net.x;
    before = f.run({x})[0];
  }
  EXPECT_TRUE(memory.expired());
  EXPECT_TRUE(f.run({x})[0].same_bits(before));
  EXPECT_EQ(message([&] { f.refreeze(); }),
            "refreeze: `w` is gone with its model, which this program dropped");
  EXPECT_TRUE(f.instance().run({x})[0].same_bits(before));
}

TEST(Frozen, a_buffer_that_the_function_assigns_is_not) {
  Generator rng(1);
  Variable w("w", rng.normal({4}), VariableKind::buffer);
  Variable count("count", HostTensor(DType::f32, {4}), VariableKind::buffer);
  CompiledFunction f = compile(
      [&](const Tensor& x) {
        const Tensor next = Tensor(count) + exp(Tensor(w));
        assign(count, next);
        return next * x;
      },
      {{"x", DType::f32, {4}}}, {.freeze = true});
  EXPECT_EQ(f.report().frozen.folded.count, 1);
  EXPECT_EQ(f.report().frozen.kept.count, 0);
  const HostTensor one = HostTensor::from<float>({1, 1, 1, 1});
  const HostTensor first = f.run({one})[0], second = f.run({one})[0];
  for (int64_t k = 0; k < 4; ++k) EXPECT_NEAR(second.number(k), 2 * first.number(k), 1e-5);
  count.set(HostTensor(DType::f32, {4}));
  EXPECT_TRUE(f.run({one})[0].same_bits(first));
}

TEST(Frozen, programs_for_other_sizes_share_what_is_computed_once) {
  Served net;
  CompiledFunction f =
      compile(net.model, [m = net.model](const Tensor& t) { return m(t); },
              {{"x", DType::f32, {dyn("n", 1, 16), 8}}}, {.kept_sizes = 2, .freeze = true});
  CompiledFunction plain = compile(net.model, [m = net.model](const Tensor& t) { return m(t); },
                                   {{"x", DType::f32, {dyn("n", 1, 16), 8}}});
  for (int round = 0; round < 2; ++round) {
    for (const int64_t n : {1, 3, 5, 7, 16}) {
      const HostTensor x = net.rng.normal({n, 8});
      EXPECT_TRUE(f.run({x})[0].same_bits(plain.run({x})[0])) << n;
    }
    net.model.w.set(net.rng.normal({8, 32}));
    f.refreeze();
  }
}

TEST(Frozen, instances_run_while_it_is_frozen_again) {
  Served net;
  CompiledFunction f = net.compiled();
  const HostTensor want = f.run({net.x})[0];
  std::atomic<int> wrong = 0;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i)
      threads.emplace_back([&] {
        CompiledFunction mine = f.instance();
        for (int k = 0; k < 200; ++k) wrong += !mine.run({net.x})[0].same_bits(want);
      });
    for (int k = 0; k < 50; ++k) f.refreeze();
  }
  EXPECT_EQ(wrong, 0);
}

// The product of the weights is computed once, and packed for the product with x.
TEST(Frozen, what_branches_and_loops_compute_of_weights_is_computed_once) {
  const Served net;
  const auto f = [m = net.model](const Tensor& t) {
    const Tensor y = cond(
        sum(t) > 0.0, [&] { return m(t) + exp(Tensor(m.w))[0]; }, [&] { return neg(m(t)); })[0];
    return while_loop([](const Tensor& n, const Tensor&) { return n < 3.0; },
                      [&](const Tensor& n, const Tensor& z) {
                        return Tensors{n + 1.0, matmul(z, matmul(Tensor(m.v), Tensor(m.v)))};
                      },
                      {zeros({}, DType::f32), y})[1];
  };
  const auto compiled = [&](const CompileOptions& options) {
    return compile(net.model, f, {{"x", DType::f32, {4, 8}}}, options);
  };
  CompiledFunction frozen = compiled({.freeze = true}), plain = compiled({});
  for (const double low : {-2.0, 1.0}) {
    const HostTensor x = Generator(7).uniform({4, 8}, low, low + 1);
    EXPECT_TRUE(frozen.run({x})[0].same_bits(plain.run({x})[0])) << low;
  }
  const FrozenReport& report = frozen.report().frozen;
  EXPECT_EQ(report.kept.count, 0);
  EXPECT_EQ(report.dropped.count, 2);
  EXPECT_EQ(report.packed.count, 3);  // of each branch and of the loop
  EXPECT_EQ(report.folded.count, 4);
}

// x + w v is one call by the time it is frozen, and so is b + w v. k is one part of a sum, several,
// and more than a span of parts, which are added up in f64.
TEST(Frozen, products_of_weights_are_computed_once_whatever_was_fused_into_them) {
  for (const int64_t k : {8, 700, 40000}) {
    Generator rng(k);
    const Variable w("w", rng.normal({5, k})), v("v", rng.normal({k, 33})),
        b("b", rng.normal({33}));
    const auto compiled = [&](const CompileOptions& options) {
      return compile(
          [&](const Tensor& x) {
            return Tensors{x + matmul(Tensor(w), Tensor(v)),
                           addmm(x, Tensor(w), Tensor(v), 0.3, 0.7),
                           matmul(x, t(addmm(Tensor(b), Tensor(w), Tensor(v))))};
          },
          {{"x", DType::f32, {5, 33}}}, options);
    };
    const HostTensor x = rng.normal({5, 33});
    CompiledFunction frozen = compiled({.freeze = true}), plain = compiled({});
    const std::vector<HostTensor> got = frozen.run({x}), want = plain.run({x});
    for (size_t i = 0; i < want.size(); ++i)
      EXPECT_TRUE(got[i].same_bits(want[i])) << k << " " << i;
    EXPECT_EQ(frozen.report().frozen.kept.count, 0);
  }
}

TEST(Frozen, what_is_watched_is_still_there) {
  Served net;
  CompiledFunction f = compile(
      net.model,
      [m = net.model](const Tensor& t) { return matmul(t, matmul(Tensor(m.w), Tensor(m.v))); },
      {{"x", DType::f32, {4, 8}}}, {.watch = {"mm"}, .freeze = true});
  f.run({net.x});
  EXPECT_EQ(f.value("mm").shape(), (std::vector<int64_t>{8, 32}));
}

TEST(Frozen, misuse) {
  Served net;
  EXPECT_EQ(message([&] { net.compiled({}).refreeze(); }),
            "compile: refreeze: the program isn't frozen (CompileOptions::freeze)");
  EXPECT_EQ(message([] { CompiledFunction().refreeze(); }),
            "CompiledFunction: it is empty; compile() makes one");
  EXPECT_TRUE(message([&] {
                train_step(net.model, [m = net.model](const Tensor& t) { return mean(m(t)); },
                           optim::SGD({.lr = 0.1}), {{"x", DType::f32, {4, 8}}},
                           {.compile = {.freeze = true}});
              })
                  .ends_with("train_step: freeze is for inference, by compile(): a step trains the "
                             "model"));
  EXPECT_TRUE(message([&] {
                compile(net.model,
                        [m = net.model](const Tensor& t) {
                          assign(m.w, Tensor(m.w) * 0.5);
                          return m(t);
                        },
                        {{"x", DType::f32, {4, 8}}}, {.freeze = true});
              }).ends_with("compile: freeze: the function assigns parameter `w`"));
}

// In a program that isn't frozen the first run fails.
TEST(Frozen, an_index_that_is_out_of_range_is_an_error_of_compile) {
  Generator rng(1);
  const Variable table("table", rng.normal({4, 8}), VariableKind::buffer);
  const Variable rows("rows", HostTensor::from<int64_t>({1, 9}), VariableKind::buffer);
  const auto error = message([&] {
    compile([&](const Tensor& x) { return x + embedding(Tensor(rows), Tensor(table)); },
            {{"x", DType::f32, {2, 8}}}, {.freeze = true});
  });
  EXPECT_NE(error.find("9"), error.npos) << error;
}

}  // namespace
}  // namespace cleave
