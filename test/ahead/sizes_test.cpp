// Libraries of programs of several sizes, which the shapes of inputs choose.
// tests: trace_source.cpp held_sizes.cpp add_programs.cpp entries.cpp source.cpp
// tests: standalone/size_choice.cpp standalone/instance_state.cpp standalone/instance_run.cpp
#include <fmt/format.h>

#include <thread>

#include "base/poison.h"
#include "cleave/op.h"
#include "runtime/alloc_watch.h"
#include "test/ahead/varying_step.h"

namespace cleave {
namespace {

std::string refusal(const auto& program, const BuildOptions& options = {}) {
  const Folder folder;
  try {
    build(program, folder / "x.so", options);
  } catch (const Error& e) { return std::string(e.what()); }
  return "nothing";
}

TEST(Sizes, a_step_has_the_losses_and_the_state_of_the_step_at_each_size) {
  VaryingStep mlp;
  TrainStep step = mlp.make({.clip_norm = 1.0});
  const Folder folder;
  const BuiltLibrary built = build(step, folder / "step.so");  // all sizes from 1 to 8
  const int64_t most = watches_memory ? built.bytes : 3 << 20;
  EXPECT_LE(built.bytes - built.code_bytes - built.weight_bytes, most);
  Library library(built.path, "step");
  Opened run(library);
  for (const int64_t rows : {8, 1, 5, 2, 8, 3, 7, 4, 6, 1}) {
    const HostTensors batch = mlp.batch(rows);
    const StepResult expected = step.run({batch[0], batch[1]});
    HostTensors out = scalars(2);
    ASSERT_EQ(run.run(batch, out), CLEAVE_DONE) << run.message();
    EXPECT_EQ(out[0].number(0), expected.loss) << rows;
    EXPECT_EQ(out[1].number(0), expected.grad_norm) << rows;
  }
  expect_state(run, step);
}

// y = x * w, and a row of it.
CompiledFunction rows_of(int64_t least, int64_t most, const Variable& w) {
  return compile([w](const Tensor& x, const Tensor& z) { return matmul(x, Tensor(w)) + z; },
                 {{"x", DType::f32, {dyn("B", least, most), 4}},
                  {"z", DType::f32, {dyn("B", least, most), 4}}});
}

TEST(Sizes, what_is_not_held_is_one_clear_error_and_the_next_run_is_right) {
  Generator rng(3);
  const CompiledFunction f = rows_of(1, 64, Variable("w", rng.uniform({4, 4}, -1, 1)));
  const Folder folder;
  Library library(build(f, folder / "f.so", {.sizes = {{"B", {1, 8, 64}}}}).path, "f");
  Opened run(library);
  const auto told = [&](const Sizes& x, const Sizes& z) {
    HostTensors out;
    EXPECT_EQ(run.run({HostTensor(DType::f32, x), HostTensor(DType::f32, z)}, out),
              CLEAVE_USER_ERROR);
    return run.message();
  };
  EXPECT_EQ(told({7, 4}, {7, 4}),
            "f_run: the library has no program for B=7; it holds B=1, B=8, "
            "B=64");
  EXPECT_EQ(told({65, 4}, {65, 4}),
            "f_run: input 0 `x` (dim 0): B is 65, expected 1 to 64: got f32[65,4]");
  EXPECT_EQ(told({8, 4}, {65, 4}),
            "f_run: input 1 `z` (dim 0): B is 65, expected 1 to 64: got f32[65,4]");
  EXPECT_EQ(told({8, 4}, {1, 4}),
            "f_run: B is 8 in input 0 `x` (dim 0) and 1 in input 1 `z` (dim 0)");
  EXPECT_EQ(told({8, 4}, {7, 4}),
            "f_run: B is 8 in input 0 `x` (dim 0) and 7 in input 1 `z` (dim 0)");
  EXPECT_EQ(told({8, 3}, {8, 4}), "f_run: input 0 `x`: it is f32[8,3], expected f32[B,4]");
  EXPECT_EQ(told({8, 4}, {8}), "f_run: input 1 `z`: it is f32[8], expected f32[B,4]");
  HostTensors wrong = {HostTensor(DType::f32, {7, 4})}, out = {HostTensor(DType::f32, {8, 4})};
  const HostTensors in = {rng.uniform({8, 4}, -1, 1), rng.uniform({8, 4}, -1, 1)};
  EXPECT_EQ(run.run(in, wrong), CLEAVE_USER_ERROR);
  EXPECT_EQ(run.message(), "f_run: output 0 `out.0`: it is f32[7,4], expected f32[8,4]");
  ASSERT_EQ(run.run(in, out), CLEAVE_DONE) << run.message();
  CompiledFunction g = f;
  EXPECT_TRUE(out[0].same_bits(g.run({in[0], in[1]})[0]));
}

TEST(Sizes, types_are_told_with_what_varies_and_after_a_run_with_its_sizes) {
  Generator rng(3);
  const CompiledFunction f = rows_of(2, 3, Variable("w", rng.uniform({4, 4}, -1, 1)));
  const Folder folder;
  const BuiltLibrary built = build(f, folder / "f.so");
  Library library(built.path, "f");
  Opened run(library);
  const auto shape = [&](const char* function) {
    cleave_tensor type{};
    EXPECT_EQ(library.get<int(cleave_instance*, size_t, cleave_tensor*, cleave_error*)>(function)(
                  run.get(), 0, &type, &library.error),
              CLEAVE_DONE);
    return std::vector<int64_t>(type.shape, type.shape + type.rank);
  };
  EXPECT_EQ(shape("input"), (std::vector<int64_t>{-1, 4}));
  EXPECT_EQ(shape("output"), (std::vector<int64_t>{-1, 4}));
  for (const int64_t rows : {2, 3}) {
    HostTensors none;
    ASSERT_EQ(run.run({HostTensor(DType::f32, {rows, 4}), HostTensor(DType::f32, {rows, 4})}, none),
              CLEAVE_DONE);
    EXPECT_EQ(shape("output"), (std::vector<int64_t>{rows, 4}));
    EXPECT_EQ(shape("result"), (std::vector<int64_t>{rows, 4}));
    EXPECT_EQ(shape("input"), (std::vector<int64_t>{-1, 4}));
  }
  const std::string text = library.describe();
  EXPECT_NE(text.find(R"("sizes":[{"name":"B","least":2,"most":3}],"held":[{"sizes":{"B":2},)"
                      R"("outputs":[[2,4]]},{"sizes":{"B":3},"outputs":[[3,4]]}])"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find(R"("shape":[-1,4],"strides":[4,1],"dims":["B",4])"), std::string::npos);
  // Strides that vary are none, as row-major ones may be.
  const CompiledFunction wide =
      compile([](const Tensor& x) { return x + x; }, {{"x", DType::f32, {4, dyn("B", 2, 3)}}});
  Library other(build(wide, folder / "wide.so").path, "wide");
  EXPECT_NE(other.describe().find(R"("shape":[4,-1],"strides":null,"dims":[4,"B"])"),
            std::string::npos)
      << other.describe();
  Opened opened(other);
  cleave_tensor type{};
  ASSERT_EQ(other.get<int(cleave_instance*, size_t, cleave_tensor*, cleave_error*)>("input")(
                opened.get(), 0, &type, &other.error),
            CLEAVE_DONE);
  EXPECT_EQ(type.strides, nullptr);
  // The sizes are of the key.
  EXPECT_NE(build(f, folder / "g.so", {.sizes = {{"B", {2}}}}).key, built.key);
  EXPECT_EQ(build(f, folder / "h.so", {.sizes = {{"B", {3, 2, 2}}}}).key, built.key);
}

TEST(Sizes, inputs_that_are_bound_choose_the_program_and_runs_allocate_nothing) {
  Generator rng(3);
  CompiledFunction f = rows_of(1, 8, Variable("w", rng.uniform({4, 4}, -1, 1)));
  const Folder folder;
  Library library(build(f, folder / "f.so").path, "f");
  Opened run(library);
  auto* const bind =
      library.get<int(cleave_instance*, const char*, const cleave_tensor*, cleave_error*)>("bind");
  auto* const run_bound = library.get<int(cleave_instance*, const cleave_tensor*, size_t,
                                          const cleave_tensor*, size_t, cleave_error*)>("run");
  EXPECT_EQ(run_bound(run.get(), nullptr, 0, nullptr, 0, &library.error), CLEAVE_USER_ERROR);
  EXPECT_EQ(run.message(), "f_run: input 0 `x` is bound to nothing");
  HostTensors batches;
  std::vector<std::vector<int64_t>> strides(16);
  std::vector<cleave_tensor> in;
  for (int64_t rows = 1; rows <= 8; ++rows) batches.push_back(rng.uniform({rows, 4}, -1, 1));
  for (size_t k = 0; k < 8; ++k) in.push_back(as_c(batches[k], strides[k]));
  EXPECT_EQ(bind(run.get(), "x", &in[2], &library.error), CLEAVE_DONE);
  EXPECT_EQ(bind(run.get(), "z", &in[4], &library.error), CLEAVE_DONE);
  EXPECT_EQ(run_bound(run.get(), nullptr, 0, nullptr, 0, &library.error), CLEAVE_USER_ERROR);
  EXPECT_EQ(run.message(), "f_run: B is 3 in input 0 `x` (dim 0) and 5 in input 1 `z` (dim 0)");
  const HostTensor wide(DType::f32, {9, 4});
  const cleave_tensor nine = as_c(wide, strides[8]);
  EXPECT_EQ(bind(run.get(), "x", &nine, &library.error), CLEAVE_USER_ERROR);
  EXPECT_EQ(run.message(), "f_bind: input 0 `x` (dim 0): B is 9, expected 1 to 8: got f32[9,4]");
  EXPECT_EQ(bind(run.get(), "z", &in[2], &library.error), CLEAVE_DONE);
  HostTensors out = {HostTensor(DType::f32, {3, 4})};
  const cleave_tensor to = as_c(out[0], strides[9]);
  ASSERT_EQ(run_bound(run.get(), nullptr, 0, &to, 1, &library.error), CLEAVE_DONE) << run.message();
  EXPECT_TRUE(out[0].same_bits(f.run({batches[2], batches[2]})[0]));
  if (!runtime::AllocWatch::available()) return;
  std::vector<int> codes(16);
  runtime::AllocWatch watch;
  watch.start();
  for (size_t k = 0; k < 16; ++k) {
    const cleave_tensor both[] = {in[k % 8], in[k % 8]};
    codes[k] = run_bound(run.get(), both, 2, nullptr, 0, &library.error);
  }
  const runtime::AllocCounts seen = watch.stop();
  EXPECT_EQ(seen.allocations, 0);
  EXPECT_EQ(codes, std::vector<int>(16, CLEAVE_DONE));
}

TEST(Sizes, two_instances_at_once_at_other_sizes) {
  Generator rng(3);
  CompiledFunction f = rows_of(1, 8, Variable("w", rng.uniform({4, 4}, -1, 1)));
  const Folder folder;
  Library library(build(f, folder / "f.so").path, "f");
  HostTensors batches, expected;
  for (int64_t rows = 1; rows <= 8; ++rows) {
    batches.push_back(rng.uniform({rows, 4}, -1, 1));
    expected.push_back(f.run({batches.back(), batches.back()})[0]);
  }
  const auto work = [&](size_t first) {
    Library own(folder / "f.so", "f");
    Opened run(own);
    for (size_t i = 0; i < 200; ++i) {
      const size_t k = (first + i) % 8;
      HostTensors out = {HostTensor(DType::f32, batches[k].shape())};
      if (run.run({batches[k], batches[k]}, out) != CLEAVE_DONE || !out[0].same_bits(expected[k]))
        ADD_FAILURE() << run.message();
    }
  };
  std::thread other([&] { work(3); });
  work(0);
  other.join();
}

TEST(Sizes, a_frozen_program_folds_once_for_all_sizes) {
  Generator rng(3);
  Variable first("first", rng.uniform({16, 16}, -1, 1)),
      second("second", rng.uniform({16, 16}, -1, 1));
  const auto f = [&](const Tensor& x) { return matmul(x, matmul(Tensor(first), Tensor(second))); };
  CompiledFunction frozen = compile(f, {{"x", DType::f32, {dyn("B", 1, 4), 16}}}, {.freeze = true});
  const Folder folder;
  Library library(build(frozen, folder / "frozen.so").path, "frozen");
  Opened run(library);
  const auto expect_right = [&] {
    for (const int64_t rows : {1, 2, 3, 4}) {
      const HostTensor x = rng.uniform({rows, 16}, -1, 1);
      HostTensors out = {HostTensor(DType::f32, {rows, 16})};
      ASSERT_EQ(run.run({x}, out), CLEAVE_DONE) << run.message();
      EXPECT_TRUE(out[0].same_bits(frozen.run({x})[0])) << rows;
    }
  };
  expect_right();
  const HostTensor next = rng.uniform({16, 16}, -1, 1);
  first.set(next);
  frozen.refreeze();
  ASSERT_EQ(run.set_constants({{"first", next}}), CLEAVE_DONE) << run.message();
  expect_right();
  EXPECT_EQ(run.set_constants(
                {{"first", rng.uniform({16, 16}, -1, 1)}, {"second", HostTensor(DType::f32, {2})}}),
            CLEAVE_USER_ERROR);
  EXPECT_EQ(run.message(), "frozen_set_constants: 1 `second`: it is f32[2], expected f32[16,16]");
  expect_right();  // neither was set
}

TEST(Sizes, what_is_folded_is_another_value_at_each_size) {
  Generator rng(3);
  Variable w("w", rng.uniform({8}, -1, 1));
  CompiledFunction frozen =
      compile([&](const Tensor& x) { return x * tanh(Tensor(w).slice(0, 0, x.size(0))); },
              {{"x", DType::f32, {dyn("B", 2, 8)}}}, {.freeze = true});
  const Folder folder;
  Library library(build(frozen, folder / "frozen.so", {.sizes = {{"B", {3, 8}}}}).path, "frozen");
  Opened run(library);
  for (int i = 0; i < 2; ++i) {
    for (const int64_t size : {8, 3}) {
      const HostTensor x = rng.uniform({size}, -1, 1);
      HostTensors out = {HostTensor(DType::f32, {size})};
      ASSERT_EQ(run.run({x}, out), CLEAVE_DONE) << run.message();
      EXPECT_TRUE(out[0].same_bits(frozen.run({x})[0])) << size;
    }
    w.set(rng.uniform({8}, -1, 1));
    frozen.refreeze();
    ASSERT_EQ(run.set_constants({{"w", w.value()}}), CLEAVE_DONE) << run.message();
  }
}

TEST(Sizes, constants_that_the_function_makes_for_a_size_are_entries_of_their_own) {
  CompiledFunction f = compile(
      [](const Tensor& x) {
        const int64_t rows = x.size(0);
        HostTensor ramp(DType::f32, {rows, 1});
        for (int64_t i = 0; i < rows; ++i) ramp.set_number(i, static_cast<double>(i + rows));
        const Variable same("same", HostTensor::from<float>({1, 2, 3}), VariableKind::constant);
        return x * Tensor(Variable("ramp", ramp, VariableKind::constant)) + Tensor(same);
      },
      {{"x", DType::f32, {dyn("B", 2, 3), 3}}});
  const Folder folder;
  Library library(build(f, folder / "f.so").path, "f");
  Opened run(library);
  for (const int64_t rows : {2, 3}) {
    const HostTensor x = Generator(1).uniform({rows, 3}, -1, 1);
    HostTensors out = {HostTensor(DType::f32, {rows, 3})};
    ASSERT_EQ(run.run({x}, out), CLEAVE_DONE) << run.message();
    EXPECT_TRUE(out[0].same_bits(f.run({x})[0]));
  }
  HostTensor got(DType::f32, {3, 1});
  EXPECT_EQ(run.get_state("ramp@B=3", got), CLEAVE_DONE) << run.message();
  EXPECT_EQ(got.number(0), 3);
  EXPECT_EQ(run.get_state("same@B=3", got), CLEAVE_USER_ERROR);
  EXPECT_TRUE(run.message().starts_with("f_get_state: the program has no state `same@B=3`"))
      << run.message();
}

TEST(Sizes, callbacks_whose_operands_vary_have_a_name_for_each_size) {
  Operators ops;
  ops.add({.name = "shifted",
           .signature = "(Tensor x) -> Tensor",
           .infer = [](const OpCall& op) { return std::vector{op.operand(0)}; },
           .reference = [](const OpCall&, const HostTensors&, HostTensors&) {},
           .callback = [](const OpCall&) { return [](const OpMemory&) {}; }});
  ops.add({.name = "twice",
           .signature = "(Tensor x) -> Tensor y",
           .infer = [](const OpCall& op) { return std::vector{op.operand(0)}; },
           .reference = [](const OpCall&, const HostTensors&, HostTensors&) {},
           .kernel =
               [](const OpCall& op) {
                 return fmt::format("  for (long i = 0; i < {}; ++i) y[i] = 2 * x[i];",
                                    op.operand(0).shape[0]);
               }});
  CompiledFunction program = compile(
      [](const Tensor& x) { return call("twice", {call("shifted", {x})[0].named("moved")})[0]; },
      {{"x", DType::f32, {dyn("B", 2, 3)}}}, {.ops = ops});
  const Folder folder;
  Library library(build(program, folder / "own.so").path, "own");
  EXPECT_EQ(library.open(), nullptr);
  EXPECT_STREQ(library.error.message,
               "own_open: callbacks has no function for `moved@B=2` and 1 more");
  const auto shift = [](void* user, void* const* operands, void* const* results) {
    for (long i = 0; i < *static_cast<long*>(user); ++i)
      static_cast<float*>(results[0])[i] = static_cast<const float*>(operands[0])[i] + 10;
  };
  long two = 2, three = 3;
  const cleave_callback callbacks[] = {{"moved@B=3", shift, &three}, {"moved@B=2", shift, &two}};
  cleave_options options = CLEAVE_OPTIONS_INIT(0);
  options.callbacks = callbacks;
  options.callback_count = 2;
  Opened run(library, &options);
  for (const int64_t rows : {2, 3}) {
    HostTensors out = {HostTensor(DType::f32, {rows})};
    HostTensor x(DType::f32, {rows});
    for (int64_t i = 0; i < rows; ++i) x.set_number(i, static_cast<double>(i));
    ASSERT_EQ(run.run({x}, out), CLEAVE_DONE) << run.message();
    for (int64_t i = 0; i < rows; ++i)
      EXPECT_EQ(out[0].number(i), 2.0 * (static_cast<double>(i) + 10));
  }
}

TEST(Sizes, which_a_library_holds_is_asked_for) {
  Generator rng(3);
  const Variable w("w", rng.uniform({4, 4}, -1, 1));
  EXPECT_EQ(refusal(rows_of(1, 64, w)),
            "build: B is 1 to 64: these are 64 sizes, and a library holds at most 32 that aren't "
            "named; give those that it is to hold: BuildOptions::sizes, such as {\"B\", {1, 64}}");
  EXPECT_EQ(refusal(rows_of(1, 64, w), {.sizes = {{"B", {0}}}}),
            "build: B=0 is asked for, expected 1 to 64");
  EXPECT_EQ(refusal(rows_of(1, 64, w), {.sizes = {{"B", {}}}}),
            "build: B is asked for without a size");
  EXPECT_EQ(refusal(rows_of(1, 64, w), {.sizes = {{"T", {1}}}}),
            "build: T is asked for, and no size of the inputs that varies has the name");
  const CompiledFunction changes =
      compile([](const Tensor& x) { return x.size(0) == 1 ? x.sum() : x + x; },
              {{"x", DType::f32, {dyn("B", 1, 2)}}});
  EXPECT_EQ(refusal(changes), "build: `out.0` is f32[] at one size and f32[2] at another");
  const CompiledFunction hidden =
      compile([](const Tensor& x) { return x.sum(); }, {{"x", DType::f32, {dyn("B", 0, 4), 0}}});
  EXPECT_EQ(refusal(hidden), "nothing");
}

TEST(Sizes, numbers_that_grow_are_sizes_by_input_and_dim) {
  CompiledFunction f = compile([](const Tensor& x) { return x + x; }, {{"x", DType::f32, {2, 3}}},
                               {.other_sizes = OtherSizes::grow});
  const Folder folder;
  Library plain(build(f, folder / "plain.so").path, "plain");
  Library grown(build(f, folder / "grown.so", {.sizes = {{"x.0", {2, 5}}}}).path, "grown");
  const auto code = [](Library& library, int64_t rows) {
    Opened run(library);
    HostTensors none;
    return run.run({HostTensor(DType::f32, {rows, 3})}, none);
  };
  EXPECT_EQ(code(plain, 2), CLEAVE_DONE);
  EXPECT_EQ(code(plain, 5), CLEAVE_USER_ERROR);
  EXPECT_EQ(std::string(plain.error.message),
            "plain_run: input 0 `x`: it is f32[5,3], expected f32[2,3]");
  EXPECT_EQ(code(grown, 5), CLEAVE_DONE);
  EXPECT_EQ(code(grown, 4), CLEAVE_USER_ERROR);
  EXPECT_EQ(std::string(grown.error.message),
            "grown_run: the library has no program for x.0=4; it holds x.0=2,x.1=3; x.0=5,x.1=3");
}

TEST(Sizes, the_same_bytes_from_another_folder) {
  VaryingStep mlp;
  TrainStep step = mlp.make({.accumulate = 2});
  const Folder a, b;
  const BuildOptions options{.sizes = {{"B", {1, 4, 8}}}};
  const BuiltLibrary one = build(step, a / "step.so", options);
  const BuiltLibrary two = build(step, b / "step.so", options);
  EXPECT_EQ(bytes_of(one.path), bytes_of(two.path));
  EXPECT_EQ(bytes_of(one.description), bytes_of(two.description));
}

}  // namespace
}  // namespace cleave
