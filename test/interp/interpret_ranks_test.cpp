// The oracle on several ranks: each collective against hand-computed values, groups, errors,
// gradients against differences.
#include "interp/interpret_ranks.h"

#include <gtest/gtest.h>

#include <numeric>

#include "grad/grad.h"
#include "interp/interpret.h"
#include "test/random_inputs.h"

namespace cleave {
namespace {

using test::core;
using test::floats;
using test::ints;
using test::parsed;

using Inputs = std::vector<std::map<std::string, Array>>;
using Numbers = std::vector<std::vector<double>>;

// %x of each rank, as f64 of one shape.
Inputs inputs_of(const std::vector<int64_t>& shape, const Numbers& of_ranks) {
  Inputs out;
  for (const std::vector<double>& values : of_ranks)
    out.push_back({{"x", floats(DType::f64, shape, values)}});
  return out;
}

// Result 0 of each rank.
Numbers run(const std::string& text, const Inputs& inputs, const RankGroups& groups = {}) {
  Numbers out;
  for (const Arrays& results : value_or_throw(interpret_ranks(parsed(text), inputs, groups)))
    out.push_back(results[0].f);
  return out;
}

std::string error(const std::string& text, const Inputs& inputs, const RankGroups& groups = {}) {
  const auto r = interpret_ranks(parsed(text), inputs, groups);
  return r.ok() ? "no error" : r.failure().message;
}

std::string graph(const std::string& type, const std::string& call) {
  return "graph @main(%x: input " + type + ") {\n  %c = " + call +
         "\n  %y = wait_tensor(%c)\n  return %y\n}\n";
}
std::string reduced(const std::string& how) {
  return graph("f64[2]", "all_reduce(%x; reduce_op=\"" + how + "\", group_name=\"dp\")");
}

TEST(Ranks, all_reduce) {
  const Numbers four = {{1, 2}, {3, -4}, {5, 6}, {-1, 2}};
  const auto on_all = [&](std::vector<double> y) { return Numbers(4, std::move(y)); };
  EXPECT_EQ(run(reduced("sum"), inputs_of({2}, four)), on_all({8, 6}));
  EXPECT_EQ(run(reduced("avg"), inputs_of({2}, four)), on_all({2, 1.5}));
  EXPECT_EQ(run(reduced("product"), inputs_of({2}, four)), on_all({-15, -96}));
  EXPECT_EQ(run(reduced("min"), inputs_of({2}, four)), on_all({-1, -4}));
  EXPECT_EQ(run(reduced("max"), inputs_of({2}, four)), on_all({5, 6}));
  EXPECT_EQ(run(reduced("sum"), inputs_of({2}, {{1, 2}, {3, 4}})), Numbers(2, {4, 6}));
  EXPECT_EQ(run(reduced("avg"), inputs_of({2}, {{1, 2}})), Numbers({{1, 2}}));
}

TEST(Ranks, all_reduce_of_nan_is_nan) {
  for (const char* how : {"sum", "min", "max"}) {
    const Numbers y = run(reduced(how), inputs_of({2}, {{1, std::nan("")}, {std::nan(""), 1}}));
    for (const std::vector<double>& of_rank : y)
      for (const double v : of_rank) EXPECT_TRUE(std::isnan(v)) << how;
  }
}

TEST(Ranks, all_reduce_of_integers_wraps_and_of_bool_is_or) {
  const auto sum = [](const std::string& type, const Array& a, const Array& b) {
    const Graph g = parsed(graph(type, "all_reduce(%x; reduce_op=\"sum\", group_name=\"\")"));
    const Inputs in = {{{"x", a}}, {{"x", b}}};
    return value_or_throw(interpret_ranks(g, in))[1][0].i;
  };
  EXPECT_EQ(sum("i8[2]", ints(DType::i8, {2}, {100, -3}), ints(DType::i8, {2}, {100, 1})),
            (std::vector<int64_t>{-56, -2}));
  EXPECT_EQ(
      sum("bool[3]", ints(DType::boolean, {3}, {1, 0, 1}), ints(DType::boolean, {3}, {1, 0, 0})),
      (std::vector<int64_t>{1, 0, 1}));
}

TEST(Ranks, all_reduce_coalesced) {
  const Graph g = parsed(
      "graph @main(%x: input f64[1], %z: input f64[2]) {\n"
      "  %a, %b = all_reduce_coalesced([%x, %z]; reduce_op=\"sum\", group_name=\"dp\")\n"
      "  %y = wait_tensor(%a)\n  %w = wait_tensor(%b)\n  return %y, %w\n}\n");
  const Inputs in = {
      {{"x", floats(DType::f64, {1}, {1})}, {"z", floats(DType::f64, {2}, {2, 3})}},
      {{"x", floats(DType::f64, {1}, {10})}, {"z", floats(DType::f64, {2}, {20, 30})}}};
  for (const Arrays& y : value_or_throw(interpret_ranks(g, in))) {
    EXPECT_EQ(y[0].f, (std::vector<double>{11}));
    EXPECT_EQ(y[1].f, (std::vector<double>{22, 33}));
  }
}

std::string gathered(int ranks) {
  return graph("f64[1,2]", fmt::format("all_gather_into_tensor(%x; group_size={}, "
                                       "group_name=\"tp\")",
                                       ranks));
}

TEST(Ranks, all_gather) {
  EXPECT_EQ(run(gathered(1), inputs_of({1, 2}, {{1, 2}})), Numbers({{1, 2}}));
  EXPECT_EQ(run(gathered(2), inputs_of({1, 2}, {{1, 2}, {3, 4}})), Numbers(2, {1, 2, 3, 4}));
  EXPECT_EQ(run(gathered(4), inputs_of({1, 2}, {{1, 2}, {3, 4}, {5, 6}, {7, 8}})),
            Numbers(4, {1, 2, 3, 4, 5, 6, 7, 8}));
}

std::string scattered(const std::string& how, int ranks) {
  return graph("f64[4]", fmt::format("reduce_scatter_tensor(%x; reduce_op=\"{}\", group_size={}, "
                                     "group_name=\"tp\")",
                                     how, ranks));
}

TEST(Ranks, reduce_scatter) {
  const Numbers two = {{1, 2, 3, 4}, {10, 20, 30, 40}};
  EXPECT_EQ(run(scattered("sum", 1), inputs_of({4}, {two[0]})), Numbers({{1, 2, 3, 4}}));
  EXPECT_EQ(run(scattered("sum", 2), inputs_of({4}, two)), Numbers({{11, 22}, {33, 44}}));
  EXPECT_EQ(run(scattered("avg", 2), inputs_of({4}, two)), Numbers({{5.5, 11}, {16.5, 22}}));
  EXPECT_EQ(run(scattered("max", 4), inputs_of({4}, {two[0], two[1], two[0], two[0]})),
            Numbers({{10}, {20}, {30}, {40}}));
}

// 2 x 2 columns and rows: A of rank r is [[r+1, 0]].
TEST(Ranks, fused_products) {
  const auto in = [](const Numbers& a, const std::vector<int64_t>& shape) {
    Inputs out = inputs_of(shape, a);
    for (auto& of_rank : out) of_rank["b"] = floats(DType::f64, {2, 2}, {1, 2, 3, 4});
    return out;
  };
  const std::string head = "graph @main(%x: input f64[";
  const std::string by_rows =
      head +
      "1,2], %b: input f64[2,2]) {\n"
      "  %w, %y = fused_all_gather_matmul(%x, [%b]; gather_dim=0, group_size=2, "
      "group_name=\"tp\")\n  return %y, %w\n}\n";
  EXPECT_EQ(run(by_rows, in({{1, 0}, {0, 1}}, {1, 2})), Numbers(2, {1, 2, 3, 4}));
  const std::string by_columns =
      head +
      "2,1], %b: input f64[2,2]) {\n"
      "  %w, %y = fused_all_gather_matmul(%x, [%b]; gather_dim=1, group_size=2, "
      "group_name=\"tp\", return_A=false) : none, f64[2,2]\n  return %y\n}\n";
  EXPECT_EQ(run(by_columns, in({{1, 0}, {0, 1}}, {2, 1})), Numbers(2, {1, 2, 3, 4}));
  const auto back = [&](int dim) {
    return head + "2,2], %b: input f64[2,2]) {\n" +
           fmt::format(
               "  %y = fused_matmul_reduce_scatter(%x, %b; reduce_op=\"sum\", "
               "scatter_dim={}, group_size=2, group_name=\"tp\")\n  return %y\n}}\n",
               dim);
  };
  const Numbers both = {{1, 0, 0, 1}, {1, 0, 0, 0}};  // products 1 2 3 4 and 1 2 0 0
  EXPECT_EQ(run(back(0), in(both, {2, 2})), Numbers({{2, 4}, {3, 4}}));
  EXPECT_EQ(run(back(1), in(both, {2, 2})), Numbers({{2, 3}, {4, 4}}));
}

TEST(Ranks, groups_are_apart) {
  const Inputs in = inputs_of({2}, {{1, 2}, {10, 20}, {100, 200}, {1000, 2000}});
  EXPECT_EQ(run(reduced("sum"), in, {{"dp", {{0, 2}, {1, 3}}}}),
            Numbers({{101, 202}, {1010, 2020}, {101, 202}, {1010, 2020}}));
  // The order of a group's list is the order of its parts.
  const Inputs two = inputs_of({1, 2}, {{1, 2}, {3, 4}});
  EXPECT_EQ(run(gathered(2), two, {{"tp", {{1, 0}}}}), Numbers(2, {3, 4, 1, 2}));
}

TEST(Ranks, two_groups_of_one_program) {
  const std::string text =
      "graph @main(%x: input f64[1]) {\n"
      "  %c = all_reduce(%x; reduce_op=\"sum\", group_name=\"rows\")\n  %a = wait_tensor(%c)\n"
      "  %d = all_reduce(%a; reduce_op=\"max\", group_name=\"columns\")\n  %b = wait_tensor(%d)\n"
      "  return %b\n}\n";
  const RankGroups groups = {{"rows", {{0, 1}, {2, 3}}}, {"columns", {{0, 2}, {1, 3}}}};
  EXPECT_EQ(run(text, inputs_of({1}, {{1}, {2}, {3}, {4}}), groups), Numbers(4, {7}));
}

TEST(Ranks, errors) {
  const Inputs two = inputs_of({2}, {{1, 2}, {3, 4}});
  EXPECT_EQ(error(reduced("sum"), two, {{"dp", {{0}, {0, 1}}}}),
            "interpret_ranks: group \"dp\" names rank 0 2 times, expected once");
  EXPECT_EQ(error(reduced("sum"), two, {{"dp", {{0}}}}),
            "interpret_ranks: group \"dp\" names rank 1 0 times, expected once");
  EXPECT_EQ(error(reduced("sum"), two, {{"dp", {{0, 1, 2}}}}),
            "interpret_ranks: group \"dp\" names rank 2, expected one of 2 ranks");
  EXPECT_EQ(error(reduced("sum"), {}), "interpret_ranks: expected at least one rank");
  EXPECT_TRUE(
      error(gathered(2), inputs_of({1, 2}, {{1, 2}, {1, 2}, {1, 2}}))
          .starts_with("all_gather_into_tensor: C9: group_size is 2, but group \"tp\" has 3 "
                       "here; interpret_ranks runs several\n  %c = all_gather"));
  EXPECT_EQ(error(reduced("sum"), {two[0], {}}), "rank 1: %x: no input is given for it");
}

TEST(Ranks, shapes_that_differ_are_named_with_their_ranks) {
  const std::string text =
      "graph @main(%n: symint range(1,8), %x: input f64[n]) {\n"
      "  %c = all_reduce(%x; reduce_op=\"sum\", group_name=\"dp\")\n"
      "  %y = wait_tensor(%c)\n  return %y\n}\n";
  const Inputs in = {{{"x", floats(DType::f64, {1}, {1})}},
                     {{"x", floats(DType::f64, {1}, {2})}},
                     {{"x", floats(DType::f64, {2}, {3, 4})}}};
  EXPECT_TRUE(error(text, in).starts_with(
      "all_reduce: operand 0 is f64[1] on rank 0 and f64[2] on rank 2, expected one type in a "
      "group"))
      << error(text, in);
  // Ranks of other groups may have other sizes.
  EXPECT_EQ(run(text, in, {{"dp", {{0, 1}, {2}}}}), Numbers({{3}, {3}, {3, 4}}));
}

TEST(Ranks, a_rank_alone_is_a_group_of_one) {
  const std::map<std::string, Array> x = inputs_of({2}, {{1, 2}})[0];
  EXPECT_EQ(value_or_throw(interpret(parsed(reduced("avg")), x))[0].f, (std::vector<double>{1, 2}));
  const auto r = interpret(parsed(gathered(2)), inputs_of({1, 2}, {{1, 2}})[0]);
  ASSERT_FALSE(r.ok());
  EXPECT_NE(r.failure().message.find("interpret_ranks runs several"), std::string::npos);
}

TEST(Ranks, collectives_in_subgraphs_are_refused) {
  const std::string text =
      "graph @meet(%a: input f64[2]) {\n"
      "  %c = all_reduce(%a; reduce_op=\"sum\", group_name=\"dp\")\n"
      "  %y = wait_tensor(%c)\n  return %y\n}\n"
      "graph @stay(%a: input f64[2]) {\n  %y = neg(%a)\n  return %y\n}\n"
      "graph @main(%x: input f64[2]) {\n  %s = sum(%x)\n  %p = gt(%s; other=0.0)\n"
      "  %y = cond(%p, [%x]; then=@meet, otherwise=@stay)\n  return %y\n}\n";
  EXPECT_TRUE(error(text, inputs_of({2}, {{1, 2}, {3, 4}}))
                  .starts_with("cond: a collective within a subgraph is not covered"))
      << error(text, inputs_of({2}, {{1, 2}, {3, 4}}));
}

// The derivative of the sum over ranks of sum(w * y * y), by differences and by the rules. w is an
// input of each rank, so that each rank has another loss.
void expect_gradient(const std::string& type, const std::string& y_type, const std::string& call) {
  SCOPED_TRACE(call);
  Graph g =
      parsed("graph @main(%x: input " + type + ", %w: input " + y_type + ") {\n  %s = sin(%x)" +
             "\n  %c = " + call + "\n  %y = wait_tensor(%c)\n  %z = mul(%y, %y)\n" +
             "  %p = mul(%z, %w)\n  %l = sum(%p)\n  return %l\n}\n");
  Inputs in(2, test::random_inputs(g));
  for (double& v : in[1]["x"].f) v = 0.5 - v * v;
  for (double& v : in[1]["w"].f) v = 1.25 * v + 0.5;
  const auto loss = [&] {
    double sum = 0;
    for (const Arrays& y : value_or_throw(interpret_ranks(g, in))) sum += y[0].f[0];
    return sum;
  };
  Graph with = g;
  Builder b(with, core());
  const ValueId one = b.full({}, 1.0, DType::f64);
  const Values grads = value_or_throw(add_gradients(
      with, core(),
      {.outputs = {with.returns()[0].value}, .cotangents = {one}, .wrt = {with.find("x")}}));
  with.set_returns({{grads[0], ReturnKind::result, {}}});
  const std::vector<Arrays> got = value_or_throw(interpret_ranks(with, in));
  for (size_t rank = 0; rank < 2; ++rank)
    for (int64_t k = 0; k < in[rank]["x"].numel(); ++k) {
      double& x = in[rank]["x"].f[k];
      const double at = x, h = 1e-4;
      x = at + h;
      const double above = loss();
      x = at - h;
      const double below = loss();
      x = at;
      EXPECT_NEAR(got[rank][0].f[k], (above - below) / (2 * h), 1e-6) << rank << " " << k;
    }
}

TEST(Ranks, gradients_are_those_of_the_sum_of_all_losses) {
  for (const char* how : {"sum", "avg"}) {
    const std::string op = fmt::format("reduce_op=\"{}\", group", how);
    expect_gradient("f64[3]", "f64[3]", "all_reduce(%s; " + op + "_name=\"dp\")");
    expect_gradient("f64[4,2]", "f64[2,2]",
                    "reduce_scatter_tensor(%s; " + op + "_size=2, group_name=\"dp\")");
  }
  expect_gradient("f64[2,3]", "f64[4,3]",
                  "all_gather_into_tensor(%s; group_size=2, group_name=\"dp\")");
}

TEST(Ranks, gradients_of_product_min_and_max_are_refused) {
  Graph g = parsed(reduced("max"));
  Builder b(g, core());
  const ValueId one = b.full({Dim(2)}, 1.0, DType::f64);
  const auto r = add_gradients(
      g, core(), {.outputs = {g.returns()[0].value}, .cotangents = {one}, .wrt = {g.find("x")}});
  ASSERT_FALSE(r.ok());
  EXPECT_EQ(r.failure().kind, ErrorKind::unsupported);
  EXPECT_NE(
      r.failure().message.find("all_reduce: the gradient of reduce_op \"max\" is not covered"),
      std::string::npos)
      << r.failure().message;
}

// A network of two layers, its loss summed over its rows, and the gradients of its weights, reduced
// over ranks where `reduce` says so.
std::string network(int64_t rows, bool reduce) {
  std::string text = fmt::format(
      "graph @main(%x: input f64[{0},3], %t: input f64[{0},2], %v: param f64[3,4], "
      "%w: param f64[4,2]) {{\n"
      "  %a = mm(%x, %v)\n  %h = tanh(%a)\n  %y = mm(%h, %w)\n  %e = sub(%y, %t)\n"
      "  %ht = permute(%h; dims=[1,0])\n  %dw = mm(%ht, %e)\n"
      "  %wt = permute(%w; dims=[1,0])\n  %dh = mm(%e, %wt)\n  %hh = mul(%h, %h)\n"
      "  %n = neg(%hh)\n  %s = add(%n; other=1.0)\n  %da = mul(%dh, %s)\n"
      "  %xt = permute(%x; dims=[1,0])\n  %dv = mm(%xt, %da)\n",
      rows);
  if (!reduce) return text + "  return %dv, %dw\n}\n";
  for (const char* d : {"dw", "dv"})
    text += fmt::format(
        "  %c.{0} = all_reduce(%{0}; reduce_op=\"sum\", group_name=\"dp\")\n"
        "  %r.{0} = wait_tensor(%c.{0})\n",
        d);
  return text + "  return %r.dv, %r.dw\n}\n";
}

TEST(Ranks, data_parallel_gradients_are_those_of_the_whole_batch) {
  constexpr int64_t ranks = 4, rows = 3;
  const Graph whole = parsed(network(ranks * rows, false)), shard = parsed(network(rows, true));
  const std::map<std::string, Array> all = test::random_inputs(whole);
  const Arrays want = value_or_throw(interpret(whole, all));
  Inputs in(ranks, all);
  for (int64_t r = 0; r < ranks; ++r)
    for (const char* name : {"x", "t"}) {
      const Array& from = all.at(name);
      const int64_t size = rows * from.shape[1];
      in[static_cast<size_t>(r)][name] =
          floats(DType::f64, {rows, from.shape[1]},
                 {from.f.begin() + r * size, from.f.begin() + (r + 1) * size});
    }
  for (const Arrays& got : value_or_throw(interpret_ranks(shard, in)))
    for (size_t k = 0; k < want.size(); ++k) EXPECT_EQ(test::mismatch(got[k], want[k], 1e-12), "");
}

}  // namespace
}  // namespace cleave
