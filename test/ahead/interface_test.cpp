// The C interface of a library: what it refuses, and what a run costs.
// tests: standalone/instance.cpp standalone/c_interface.cpp standalone/linked_program.cpp
// tests: standalone/fault_text.cpp standalone/check_tensor.cpp
#include <fmt/format.h>
#include <malloc.h>

#include <thread>
#include <utility>

#include "cleave/build.h"
#include "cleave/generator.h"
#include "cleave/op.h"
#include "runtime/alloc_watch.h"
#include "test/ahead/library.h"

namespace cleave {
namespace {

// y = x[rows], of rows that may be out of range; and its input, which it counts up.
struct Take {
  Folder folder;
  CompiledFunction program =
      compile([](const Tensor& x, const Tensor& rows) { return index_select(x, 0, rows) * 2; },
              {{"x", DType::f32, {4, 3}}, {"rows", DType::i64, {2}}});
  std::string path = build(program, folder / "take.so").path;
  HostTensor x = HostTensor::from<float>({0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11}, {4, 3});
  HostTensor rows = HostTensor::from<int64_t>({3, 1});
};

using RunFunction = int(cleave_instance*, const cleave_tensor*, size_t, const cleave_tensor*,
                        size_t, cleave_error*);

TEST(Interface, wrong_tensors_are_one_clear_error_each_and_the_next_run_is_right) {
  Take take;
  Library library(take.path, "take");
  Opened opened(library);
  RunFunction* const run = library.get<RunFunction>("run");
  const int64_t xs[] = {4, 3}, wide[] = {3, 4}, n[] = {2}, by[] = {1, 4}, below[] = {-3, 1},
                zero[] = {0, 1};
  float y[6] = {};
  const cleave_tensor x{take.x.data(), CLEAVE_F32, 2, xs, nullptr},
      rows{take.rows.data(), CLEAVE_I64, 1, n, nullptr};
  const int64_t ys[] = {2, 3};
  const cleave_tensor out{y, CLEAVE_F32, 2, ys, nullptr};
  const auto told = [&](cleave_tensor a, cleave_tensor b, cleave_tensor c) {
    const cleave_tensor in[] = {a, b};
    cleave_error error{};
    const int code = run(opened.get(), in, 2, &c, 1, &error);
    EXPECT_EQ(code, error.code);
    return std::string(error.message);
  };
  const auto with = [](cleave_tensor t, auto member, auto value) {
    t.*member = value;
    return t;
  };
  const std::string f = "take_run: ";
  EXPECT_EQ(told(with(x, &cleave_tensor::data, nullptr), rows, out),
            f + "input 0 `x`: its data is NULL");
  EXPECT_EQ(told(with(x, &cleave_tensor::shape, nullptr), rows, out),
            f + "input 0 `x`: its shape is NULL");
  EXPECT_EQ(told(with(x, &cleave_tensor::dtype, 77), rows, out),
            f + "input 0 `x`: its dtype is 77, expected 0 to 10");
  EXPECT_EQ(told(with(x, &cleave_tensor::dtype, CLEAVE_I32), rows, out),
            f + "input 0 `x`: it is i32[4,3], expected f32[4,3]");
  EXPECT_EQ(told(with(x, &cleave_tensor::rank, 1), rows, out),
            f + "input 0 `x`: it is f32[4], expected f32[4,3]");
  EXPECT_EQ(told(with(x, &cleave_tensor::rank, -1), rows, out),
            f + "input 0 `x`: its rank is -1, expected 0 to 64");
  EXPECT_EQ(told(with(x, &cleave_tensor::shape, wide), rows, out),
            f + "input 0 `x`: it is f32[3,4], expected f32[4,3]");
  EXPECT_EQ(told(with(x, &cleave_tensor::strides, by), rows, out),
            f + "input 0 `x`: its strides are [1,4], expected f32[4,3]");
  EXPECT_EQ(told(with(x, &cleave_tensor::data, static_cast<char*>(take.x.data()) + 2), rows, out),
            f + "input 0 `x`: its address is no multiple of the 4 bytes of f32");
  EXPECT_EQ(told(x, rows, with(out, &cleave_tensor::data, nullptr)),
            f + "output 0 `out.0`: its data is NULL");
  EXPECT_EQ(told(x, rows, with(out, &cleave_tensor::strides, below)),
            f + "output 0 `out.0`: its strides are [-3,1], expected none below 0");
  EXPECT_EQ(told(x, rows, with(out, &cleave_tensor::strides, zero)),
            f + "output 0 `out.0`: its strides are [0,1], by which elements overlap");
  const int64_t outside[] = {3, 4};
  EXPECT_EQ(told(x, with(rows, &cleave_tensor::data, const_cast<int64_t*>(outside)), out),
            f + "index_select: index: index 4 is out of range [0, 4), computing %mul");
  cleave_error error{};
  EXPECT_EQ(run(opened.get(), &x, 1, &out, 1, &error), CLEAVE_USER_ERROR);
  EXPECT_EQ(error.message, f + "1 inputs, expected 2");
  EXPECT_EQ(run(opened.get(), nullptr, 2, &out, 1, &error), CLEAVE_USER_ERROR);
  EXPECT_EQ(error.message, f + "in is NULL, in_count is 2");
  EXPECT_EQ(run(opened.get(), nullptr, 0, nullptr, 3, &error), CLEAVE_USER_ERROR);
  EXPECT_EQ(error.message, f + "out is NULL, out_count is 3");
  EXPECT_EQ(run(nullptr, nullptr, 0, nullptr, 0, &error), CLEAVE_USER_ERROR);
  EXPECT_EQ(error.message, std::string("take: the instance is NULL; take_open() makes one"));
  EXPECT_EQ(run(nullptr, nullptr, 0, nullptr, 0, nullptr), CLEAVE_USER_ERROR);
  EXPECT_EQ(told(x, rows, out), "");
  EXPECT_EQ(y[0], 18);
  // Results where they lie, and in memory by other strides.
  cleave_tensor result{};
  auto* const result_of =
      library.get<int(cleave_instance*, size_t, cleave_tensor*, cleave_error*)>("result");
  ASSERT_EQ(result_of(opened.get(), 0, &result, &error), CLEAVE_DONE);
  EXPECT_EQ(static_cast<float*>(result.data)[5], 10);
  EXPECT_EQ(result_of(opened.get(), 1, &result, &error), CLEAVE_USER_ERROR);
  const int64_t columns[] = {1, 2};
  EXPECT_EQ(told(x, rows, with(out, &cleave_tensor::strides, columns)), "");
  EXPECT_EQ(y[1], 6);
  EXPECT_EQ(told({result.data, CLEAVE_F32, 2, xs, nullptr}, rows, out),
            f + "input 0 `x` lies in memory of the program: results of its last run");
}

TEST(Interface, wrong_options_are_one_clear_error_each) {
  Take take;
  Library library(take.path, "take");
  const auto refusal = [&](auto member, auto value) {
    cleave_options options = CLEAVE_OPTIONS_INIT(0);
    options.*member = value;
    EXPECT_EQ(library.open(&options), nullptr);
    EXPECT_EQ(library.error.code, CLEAVE_USER_ERROR);
    return std::string(library.error.message);
  };
  EXPECT_NE(refusal(&cleave_options::version, 2u)
                .find("take_open: the options are of version 2 of the interface"),
            std::string::npos);
  EXPECT_NE(refusal(&cleave_options::bytes, 8u).find("(8 bytes)"), std::string::npos);
  EXPECT_NE(refusal(&cleave_options::program, uint64_t{5})
                .find("take_open: the options are those of program 0000000000000005, the library"),
            std::string::npos);
  EXPECT_EQ(refusal(&cleave_options::threads, -1), "take_open: threads is -1, expected 0 or more");
  EXPECT_EQ(refusal(&cleave_options::callback_count, size_t{1}),
            "take_open: callback_count is 1, callbacks is NULL");
  EXPECT_EQ(refusal(&cleave_options::weights, "/nowhere/w.safetensors"),
            "take_open: /nowhere/w.safetensors: No such file or directory");
  alignas(64) std::byte memory[64];
  EXPECT_NE(refusal(&cleave_options::memory, static_cast<void*>(memory))
                .find("take_open: memory has 0 bytes, expected "),
            std::string::npos);
  cleave_options options = CLEAVE_OPTIONS_INIT(0);
  options.parallel_for = [](void*, long, void (*)(void*, long), void*) {};
  EXPECT_EQ(library.open(&options), nullptr);
  EXPECT_STREQ(library.error.message,
               "take_open: pool_threads is 0 beside parallel_for, expected 1 or more");
}

TEST(Interface, a_run_in_the_callers_memory_on_its_threads_allocates_nothing) {
  if (!runtime::AllocWatch::available()) GTEST_SKIP() << "malloc is not interposed";
  Take take;
  Library library(take.path, "take");
  alignas(64) static std::byte memory[1 << 16];
  cleave_options options = CLEAVE_OPTIONS_INIT(0);
  options.memory = memory;
  options.memory_bytes = sizeof(memory);
  options.parallel_for = [](void*, long pieces, void (*f)(void*, long), void* context) {
    for (long i = 0; i < pieces; ++i) f(context, i);
  };
  options.pool_threads = 1;
  Opened opened(library, &options);
  RunFunction* const run = library.get<RunFunction>("run");
  float y[6] = {};
  const int64_t ys[] = {2, 3};
  const cleave_tensor in[] = {{take.x.data(), CLEAVE_F32, 2, take.x.shape().data(), nullptr},
                              {take.rows.data(), CLEAVE_I64, 1, take.rows.shape().data(), nullptr}},
                      out{y, CLEAVE_F32, 2, ys, nullptr};
  cleave_error error{};
  runtime::AllocWatch watch;
  watch.start();
  const int first = run(opened.get(), in, 2, &out, 1, &error);
  const int second = run(opened.get(), nullptr, 0, nullptr, 0, &error);
  const runtime::AllocCounts seen = watch.stop();
  EXPECT_EQ(first, CLEAVE_DONE) << error.message;
  EXPECT_EQ(second, CLEAVE_DONE) << error.message;
  EXPECT_EQ(seen.allocations, 0);
  EXPECT_EQ(y[0], 18);
}

TEST(Interface, two_instances_run_at_once) {
  Take take;
  Library library(take.path, "take");
  Opened a(library), b(library);
  const auto work = [&](Opened& opened) {
    RunFunction* const run = library.get<RunFunction>("run");
    float y[6] = {};
    const int64_t ys[] = {2, 3};
    const cleave_tensor in[] = {
        {take.x.data(), CLEAVE_F32, 2, take.x.shape().data(), nullptr},
        {take.rows.data(), CLEAVE_I64, 1, take.rows.shape().data(), nullptr}};
    const cleave_tensor out{y, CLEAVE_F32, 2, ys, nullptr};
    cleave_error error{};
    for (int i = 0; i < 200; ++i) {
      y[5] = 0;
      if (run(opened.get(), in, 2, &out, 1, &error) != CLEAVE_DONE || y[5] != 10)
        ADD_FAILURE() << error.message;
    }
  };
  std::thread other([&] { work(b); });
  work(a);
  other.join();
}

TEST(Interface, a_library_that_is_unloaded_leaves_no_memory) {
  Take take;
  cleave_options options = CLEAVE_OPTIONS_INIT(0);
  options.threads = 1;  // the system keeps some memory of threads that end
  const auto held_after_use = [&] {
    {
      Library library(take.path, "take");
      Opened a(library, &options), b(library, &options);
      for (Opened* each : {&a, &b}) {
        HostTensors out = {HostTensor(DType::f32, {2, 3})};
        EXPECT_EQ(each->run({take.x, take.rows}, out), CLEAVE_DONE) << each->message();
      }
    }
    const struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
  };
  // What leaks grows round by round, once the allocator's stock of small blocks is used up; what
  // the system keeps for threads that end meanwhile grows in one or two.
  constexpr int rounds = 24;
  int grew = 0;
  size_t held = held_after_use();
  for (int i = 0; i < rounds; ++i) {
    const size_t before = std::exchange(held, held_after_use());
    grew += held > before;
  }
  EXPECT_LT(grew, rounds / 2) << held << " bytes at the end";
}

Operator with_c_text() {
  return {.name = "twice",
          .signature = "(Tensor x) -> Tensor y",
          .infer = [](const OpCall& op) { return std::vector{op.operand(0)}; },
          .reference =
              [](const OpCall&, const HostTensors& in, HostTensors& out) {
                for (int64_t i = 0; i < in[0].numel(); ++i)
                  out[0].set_number(i, 2 * in[0].number(i));
              },
          .kernel =
              [](const OpCall& op) {
                return fmt::format("  for (long i = 0; i < {}; ++i) y[i] = 2 * x[i];",
                                   op.operand(0).shape[0]);
              }};
}

Operator with_callback() {
  return {.name = "shifted",
          .signature = "(Tensor x) -> Tensor",
          .infer = [](const OpCall& op) { return std::vector{op.operand(0)}; },
          .reference =
              [](const OpCall&, const HostTensors& in, HostTensors& out) {
                for (int64_t i = 0; i < in[0].numel(); ++i)
                  out[0].set_number(i, 1 + in[0].number(i));
              },
          .callback = [](const OpCall&) { return [](const OpMemory&) {}; }};
}

TEST(Interface, own_operators_are_compiled_in_and_callbacks_are_given) {
  Operators ops;
  ops.add(with_c_text());
  ops.add(with_callback());
  CompiledFunction program = compile(
      [](const Tensor& x) {
        return call("twice", {call("shifted", {call("twice", {x})[0]})[0].named("moved")})[0];
      },
      {{"x", DType::f32, {3}}}, {.ops = ops});
  const Folder folder;
  Library library(build(program, folder / "own.so").path, "own");
  EXPECT_NE(library.describe().find("\"callbacks\":[{\"name\":\"moved\",\"op\":\"shifted\","
                                    "\"operands\":[\"f32[3]\"],\"results\":[\"f32[3]\"]}]"),
            std::string::npos)
      << library.describe();
  EXPECT_EQ(library.open(), nullptr);
  EXPECT_STREQ(library.error.message, "own_open: callbacks has no function for `moved`");
  float shift = 10;
  const cleave_callback callback{"moved",
                                 [](void* user, void* const* operands, void* const* results) {
                                   for (int i = 0; i < 3; ++i)
                                     static_cast<float*>(results[0])[i] =
                                         static_cast<const float*>(operands[0])[i] +
                                         *static_cast<float*>(user);
                                 },
                                 &shift};
  cleave_options options = CLEAVE_OPTIONS_INIT(0);
  options.callbacks = &callback;
  options.callback_count = 1;
  Opened run(library, &options);
  HostTensors out = {HostTensor(DType::f32, {3})};
  ASSERT_EQ(run.run({HostTensor::from<float>({1, 2, 3})}, out), CLEAVE_DONE) << run.message();
  EXPECT_EQ(out[0].to_vector<float>(), (std::vector<float>{24, 28, 32}));
}

}  // namespace
}  // namespace cleave
