// tests: sized_graph.cpp
#include "exec/sized_graphs.h"

#include <gtest/gtest.h>

#include "ir/text.h"
#include "test/trace/traced.h"

namespace cleave {
namespace {

using test::message;

Graph rows() {
  return value_or_throw(parse(R"(graph @main(%n: symint range(2,64), %x: input f32[n,40]) {
  %y = tanh(%x)
  %s = sum(%y; dim=[1])
  %z = exp(%s)
  return %z
})",
                              "rows.clv", Operators().registry()))
      .main;
}

TEST(SizesAround, stay_within_ranges_and_differ) {
  const std::vector<SymbolValues> around = sizes_around(rows(), {{"n", 63}});
  const std::vector<SymbolValues> expected = {{{"n", 64}}, {{"n", 62}}, {{"n", 31}}, {{"n", 2}}};
  EXPECT_EQ(around, expected);
}

TEST(SizesAround, change_one_symbol_and_all) {
  const Graph g = value_or_throw(parse("graph @main(%a: symint range(1,9), %b: symint range(1,9), "
                                       "%x: input f32[a,b]) {\n  %y = exp(%x)\n  return %y\n}",
                                       "two.clv", Operators().registry()))
                      .main;
  const std::vector<SymbolValues> around = sizes_around(g, {{"a", 4}, {"b", 1}});
  EXPECT_EQ(around[0], (SymbolValues{{"a", 5}, {"b", 2}}));
  EXPECT_EQ(around[1], (SymbolValues{{"a", 5}, {"b", 1}}));
  EXPECT_EQ(around[2], (SymbolValues{{"a", 4}, {"b", 2}}));
}

TEST(SizedGraphs, share_functions_from_the_second_size_on) {
  SizedGraphs sizes(rows(), {}, {});
  for (const int64_t n : {8, 12, 13, 7, 30, 41}) {
    const SizedGraph made = value_or_throw(sizes.made({{"n", n}}));
    HostTensor x(DType::f32, {n, 40});
    for (int64_t k = 0; k < x.numel(); ++k) x.set_number(k, 0.01 * static_cast<double>(k % 7));
    value_or_throw(made.instance->bind(1, {x.data(), x.bytes(), DType::f32}));
    int64_t symbol = n;
    value_or_throw(made.instance->bind(0, std::span(&symbol, 1)));
    value_or_throw(made.instance->run());
    double sum = 0;
    for (int64_t k = 40 * (n - 1); k < 40 * n; ++k) sum += std::tanh(x.number(k));
    const auto* z = static_cast<const float*>(made.instance->result(0));
    EXPECT_NEAR(z[n - 1], std::exp(sum), 1e-4 * std::exp(sum)) << n;
  }
  EXPECT_EQ(sizes.count(), 6);
  EXPECT_EQ(sizes.recompiles(), 0);
}

TEST(SizedGraphs, refuse_sizes_out_of_range) {
  SizedGraphs sizes(rows(), {}, {});
  EXPECT_EQ(message([&] { value_or_throw(sizes.made({{"n", 65}})); }),
            "symint n is 65, expected a value in [2, 64]");
}

TEST(CheckInput, compares_dtype_sizes_and_strides) {
  const Graph g = value_or_throw(specialize(rows(), {{"n", 3}}));
  EXPECT_TRUE(check_input(g, 1, HostTensor(DType::f32, {3, 40})).ok());
  EXPECT_EQ(message([&] { value_or_throw(check_input(g, 1, HostTensor(DType::f64, {3, 40}))); }),
            "input 1 `x`: got f64[3,40], expected f32[3,40]");
  EXPECT_EQ(
      message([&] { value_or_throw(check_input(g, 1, HostTensor(DType::f32, {3, 40}, {1, 3}))); }),
      "input 1 `x`: got f32[3,40]{1,3}, expected f32[3,40]");
}

}  // namespace
}  // namespace cleave
