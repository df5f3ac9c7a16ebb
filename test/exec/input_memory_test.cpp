// The memory of a run's inputs and results: strides, addresses, updates, who frees it when.
// tests: bound_program.cpp input_sizes.cpp run/last_read.cpp
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <numeric>

#include "cleave/cleave.h"
#include "runtime/alloc_watch.h"
#include "test/trace/traced.h"

namespace cleave {
namespace {

using test::message;

constexpr DType f32 = DType::f32;

HostTensor laid_out(const HostTensor& t, std::vector<int64_t> strides) {
  HostTensor out(t.dtype(), t.shape(), std::move(strides));
  out.copy_from(t);
  return out;
}

// Dims in a random order, with gaps, and repeated rows where these may be.
std::vector<int64_t> random_strides(Generator& rng, const std::vector<int64_t>& shape,
                                    bool repeats) {
  std::vector<size_t> order(shape.size());
  std::iota(order.begin(), order.end(), 0);
  for (size_t d = order.size(); d > 1; --d)
    std::swap(order[d - 1], order[static_cast<size_t>(rng.integer(static_cast<int64_t>(d)))]);
  std::vector<int64_t> strides(shape.size());
  int64_t inner = 1 + rng.integer(2);
  for (const size_t d : order) {
    strides[d] = repeats && rng.integer(5) == 0 ? 0 : inner;
    inner = inner * shape[d] + rng.integer(3);
  }
  return strides;
}

TEST(InputStrides, change_no_bit_of_a_result) {
  Generator rng(8);
  const auto f = [](const Tensor& x, const Tensor& y) {
    return Tensors{softmax(matmul(x, y), -1), x.transpose(0, 1) * 2.0, sum(y, {0}),
                   cat({x, x * 3.0}, 1)};
  };
  const CompiledFunction plain = compile(f, {{"x", f32, {5, 7}}, {"y", f32, {7, 3}}});
  for (int round = 0; round < 12; ++round) {
    const auto sx = random_strides(rng, {5, 7}, round % 2), sy = random_strides(rng, {7, 3}, true);
    CompiledFunction laid =
        compile(f, {{"x", f32, {5, 7}, sx}, {"y", f32, {7, 3}, sy}},
                {.compiler = round % 3 ? CompilerChoice::none : CompilerChoice::automatic});
    const HostTensor x = laid_out(rng.normal({5, 7}), sx), y = laid_out(rng.normal({7, 3}), sy);
    const HostTensors got = laid.run({x, y});
    CompiledFunction p = plain;
    const HostTensors want = p.run({x.contiguous(), y.contiguous()});
    for (size_t k = 0; k < want.size(); ++k) {
      EXPECT_TRUE(got[k].same_bits(want[k])) << x.type_text() << y.type_text() << k;
      EXPECT_TRUE(got[k].is_row_major());
    }
  }
}

TEST(InputStrides, hold_for_all_sizes) {
  CompiledFunction f =
      compile([](const Tensor& x) { return x + 1.0; }, {{"x", f32, {dyn("B", 1, 8), 3}, {1, 8}}});
  for (const int64_t b : {8, 5, 1, 2}) {
    const HostTensor x = laid_out(Generator(4).normal({b, 3}), {1, 8});
    const HostTensor y = f.run({x})[0];
    for (int64_t k = 0; k < 3 * b; ++k) EXPECT_EQ(y.number(k), float(x.number(k)) + 1.0f);
  }
  // The stride of a dim of size 1 means nothing.
  EXPECT_EQ(f.run({HostTensor(f32, {1, 3}, {77, 8})})[0].number(0), 1);
  EXPECT_EQ(message([&] { f.run({HostTensor(f32, {2, 3})}); }),
            "compile: input 0 `x`: got f32[2,3]{3,1} on cpu, expected f32[B,3]{1,8} on cpu");
}

TEST(InputStrides, that_differ_are_an_error_or_one_copy) {
  const auto f = [](const Tensor& x) { return x + 1.0; };
  CompiledFunction strict = compile(f, {{"x", f32, {dyn("B", 0, 4), 3}}});
  EXPECT_EQ(message([&] { strict.run({HostTensor(f32, {2, 3}, {1, 2})}); }),
            "compile: input 0 `x`: got f32[2,3]{1,2} on cpu, expected f32[B,3]{3,1} on cpu");
  EXPECT_EQ(message([&] { strict.run({HostTensor(f32, {2, 4}, {1, 2})}); }),
            "compile: input 0 `x`: got f32[2,4]{1,2} on cpu, expected f32[B,3]{3,1} on cpu");
  EXPECT_EQ(message([&] { strict.run({HostTensor(f32, {3})}); }),
            "compile: input 0 `x`: got f32[3] on cpu, expected f32[B,3] on cpu");
  for (const std::vector<int64_t>& own : {std::vector<int64_t>{}, {1, 2}, {4, 1}}) {
    CompiledFunction lenient =
        compile(f, {{.name = "x", .shape = {2, 3}, .strides = own, .copy_strides = true}});
    const HostTensor x = Generator(1).normal({2, 3});
    int64_t copies = 0;
    for (const std::vector<int64_t>& given :
         {std::vector<int64_t>{3, 1}, {1, 2}, {4, 1}, {5, 2}, {1, 2}}) {
      const HostTensor y = lenient.run({laid_out(x, given)})[0];
      copies += given != (own.empty() ? std::vector<int64_t>{3, 1} : own);
      EXPECT_EQ(lenient.report().count("stride_copies"), copies);
      for (int64_t k = 0; k < 6; ++k) EXPECT_EQ(y.number(k), float(x.number(k)) + 1.0f);
    }
    EXPECT_EQ(lenient.report().count("copies"), 0);
    // Repeated rows are read.
    EXPECT_EQ(lenient.run({HostTensor(f32, {2, 3}, {0, 1})})[0].number(5), 1);
  }
}

TEST(InputStrides, that_no_input_can_have_are_refused) {
  const auto refused = [](InputSpec spec) {
    const std::string text =
        message([&] { compile([](const Tensor& x) { return x + 1.0; }, {spec}, {}, Location()); });
    return text;
  };
  EXPECT_EQ(refused({"x", f32, {2, 3}, {1}}),
            "compile: input 0 `x`: 1 strides for 2 dims: f32[2,3]{1}");
  EXPECT_EQ(refused({"x", f32, {2, 3}, {1, -2}}),
            "compile: input 0 `x`: stride -2 is negative: f32[2,3]{1,-2}");
  EXPECT_EQ(refused({.name = "x", .shape = {2}, .copy_strides = true, .is_updated = true}),
            "compile: input 0 `x`: is_updated and copy_strides are both set: the update of a copy "
            "would be lost");
  const std::string lies =
      "%x is written, and elements of f32[2,3]{0,1} lie in one place, expected strides that keep "
      "them apart; what is only read may overlap";
  EXPECT_EQ(refused({.name = "x", .shape = {2, 3}, .strides = {0, 1}, .is_updated = true}), lies);
  EXPECT_EQ(refused({.name = "x", .shape = {2, 3}, .strides = {0, 1}, .copy_strides = true}), lies);
  EXPECT_EQ(
      refused({.name = "x", .shape = {2, 3}, .strides = {1, 1}, .is_updated = true}).substr(0, 45),
      "%x is written, and elements of f32[2,3]{1,1} ");
}

TEST(InputAddress, suits_its_elements) {
  alignas(8) std::byte memory[64] = {};
  CompiledFunction f = compile([](const Tensor& x, const Tensor& y) { return x + to(y, f32); },
                               {{"x", f32, {3}}, {"y", DType::u8, {3}}});
  const HostTensor y = HostTensor::borrow(DType::u8, {3}, memory + 1);
  EXPECT_EQ(f.run({HostTensor::borrow(f32, {3}, memory + 4), y})[0].number(0), 0);
  EXPECT_EQ(message([&] { f.run({HostTensor::borrow(f32, {3}, memory + 2), y}); }),
            "compile: input 0 `x`: its address is no multiple of the 4 bytes of f32");
  Variable v("w", HostTensor(f32, {3}));
  EXPECT_EQ(message([&] { v.bind(HostTensor::borrow(f32, {3}, memory + 1), Contents::of_memory); }),
            "w: bind: its address is no multiple of the 4 bytes of f32");
  EXPECT_EQ(message([&] { v.bind(HostTensor(f32, {3}, {2}), Contents::of_memory); }),
            "w: bind: got memory of f32[3]{2}, expected f32[3]");
}

TEST(Result, lies_as_the_report_says) {
  CompiledFunction f = compile(
      [](const Tensor& x, const Tensor& y) { return Tensors{x.transpose(0, 1), y, x * 2.0, y}; },
      {{"x", f32, {2, 3}, {1, 2}}, {"y", f32, {2, 1, 3}, {8, 5, 2}}});
  const HostTensor x = laid_out(Generator(1).normal({2, 3}), {1, 2});
  const HostTensor y = laid_out(Generator(2).normal({2, 1, 3}), {8, 5, 2});
  const HostTensors out = f.run({x, y});
  const std::vector<OutputLayout>& layouts = f.report().outputs;
  ASSERT_EQ(layouts.size(), 4u);
  for (size_t k = 0; k < out.size(); ++k) {
    std::vector<std::string> strides;
    for (const int64_t s : out[k].strides()) strides.push_back(std::to_string(s));
    EXPECT_EQ(layouts[k].strides, strides);
  }
  EXPECT_EQ(layouts[0].strides, (std::vector<std::string>{"2", "1"}));
  EXPECT_EQ(layouts[1].name, "y");
  EXPECT_EQ(layouts[1].type, "f32[2,1,3]{8,5,2}");
  EXPECT_EQ(out[1].type_text(), "f32[2,1,3]{8,6,2}");
  EXPECT_TRUE(out[1].same_bits(y) && out[3].same_bits(y));
  EXPECT_TRUE(f.output_view(1).same_bits(y));
  EXPECT_EQ(layouts[2].type, "f32[2,3]");
}

// ---- updates

TEST(UpdatedInput, is_written_by_the_run) {
  CompiledFunction f = compile(
      [](const Tensor& x, const Tensor& total) {
        const Tensor next = total + sum(x);
        assign(total, next);
        return Tensors{total * 1.0, total};  // its old value
      },
      {{"x", f32, {4}}, {.name = "total", .shape = {}, .is_updated = true}});
  HostTensor total = HostTensor::scalar(1);
  const HostTensor x = HostTensor::from<float>({1, 2, 3, 4});
  for (const HostTensor& old : f.run({x, total})) EXPECT_EQ(old.item(), 1);
  EXPECT_EQ(total.item(), 11);
  f.run({{"total", total}, {"x", x}});
  EXPECT_EQ(total.item(), 21);
  f.run({x, HostTensor::scalar(0)});  // nobody sees it
  const HostTensor fixed = total;
  EXPECT_EQ(message([&] { f.run({x, fixed}); }),
            "compile: input 1 `total`: it is updated, and the tensor given for it is const");
  EXPECT_EQ(f.report().count("copies"), 0);
}

TEST(UpdatedInput, of_any_strides_leaves_what_is_between_its_elements) {
  Generator rng(5);
  for (int round = 0; round < 10; ++round) {
    const auto strides = random_strides(rng, {3, 4, 2}, false);
    CompiledFunction f = compile(
        [](const Tensor& x, const Tensor& y) {
          assign(x, flip(x, {1}) * 2.0 + y);
          return Tensors{sum(x)};
        },
        {{.name = "x", .shape = {3, 4, 2}, .strides = strides, .is_updated = true},
         {"y", f32, {4, 2}, {2, 1}}});
    HostTensor x(f32, {3, 4, 2}, strides);
    auto* memory = static_cast<float*>(x.data());
    const auto count = static_cast<size_t>(x.extent_bytes() / 4);
    std::fill(memory, memory + count, 77.0f);
    const HostTensor values = rng.normal({3, 4, 2}), y = rng.normal({4, 2});
    x.copy_from(values);
    f.run({x, y});
    for (int64_t i = 0; i < 3; ++i)
      for (int64_t j = 0; j < 4; ++j)
        for (int64_t k = 0; k < 2; ++k)
          EXPECT_EQ(x.at<float>({i, j, k}),
                    values.at<float>({i, 3 - j, k}) * 2.0f + y.at<float>({j, k}));
    EXPECT_EQ(std::count(memory, memory + count, 77.0f), static_cast<int64_t>(count) - 24);
  }
}

TEST(UpdatedInput, is_unchanged_by_a_run_that_fails) {
  CompiledFunction f = compile(
      [](const Tensor& x, const Tensor& i) {
        assign(x, x * 0.0);
        return index_select(x, 0, i);
      },
      {{.name = "x", .shape = {4}, .is_updated = true}, {"i", DType::i64, {1}}});
  HostTensor x = HostTensor::from<float>({1, 2, 3, 4});
  const HostTensor before = x;
  EXPECT_NE(message([&] { f.run({x, HostTensor::from<int64_t>({9})}); }).find("9"),
            std::string::npos);
  EXPECT_TRUE(x.same_bits(before));
  f.run({x, HostTensor::from<int64_t>({1})});
  EXPECT_EQ(x.number(3), 0);
}

TEST(UpdatedInput, shares_no_memory) {
  Generator rng(1);
  nn::Linear layer(4, 4, rng);
  CompiledFunction f = compile(layer,
                               [&](const Tensor& x, const Tensor& y, const Tensor& z) {
                                 assign(x, layer(x) + y + z);
                                 return y + 1.0;
                               },
                               {{.name = "x", .shape = {4}, .strides = {2}, .is_updated = true},
                                {"y", f32, {4}, {2}},
                                {"z", f32, {4}}});
  std::vector<float> m(16);
  const auto part = [&](int64_t at, int64_t stride) {
    return HostTensor::borrow(f32, {4}, {stride}, m.data() + at);
  };
  f.run({part(0, 2), part(1, 2), part(8, 1)});  // interleaved
  f.run({part(0, 2), part(9, 2), part(9, 1)});  // both are read alone
  EXPECT_EQ(message([&] { f.run({part(0, 2), part(6, 2), part(8, 1)}); }),
            "compile: input 0 `x` is updated, and its memory is also that of input 1 `y`");
  EXPECT_EQ(message([&] { f.run({part(4, 2), part(1, 2), part(8, 1)}); }),
            "compile: input 0 `x` is updated, and its memory is also that of input 2 `z`");
  Variable w = layer.parameter("weight");
  EXPECT_EQ(message([&] {
              f.run({HostTensor::borrow(f32, {4}, {2}, w.data<float>()), part(1, 2), part(8, 1)});
            }),
            "compile: input 0 `x` is updated, and its memory is also that of %weight");
  f.run({part(0, 2), part(1, 2), part(8, 1)});
  HostTensor result = f.output_view(0);
  HostTensor over = HostTensor::borrow(f32, {4}, {2}, result.data<float>());
  EXPECT_EQ(message([&] { f.run({over, part(1, 2), part(8, 1)}); }),
            "compile: input 0 `x` is updated, and lies in memory of the program: results of its "
            "last run");
  // It is looked at again, also after an error.
  EXPECT_EQ(message([&] { f.run({part(0, 2), part(6, 2), part(8, 1)}); }).substr(0, 18),
            "compile: input 0 `");
  f.run({part(0, 2), part(1, 2), part(8, 1)});
}

TEST(UpdatedVariable, shares_no_memory_with_another_one) {
  std::vector<float> m(8);
  nn::Module model;
  Variable a = model.add_buffer("a", HostTensor(f32, {4}));
  Variable b = model.add_buffer("b", HostTensor(f32, {4}));
  CompiledFunction f = compile(model,
                               [&](const Tensor& x) {
                                 assign(a, x + b);
                                 return x;
                               },
                               {{"x", f32, {4}}});
  f.run({HostTensor(f32, {4})});
  EXPECT_EQ(f.report().count("rebinds"), 0);
  a.bind(HostTensor::borrow(f32, {4}, m.data()), Contents::of_memory);
  f.run({HostTensor(f32, {4})});
  EXPECT_EQ(f.report().count("rebinds"), 1);
  b.bind(HostTensor::borrow(f32, {4}, m.data() + 3), Contents::of_memory);
  EXPECT_EQ(message([&] { f.run({HostTensor(f32, {4})}); }),
            "compile: %a is updated, and its memory is also that of %b");
  b.bind(HostTensor::borrow(f32, {4}, m.data() + 4), Contents::of_memory);
  f.run({HostTensor(f32, {4})});
  EXPECT_EQ(f.report().count("rebinds"), 3);
}

TEST(UpdatedInput, misuse_of_assign) {
  const auto said = [](auto f, bool is_updated = true) {
    int line = 0;
    return test::after_line(message([&] {
                              compile(TracedFunction(f),
                                      {{.name = "x", .shape = {4}, .is_updated = is_updated}});
                            }),
                            __FILE__, &line);
  };
  EXPECT_EQ(said(
                [](const Tensor& x) {
                  assign(x, x + 1.0);
                  return x;
                },
                false),
            "assign: %x is an input that is only read; set InputSpec::is_updated");
  EXPECT_EQ(said([](const Tensor& x) {
              const Tensor h = x + 1.0;
              assign(h, x);
              return h;
            }),
            "assign: %add is no input, but computed by the function");
  EXPECT_EQ(said([](const Tensor& x) {
              assign(x, sum(x));
              return x;
            }),
            "assign: got f32[] for %x, expected f32[4]");
  EXPECT_EQ(said([](const Tensor& x) {
              assign(x, to(x, DType::f64));
              return x;
            }),
            "assign: got f64[4] for %x, expected f32[4]");
  EXPECT_EQ(said([](const Tensor& x) {
              assign(Tensor(), x);
              return x;
            }),
            "assign: target is an empty Tensor, expected a value");
  EXPECT_EQ(said([](const Tensor& x) {
              return cond(
                  sum(x) > 0.0,
                  [&] {
                    assign(x, x * 2.0);
                    return x;
                  },
                  [&] { return x; })[0];
            }),
            "assign: %x is assigned in a branch of cond; return the value, and assign it after");
}

// Forward, backward, optimizer and the update of an input; with accumulation in both programs.
TEST(UpdatedInput, of_a_training_step) {
  for (const int64_t accumulate : {1, 2}) {
    Generator rng(3);
    nn::Linear model(4, 1, rng);
    TrainStep step =
        train_step(model,
                   [&](const Tensor& x, const Tensor& seen) {
                     assign(seen, seen + sum(x, {0}));
                     return mean(square(model(x)));
                   },
                   optim::SGD({.lr = 0.1}),
                   {{"x", f32, {2, 4}, {1, 2}},
                    {.name = "seen", .shape = {4}, .is_static = true, .is_updated = true}},
                   {.accumulate = accumulate});
    HostTensor seen(f32, {4});
    const HostTensor x =
        laid_out(HostTensor::from<float>({1, 2, 3, 4, 5, 6, 7, 8}, {2, 4}), {1, 2});
    for (int i = 0; i < 4; ++i) step.run({x, seen});
    EXPECT_EQ(seen.to_vector<float>(), (std::vector<float>{24, 32, 40, 48}));
    EXPECT_EQ(step.report().count("rebinds"), 0);
  }
}

// ---- addresses

TEST(StaticInput, that_moves_is_bound_again_and_counted) {
  CompiledFunction f = compile([](const Tensor& x, const Tensor& y) { return x + y; },
                               {{.name = "x", .shape = {2}, .is_static = true}, {"y", f32, {2}}});
  HostTensor a = HostTensor::from<float>({1, 2}), b = HostTensor::from<float>({3, 4});
  EXPECT_EQ(f.run({a, b})[0].number(0), 4);
  a.at<float>({0}) = 10;
  EXPECT_EQ(f.run({a, a})[0].number(0), 20);
  EXPECT_EQ(f.report().count("rebinds"), 0);
  EXPECT_EQ(f.run({b, a})[0].number(0), 13);
  EXPECT_EQ(f.report().count("rebinds"), 1);
  EXPECT_EQ(f.run({b, b})[0].number(0), 6);
  EXPECT_EQ(f.report().count("rebinds"), 1);
  EXPECT_EQ(f.run({a, b})[0].number(0), 13);
  EXPECT_EQ(f.report().count("rebinds"), 2);
  EXPECT_EQ(f.instance().report().count("rebinds"), 0);
  // What lies in results is a copy of it.
  f.run_in_place(std::vector<InputRef>{a, b});
  HostTensor view = f.output_view(0);
  EXPECT_EQ(f.run({view, b})[0].number(1), 10);
  EXPECT_EQ(f.report().count("copies"), 1);
}

TEST(InputMemory, runs_allocate_nothing) {
  if (!runtime::AllocWatch::available()) GTEST_SKIP() << "malloc is not interposed";
  CompiledFunction f = compile(
      [](const Tensor& x, const Tensor& y, const Tensor& z) {
        assign(y, y + x);
        return x + z;
      },
      {{.name = "x", .shape = {4, 4}, .strides = {1, 4}, .copy_strides = true},
       {.name = "y", .shape = {4, 4}, .is_static = true, .is_updated = true},
       {"z", f32, {4, 4}, {0, 1}}},
      {.threads = 1});
  HostTensor x(f32, {4, 4}), y(f32, {4, 4}), z(f32, {4, 4}, {0, 1}), other(f32, {4, 4});
  const std::vector<InputRef> inputs{x, y, z}, moved{x, other, z};
  f.run_in_place(inputs);
  runtime::AllocWatch watch;
  watch.start();
  for (int i = 0; i < 3; ++i) {
    f.run_in_place(inputs);
    f.run_in_place(moved);
  }
  EXPECT_EQ(watch.stop().allocations, 0);
}

// ---- boxed runs

// Tensors that tell when their memory is gone.
struct Watched {
  std::vector<std::string> gone;
  double last = 0;  // an element of what went last
  HostTensor tensor(const std::string& name, std::vector<int64_t> shape, double value = 1) {
    auto own = std::make_shared<HostTensor>(f32, shape);
    for (int64_t k = 0; k < own->numel(); ++k) own->set_number(k, value);
    void* const data = own->data();
    std::shared_ptr<void> keep(data, [this, own, name](void*) mutable {
      gone.push_back(name);
      last = own->number(0);
      for (float& e : own->span<float>()) e = NAN;  // who reads it now is found out
    });
    return HostTensor::borrow(f32, std::move(shape), data, std::move(keep));
  }
};

// An operator of the host program that says what is gone when it runs.
Operators telling(std::vector<std::string>& seen, const Watched& w) {
  Operators ops;
  ops.add({.name = "tell",
           .signature = "(Tensor x) -> Tensor",
           .infer = [](const OpCall& call) { return std::vector<TensorType>{call.operand(0)}; },
           .reference = [](const OpCall&, const HostTensors& in,
                           HostTensors& out) { out[0].copy_from(in[0]); },
           .callback =
               [&seen, &w](const OpCall&) {
                 return [&seen, &w](const OpMemory& memory) {
                   std::string text;
                   for (const std::string& name : w.gone) text += name;
                   seen.push_back(text);
                   std::ranges::copy(memory.operand<float>(0), memory.result<float>(0).begin());
                 };
               }});
  return ops;
}

TEST(BoxedRun, frees_an_input_behind_its_last_reader) {
  Watched w;
  std::vector<std::string> seen;
  const Operators ops = telling(seen, w);
  const auto tell = [](const Tensor& x) { return call("tell", {x})[0]; };
  CompiledFunction f = compile(
      [&](const Tensor& a, const Tensor& b, const Tensor&) {
        const Tensor h = tell(a);  // c is read by nothing
        const Tensor i = tell(h + b);
        return tell(i * 2.0);
      },
      {{"a", f32, {8}}, {"b", f32, {8}}, {"c", f32, {8}}}, {.ops = ops});
  for (int round = 0; round < 2; ++round) {
    w.gone.clear();
    seen.clear();
    HostTensors inputs;
    inputs.push_back(w.tensor("a", {8}, 3));
    inputs.push_back(w.tensor("b", {8}, 4));
    inputs.push_back(w.tensor("c", {8}));
    const HostTensors out = f.run(std::move(inputs));
    EXPECT_TRUE(inputs.empty());
    EXPECT_EQ(out[0].number(7), 14);
    EXPECT_EQ(seen, (std::vector<std::string>{"c", "cab", "cab"}));
  }
  // What isn't boxed is kept.
  const HostTensor x(f32, {8});
  EXPECT_EQ(f.run({x, x, x})[0].number(0), 0);
}

TEST(BoxedRun, keeps_an_input_while_a_loop_or_branch_may_read_it) {
  Watched w;
  std::vector<std::string> seen;
  const Operators ops = telling(seen, w);
  const auto tell = [](const Tensor& x) { return call("tell", {x})[0]; };
  const auto f = [&](const Tensor& a, const Tensor& b, const Tensor& n) {
    const Tensors looped =
        while_loop([&](const Tensor& i, const Tensor&) { return i < n; },
                   [&](const Tensor& i, const Tensor& h) { return Tensors{i + 1.0, tell(h * a)}; },
                   {full({}, 0.0), b});
    const Tensor h = cond(n > 2.0, [&] { return looped[1] + b; }, [&] { return looped[1]; })[0];
    return tell(h);
  };
  for (const int threads : {1, 3}) {
    CompiledFunction program = compile(f, {{"a", f32, {64}}, {"b", f32, {64}}, {"n", f32, {}}},
                                       {.threads = threads, .ops = ops});
    for (const int n : {0, 1, 2, 3}) {
      w.gone.clear();
      seen.clear();
      HostTensors inputs;
      inputs.push_back(w.tensor("a", {64}, 2));
      inputs.push_back(w.tensor("b", {64}, 5));
      inputs.push_back(w.tensor("n", {}, n));
      const HostTensors out = program.run(std::move(inputs));
      EXPECT_EQ(out[0].number(63), 5 * (1 << n) + (n > 2 ? 5 : 0)) << n;
      ASSERT_EQ(seen.size(), static_cast<size_t>(n) + 1);
      for (int i = 0; i < n; ++i) EXPECT_EQ(seen[static_cast<size_t>(i)], "") << n;
      std::string last = seen.back();
      std::ranges::sort(last);
      EXPECT_EQ(last, "abn") << n;
    }
  }
}

TEST(BoxedRun, keeps_what_is_updated_until_it_is_written) {
  Watched w;
  CompiledFunction f = compile(
      [](const Tensor& a, const Tensor& b) {
        assign(b, a + b);
        return a;
      },
      {{.name = "a", .shape = {4}, .is_static = true},
       {.name = "b", .shape = {4}, .is_updated = true}});
  HostTensors inputs;
  inputs.push_back(w.tensor("a", {4}, 3));
  inputs.push_back(w.tensor("b", {4}, 4));
  EXPECT_EQ(f.run(std::move(inputs))[0].number(0), 3);
  EXPECT_EQ(f.output(0).number(3), 3);
  EXPECT_EQ(w.gone, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(w.last, 7);
  // Both are bound again, wherever they lie.
  HostTensor a(f32, {4}), b = HostTensor::from<float>({1, 2, 3, 4});
  EXPECT_EQ(f.run({a, b})[0].number(0), 0);
  EXPECT_EQ(b.number(3), 4);
}

TEST(BoxedRun, refused_inputs_stay_where_they_are) {
  CompiledFunction f =
      compile([](const Tensor& x, const Tensor& i) { return index_select(x, 0, i); },
              {{"x", f32, {4}}, {"i", DType::i64, {1}}});
  HostTensors inputs{HostTensor(f32, {4}), HostTensor(f32, {1})};
  EXPECT_EQ(message([&] { f.run(std::move(inputs)); }),
            "compile: input 1 `i`: got f32[1] on cpu, expected i64[1] on cpu");
  ASSERT_EQ(inputs.size(), 2u);
  EXPECT_EQ(inputs[0].type_text(), "f32[4]");
  inputs[1] = HostTensor::from<int64_t>({7});
  EXPECT_NE(
      message([&] { f.run(std::move(inputs)); }).find("index 7 is out of range [0, 4), %i[0]"),
      std::string::npos);
  EXPECT_TRUE(inputs.empty());
  inputs = {HostTensor(f32, {4}), HostTensor(DType::i64, {1})};
  EXPECT_EQ(f.run(std::move(inputs))[0].number(0), 0);
}

TEST(Compile, a_function_without_a_call_opens_no_compiler) {
  const std::string folder =
      testing::TempDir() + "cleave_no_call." + std::to_string(getpid()) + "/";
  CompiledFunction f = compile(
      [](const Tensor& x) { return Tensors{x, constant(HostTensor::from<float>({5, 6})), x}; },
      {{"x", f32, {2, 3}, {1, 2}}}, {.cache_dir = folder});
  EXPECT_EQ(f.report().kernels, 3);  // a copy for each result
  // Nothing was compiled, or remembered of a compiler: the one entry is the program.
  size_t entries = 0;
  for (const auto& e : std::filesystem::recursive_directory_iterator(folder))
    entries += e.is_regular_file() &&
               e.path().parent_path() != std::filesystem::path(folder).parent_path();
  EXPECT_EQ(entries, 1u);
  std::filesystem::remove_all(folder);
  const HostTensor x = laid_out(Generator(1).normal({2, 3}), {1, 2});
  const HostTensors out = f.run({x});
  EXPECT_TRUE(out[0].same_bits(x) && out[2].same_bits(x));
  EXPECT_EQ(out[1].number(1), 6);
}

}  // namespace
}  // namespace cleave
