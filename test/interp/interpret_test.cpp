// The oracle: rounding, exactness, symbols, freeing, errors.
// tests: array_memory.cpp graph_run.cpp
#include <gtest/gtest.h>

#include "interp/array_memory.h"
#include "test/random_inputs.h"

namespace cleave {
namespace {

using test::floats;
using test::ints;
using test::parsed;

Arrays run(const std::string& text, const std::map<std::string, Array>& inputs) {
  return value_or_throw(interpret(parsed(text), inputs));
}

std::string error(const std::string& text, const std::map<std::string, Array>& inputs) {
  auto r = interpret(parsed(text), inputs);
  return r.ok() ? "no error" : r.failure().message;
}

TEST(Interpret, f32_is_held_unrounded) {
  Arrays y = run("graph @main(%x: input f32[1]) {\n  %y = add(%x; other=1e-12)\n  return %y\n}\n",
                 {{"x", floats(DType::f32, {1}, {1})}});
  EXPECT_EQ(y[0].f[0], 1 + 1e-12);
}

TEST(Interpret, bf16_is_rounded_after_each_node) {
  // 1 + 2^-8 is a tie and goes to 1 each time; unrounded, the second sum would reach 1 + 2^-7.
  Arrays y =
      run("graph @main(%x: input bf16[1]) {\n"
          "  %a = add(%x; other=0.00390625)\n"
          "  %b = add(%a; other=0.00390625)\n"
          "  return %b\n}\n",
          {{"x", floats(DType::bf16, {1}, {1})}});
  EXPECT_EQ(y[0].f[0], 1.0);
}

// 300 * 300 is beyond f16, 1 + 2^-10 between two numbers of bf16.
struct Unrounded {
  DType dtype;
  double x, y;
  const char* call;
};
constexpr Unrounded unrounded[] = {
    {DType::f16, 300, 90000, "mul(%x, %x)"},
    {DType::bf16, 1, 1 + 0x1p-10, "add(%x; other=0.0009765625)"},
    {DType::bf16, 0x1p127, 0x1p128, "mul(%x; other=2.0)"},
    {DType::f16, 0x1p-24, 0x1p-26, "mul(%x; other=0.25)"},
};

Arrays run_half(const std::string& text, const Unrounded& u, Results which) {
  const Graph g = parsed(text);
  const Array x = floats(u.dtype, {1}, {u.x});
  const Array* in[] = {&x};
  return value_or_throw(interpret(g, in, which));
}

TEST(Interpret, results_are_what_their_calls_computed) {
  for (const Unrounded& u : unrounded) {
    const std::string text = fmt::format(
        "graph @main(%x: input {}[1]) {{\n  %y = {}\n  %v = view(%y; size=[1,1])\n"
        "  %w = unsqueeze(%v; dim=0)\n  return %y, %w\n}}\n",
        name_of(u.dtype), u.call);
    const Arrays y = run_half(text, u, Results::computed);
    EXPECT_EQ(y[0].f[0], u.y) << text;
    EXPECT_EQ(y[1].f[0], u.y) << text;
    const Arrays stored = run_half(text, u, Results::stored);
    EXPECT_EQ(stored[0].f[0], round_to(y[0].dtype, u.y)) << text;
    EXPECT_EQ(stored[1].f[0], stored[0].f[0]) << text;
  }
}

TEST(Interpret, calls_read_what_a_half_type_holds) {
  for (const Unrounded& u : unrounded) {
    const std::string text = fmt::format(
        "graph @main(%x: input {}[1]) {{\n  %y = {}\n  %v = view(%y; size=[1])\n"
        "  %z = _to_copy(%v; dtype=f32)\n  return %z, %y\n}}\n",
        name_of(u.dtype), u.call);
    const Arrays y = run_half(text, u, Results::computed);
    EXPECT_EQ(y[0].f[0], round_to(y[1].dtype, u.y)) << text;
    EXPECT_EQ(y[1].f[0], u.y) << text;
  }
}

TEST(Interpret, a_conversion_to_half_is_a_call_like_others) {
  const Arrays y =
      run("graph @main(%x: input f32[1]) {\n  %y = _to_copy(%x; dtype=f16)\n"
          "  %z = _to_copy(%y; dtype=f32)\n  return %z\n}\n",
          {{"x", floats(DType::f32, {1}, {90000})}});
  EXPECT_EQ(y[0].f[0], INFINITY);
}

TEST(Interpret, branches_and_loops_hand_on_what_they_computed) {
  for (const Unrounded& u : unrounded) {
    const std::string branch =
        fmt::format("graph @b(%x: input {}[1]) {{\n  %y = {}\n", name_of(u.dtype), u.call);
    const std::string text =
        branch +
        fmt::format(
            "  return %y\n}}\n"
            "graph @main(%x: input {}[1]) {{\n  %p = full(size=[], fill_value=true, dtype=bool)\n"
            "  %y = cond(%p, [%x]; then=@b, otherwise=@b)\n  %z = _to_copy(%y; dtype=f64)\n"
            "  return %y, %z\n}}\n",
            name_of(u.dtype));
    const Arrays y = run_half(text, u, Results::computed);
    EXPECT_EQ(y[0].f[0], u.y) << text;
    EXPECT_EQ(y[1].f[0], round_to(y[0].dtype, u.y)) << text;
  }
}

TEST(Interpret, i64_is_exact_beyond_53_bits) {
  const int64_t big = (int64_t{1} << 53) + 1;
  Arrays y = run("graph @main(%x: input i64[1]) {\n  %y = add(%x; other=2)\n  return %y\n}\n",
                 {{"x", ints(DType::i64, {1}, {big})}});
  EXPECT_EQ(y[0].i[0], big + 2);
}

TEST(Interpret, returns_in_order_with_updates) {
  Arrays y =
      run("graph @main(%x: input f32[2], %m: buffer f32[2]) {\n"
          "  %a = mul(%x; other=2.0)\n"
          "  %b = add(%m, %a)\n"
          "  return %b -> %m, %a, %x, %a\n}\n",
          {{"x", floats(DType::f32, {2}, {1, 2})}, {"m", floats(DType::f32, {2}, {10, 20})}});
  ASSERT_EQ(y.size(), 4u);
  EXPECT_EQ(y[0].f, (std::vector<double>{12, 24}));
  EXPECT_EQ(y[1].f, (std::vector<double>{2, 4}));
  EXPECT_EQ(y[2].f, (std::vector<double>{1, 2}));
  EXPECT_EQ(y[3].f, y[1].f);
}

const char* const symbolic =
    "graph @main(%n: symint range(2,8), %x: input f32[n*2], %w: input f32[n]) {\n"
    "  %v = view(%x; size=[2,n])\n"
    "  %y = mul(%v, %w)\n"
    "  return %y\n}\n";

TEST(Interpret, symbols_come_from_the_shapes) {
  Arrays y = run(symbolic, {{"x", floats(DType::f32, {6}, {1, 2, 3, 4, 5, 6})},
                            {"w", floats(DType::f32, {3}, {1, 10, 100})}});
  EXPECT_EQ(y[0].shape, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(y[0].f, (std::vector<double>{1, 20, 300, 4, 50, 600}));
}

TEST(Interpret, symbols_that_disagree) {
  EXPECT_EQ(error(symbolic, {{"x", floats(DType::f32, {6}, std::vector<double>(6))},
                             {"w", floats(DType::f32, {4}, std::vector<double>(4))}}),
            "%w: dim 0 is 4, expected n = 3 with n = 3");
}

TEST(Interpret, size_that_no_symbol_gives) {
  EXPECT_EQ(error(symbolic, {{"x", floats(DType::f32, {7}, std::vector<double>(7))},
                             {"w", floats(DType::f32, {3}, std::vector<double>(3))}}),
            "%x: dim 0 is 7, expected n*2 = 6 with n = 3");
}

TEST(Interpret, symbol_out_of_range) {
  EXPECT_EQ(error(symbolic, {{"x", floats(DType::f32, {18}, std::vector<double>(18))},
                             {"w", floats(DType::f32, {9}, std::vector<double>(9))}}),
            "symint n is 9, expected a value in [2, 8]");
}

TEST(Interpret, symbol_that_no_shape_determines) {
  const char* text =
      "graph @main(%n: symint range(1,100), %x: input f32[floordiv(n,2)]) {\n"
      "  %y = neg(%x)\n  return %y\n}\n";
  const Array x = floats(DType::f32, {3}, {1, 2, 3});
  EXPECT_EQ(error(text, {{"x", x}}),
            "symint n: %x: dim 0 is floordiv(n,2) = 3, which does not determine it; give it as an "
            "input");
  EXPECT_EQ(run(text, {{"x", x}, {"n", ints(DType::i64, {}, {7})}})[0].f,
            (std::vector<double>{-1, -2, -3}));
  EXPECT_EQ(error(text, {{"x", x}, {"n", ints(DType::i64, {}, {8})}}),
            "%x: dim 0 is 3, expected floordiv(n,2) = 4 with n = 8");
}

TEST(Interpret, symint_is_a_value) {
  Arrays y = run("graph @main(%n: symint, %x: input f32[n,2]) {\n  return %n, %x\n}\n",
                 {{"x", floats(DType::f32, {3, 2}, std::vector<double>(6))}});
  EXPECT_EQ(y[0].i, (std::vector<int64_t>{3}));
}

TEST(Interpret, inputs_are_checked) {
  const char* text = "graph @main(%x: input f32[2]) {\n  %y = neg(%x)\n  return %y\n}\n";
  EXPECT_EQ(error(text, {}), "%x: no input is given for it");
  EXPECT_EQ(error(text, {{"x", floats(DType::f64, {2}, {1, 2})}}),
            "%x: is f64[2], expected f32[2]");
  EXPECT_EQ(error(text, {{"x", floats(DType::f32, {3}, {1, 2, 3})}}), "%x: dim 0 is 3, expected 2");
  EXPECT_EQ(error(text, {{"x", floats(DType::f32, {2, 1}, {1, 2})}}),
            "%x: has 2 dims, expected f32[2]");
  EXPECT_EQ(error(text, {{"x", floats(DType::f32, {2}, {1})}}),
            "%x: holds 1 elements, expected those of f32[2]");
  EXPECT_EQ(
      error(text, {{"x", floats(DType::f32, {2}, {1, 2})}, {"z", floats(DType::f32, {}, {1})}}),
      "%z: an input of that name is given, but the graph has none");
}

TEST(Interpret, index_error_names_the_line) {
  const std::string message = error(
      "graph @main(%w: input f32[3,2], %i: input i64[1]) {\n"
      "  %e = embedding(%w, %i)      # net.cpp:7\n  return %e\n}\n",
      {{"w", floats(DType::f32, {3, 2}, std::vector<double>(6))},
       {"i", ints(DType::i64, {1}, {3})}});
  EXPECT_NE(message.find("embedding"), std::string::npos) << message;
  EXPECT_NE(message.find("%e = embedding(%w, %i)"), std::string::npos) << message;
  EXPECT_NE(message.find("net.cpp:7"), std::string::npos) << message;
}

TEST(ArrayMemory, round_trip_of_every_dtype) {
  const std::vector<double> values = {0,       -0.0,    1,        -2.5,     65504,
                                      0x1p-24, 0x1p-14, HUGE_VAL, 0x1.8p-15};
  for (DType t : {DType::f64, DType::f32, DType::bf16, DType::f16}) {
    Array a(t, {static_cast<int64_t>(values.size())});
    for (size_t k = 0; k < values.size(); ++k) a.f[k] = round_to(t, values[k]);
    const Array b = from_memory(t, a.shape, to_memory(a).data());
    for (size_t k = 0; k < values.size(); ++k) {
      EXPECT_EQ(b.f[k], a.f[k]) << name_of(t) << " " << values[k];
      EXPECT_EQ(std::signbit(b.f[k]), std::signbit(a.f[k])) << name_of(t) << " " << values[k];
    }
  }
  for (DType t : {DType::i64, DType::i32, DType::i16, DType::i8, DType::u8, DType::boolean}) {
    Array a(t, {3});
    for (int64_t k = 0; k < 3; ++k) a.set_int(k, k == 2 ? -1 : k);
    EXPECT_EQ(from_memory(t, a.shape, to_memory(a).data()).i, a.i) << name_of(t);
  }
}

TEST(ArrayMemory, f16_bits) {
  const Array a = floats(DType::f16, {5}, {1, -2, 65504, 0x1p-24, std::nan("")});
  const auto m = to_memory(a);
  std::vector<uint16_t> bits(5);
  std::memcpy(bits.data(), m.data(), m.size());
  EXPECT_EQ(bits, (std::vector<uint16_t>{0x3c00, 0xc000, 0x7bff, 0x0001, 0x7e00}));
}

TEST(ArrayMemory, f32_rounds_to_nearest) {
  const Array a = floats(DType::f32, {1}, {1 + 0x1p-24 + 0x1p-40});
  float x = 0;
  std::memcpy(&x, to_memory(a).data(), 4);
  EXPECT_EQ(x, 1 + 0x1p-23f);
}

}  // namespace
}  // namespace cleave
