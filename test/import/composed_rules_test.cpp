// What composite operators compute, on the oracle: a node and its value.
// tests: bag_rules.cpp distance_rules.cpp margin_rules.cpp matrix_rules.cpp
// tests: order_rules.cpp resize_rules.cpp sampling_rules.cpp scan_rules.cpp search_rules.cpp
// tests: special_rules.cpp table_rules.cpp tensor_product_rules.cpp
#include <cmath>

#include "test/import/reading.h"

namespace cleave::exported {
namespace {

struct Given {
  std::string argument;
  std::vector<int64_t> sizes;
  Numbers values;
  DType t = DType::f32;
};

struct Wanted {
  std::vector<int64_t> sizes;
  DType t = DType::f32;
};

Array array_of(const Given& given) {
  Array a(given.t, given.sizes);
  for (size_t k = 0; k < given.values.size(); ++k) a.set(static_cast<int64_t>(k), given.values[k]);
  return a;
}

// The results of one node, in order; a message where it can't be read.
Result<std::vector<Numbers>> results_of(const std::string& op, const std::vector<Given>& tensors,
                                        std::vector<NamedArgument> more,
                                        const std::vector<Wanted>& wanted) {
  Reading r;
  std::map<std::string, Array> inputs;
  for (const Given& given : tensors) {
    r.input(given.argument, given.sizes, given.t);
    more.push_back({given.argument, tensor(given.argument)});
    inputs.emplace(given.argument, array_of(given));
  }
  Node node{"torch.ops.aten." + op, std::move(more), {}, {}, 0};
  for (size_t k = 0; k < wanted.size(); ++k) {
    const std::string name = fmt::format("y{}", k);
    r.source.tensors[name] = meta_of(wanted[k].sizes, wanted[k].t);
    node.outputs.push_back(tensor(name));
  }
  r.source.nodes.push_back(std::move(node));
  CLEAVE_CHECK(r.reader.read(r.source));
  for (size_t k = 0; k < wanted.size(); ++k) {
    CLEAVE_TRY(const ValueId v, r.reader.value(fmt::format("y{}", k)));
    r.graph.add_return({v});
  }
  for (const Placeholder& p : r.graph.placeholders())
    if (p.role == Role::rng_state)
      inputs.emplace(r.graph.name(p.value), array_of({"", {2}, {7, 0}, DType::i64}));
  CLEAVE_TRY(const Arrays arrays, interpret(r.graph, inputs));
  std::vector<Numbers> out(arrays.size());
  for (size_t k = 0; k < arrays.size(); ++k)
    for (int64_t i = 0; i < arrays[k].numel(); ++i) out[k].push_back(arrays[k].number(i));
  return out;
}

Numbers value_of(const std::string& op, const std::vector<Given>& tensors,
                 std::vector<NamedArgument> more, const Wanted& wanted) {
  const auto all = results_of(op, tensors, std::move(more), {wanted});
  EXPECT_TRUE(all.ok()) << all.failure().message;
  return all.ok() ? (*all)[0] : Numbers();
}

#define EXPECT_VALUES(got, ...)                   \
  do {                                            \
    SCOPED_TRACE(#got);                           \
    expect_near(got, Numbers{__VA_ARGS__}, 1e-6); \
  } while (false)

TEST(ComposedRules, DistancesOfRows) {
  const Given a{"x1", {2, 2}, {0, 0, 3, 4}}, b{"x2", {1, 2}, {0, 0}};
  EXPECT_VALUES(value_of("_cdist_forward.default", {a, b}, {{"p", real(2)}}, {{2, 1}}), 0, 5);
  const Given x{"self", {3, 1}, {0, 1, 4}};
  EXPECT_VALUES(value_of("_pdist_forward.default", {x}, {{"p", real(1)}}, {{3}}), 1, 4, 3);
  const Given c{"x1", {1, 2, 1}, {1, 0}}, d{"x2", {2, 1, 1}, {1, 2}};
  EXPECT_VALUES(value_of("cosine_similarity.default", {c, d}, {{"dim", number(-1)}}, {{2, 2}}), 1,
                0, 1, 0);
}

TEST(ComposedRules, MediansAndQuantiles) {
  const Given x{"self", {2, 4}, {4, 1, 3, 2, 1, nan, 5, 0}};
  const auto both = results_of("median.dim", {x}, {{"dim", number(1)}}, {{{2}}, {{2}, DType::i64}});
  ASSERT_TRUE(both.ok()) << both.failure().message;
  EXPECT_EQ((*both)[0][0], 2);
  EXPECT_TRUE(std::isnan((*both)[0][1]));
  EXPECT_VALUES((*both)[1], 3, 1);
  EXPECT_VALUES(value_of("nanmedian.default", {x}, {}, {{}}), 2);
  const Given y{"self", {4}, {4, 1, 3, 2}};
  const Given q{"q", {2}, {0, 0.5}};
  EXPECT_VALUES(value_of("quantile.default", {y, q}, {}, {{2}}), 1, 2.5);
  EXPECT_VALUES(value_of("quantile.default", {y, q},
                         {{"interpolation", of_kind(Kind::text, "higher")}}, {{2}}),
                1, 3);
}

TEST(ComposedRules, RunningExtremesTakeTheLastOfEqualOnes) {
  const Given x{"self", {5}, {1, 3, 3, 2, 4}};
  const auto both =
      results_of("cummax.default", {x}, {{"dim", number(0)}}, {{{5}}, {{5}, DType::i64}});
  ASSERT_TRUE(both.ok()) << both.failure().message;
  EXPECT_VALUES((*both)[0], 1, 3, 3, 3, 4);
  EXPECT_VALUES((*both)[1], 0, 1, 2, 2, 4);
  const Given y{"self", {3}, {-inf, 0, 0}};
  const Numbers sums = value_of("logcumsumexp.default", {y}, {{"dim", number(0)}}, {{3}});
  EXPECT_EQ(sums[0], -inf);
  EXPECT_NEAR(sums[2], std::log(2.0), 1e-6);
}

TEST(ComposedRules, PlacesAmongOthers) {
  const Given x{"self", {3}, {1, 2, 9}}, bounds{"boundaries", {3}, {1, 2, 3}};
  EXPECT_VALUES(value_of("bucketize.Tensor", {x, bounds}, {}, {{3}, DType::i64}), 0, 1, 3);
  EXPECT_VALUES(
      value_of("bucketize.Tensor", {x, bounds}, {{"right", flag(true)}}, {{3}, DType::i64}), 1, 2,
      3);
  EXPECT_VALUES(value_of("histc.default", {{"self", {4}, {0, 0.5, 1, 3}}},
                         {{"bins", number(2)}, {"min", real(0)}, {"max", real(1)}}, {{2}}),
                1, 2);
  EXPECT_VALUES(value_of("take_along_dim.default",
                         {{"self", {3}, {5, 6, 7}}, {"indices", {2}, {-1, 0}, DType::i64}},
                         {{"dim", number(0)}}, {{2}}),
                7, 5);
}

TEST(ComposedRules, ImagesAreReadBetweenTheirElements) {
  const Given image{"input", {1, 1, 2, 2}, {0, 1, 2, 3}};
  const Given grid{"grid", {1, 1, 3, 2}, {0, 0, -1, -1, 3, 3}};
  const std::vector<NamedArgument> how{{"interpolation_mode", number(0)},
                                       {"align_corners", flag(true)}};
  auto zeros = how, border = how;
  zeros.push_back({"padding_mode", number(0)});
  border.push_back({"padding_mode", number(1)});
  EXPECT_VALUES(value_of("grid_sampler_2d.default", {image, grid}, zeros, {{1, 1, 1, 3}}), 1.5, 0,
                0);
  EXPECT_VALUES(value_of("grid_sampler_2d.default", {image, grid}, border, {{1, 1, 1, 3}}), 1.5, 0,
                3);
}

TEST(ComposedRules, ResizingKeepsALineWithinIt) {
  const Given line{"self", {1, 1, 4}, {0, 1, 2, 3}};
  EXPECT_VALUES(
      value_of("upsample_linear1d.default", {line},
               {{"output_size", numbers({7})}, {"align_corners", flag(true)}}, {{1, 1, 7}}),
      0, 0.5, 1, 1.5, 2, 2.5, 3);
  EXPECT_VALUES(value_of("_upsample_nearest_exact1d.default", {line},
                         {{"output_size", numbers({2})}}, {{1, 1, 2}}),
                1, 3);
  // halved, the filter covers four elements: 1/8, 3/8, 3/8, 1/8
  const Given image{"self", {1, 1, 1, 4}, {0, 0, 8, 0}};
  EXPECT_VALUES(
      value_of("_upsample_bilinear2d_aa.default", {image},
               {{"output_size", numbers({1, 2})}, {"align_corners", flag(false)}}, {{1, 1, 1, 2}}),
      8.0 / 7, 24.0 / 7);
}

TEST(ComposedRules, BagsOfRows) {
  const Given weight{"weight", {3, 1}, {1, 2, 4}}, offsets{"offsets", {2}, {0, 3}, DType::i64};
  const Given indices{"indices", {4}, {0, 2, 1, 2}, DType::i64};
  const std::vector<NamedArgument> mean{{"mode", number(1)}}, most{{"mode", number(2)}};
  EXPECT_VALUES(value_of("_embedding_bag.default", {weight, indices, offsets}, mean, {{2, 1}}),
                7.0 / 3, 4);
  EXPECT_VALUES(value_of("embedding_bag.padding_idx", {weight, indices, offsets},
                         {{"mode", number(0)}, {"padding_idx", number(-1)}}, {{2, 1}}),
                3, 0);
  EXPECT_VALUES(value_of("_embedding_bag.default", {weight, indices, offsets}, most, {{2, 1}}), 4,
                4);
  const auto all =
      results_of("_embedding_bag.default", {weight, indices, offsets}, most,
                 {{{2, 1}}, {{4}, DType::i64}, {{2}, DType::i64}, {{2, 1}, DType::i64}});
  ASSERT_TRUE(all.ok()) << all.failure().message;
  EXPECT_VALUES((*all)[1], 0, 0, 0, 1);
  EXPECT_VALUES((*all)[2], 3, 1);
  EXPECT_VALUES((*all)[3], 2, 2);
}

TEST(ComposedRules, LossesOfMargins) {
  const Given x{"self", {2}, {0.5, 0.25}}, t{"target", {2}, {1, -1}};
  EXPECT_VALUES(value_of("hinge_embedding_loss.default", {x, t}, {{"reduction", number(2)}}, {{}}),
                1.25);
  const Given scores{"self", {1, 3}, {1, 2, 0.5}}, own{"target", {1}, {0}, DType::i64};
  EXPECT_VALUES(value_of("multi_margin_loss.default", {scores, own}, {}, {{}}), 2.5 / 3);
}

TEST(ComposedRules, StructureOfMatrices) {
  const Given v{"self", {2}, {1, 2}}, m{"self", {2, 2}, {1, 2, 3, 4}};
  EXPECT_VALUES(value_of("diag_embed.default", {v}, {{"offset", number(-1)}}, {{3, 3}}), 0, 0, 0, 1,
                0, 0, 0, 2, 0);
  EXPECT_VALUES(value_of("rot90.default", {m}, {}, {{2, 2}}), 2, 4, 1, 3);
  EXPECT_VALUES(value_of("kron.default", {v, {"other", {2}, {1, 10}}}, {}, {{4}}), 1, 10, 2, 20);
  EXPECT_VALUES(value_of("linalg_matrix_power.default", {m}, {{"n", number(3)}}, {{2, 2}}), 37, 54,
                81, 118);
  EXPECT_VALUES(value_of("linalg_matrix_power.default", {{"self", {2, 2}, {0, 2, 4, 1}}},
                         {{"n", number(-2)}}, {{2, 2}}),
                0.140625, -0.03125, -0.0625, 0.125);
  EXPECT_VALUES(value_of("linalg_matrix_norm.default", {{"A", {2, 2}, {1, -2, 3, 4}}},
                         {{"ord", real(inf)}}, {{}}),
                7);
}

TEST(ComposedRules, PlacesOfTrianglesAndPairs) {
  const std::vector<NamedArgument> size{{"row", number(2)}, {"col", number(3)}};
  EXPECT_VALUES(value_of("tril_indices.default", {}, size, {{2, 3}, DType::i64}), 0, 1, 1, 0, 0, 1);
  auto above = size;
  above.push_back({"offset", number(1)});
  EXPECT_VALUES(value_of("triu_indices.default", {}, above, {{2, 3}, DType::i64}), 0, 0, 1, 1, 2,
                2);
  const Given x{"self", {3}, {5, 6, 7}};
  EXPECT_VALUES(value_of("combinations.default", {x}, {}, {{3, 2}}), 5, 6, 5, 7, 6, 7);
  const Given table{"self", {2, 3}, {0, 1, 2, 0, 2, 4}};
  EXPECT_VALUES(value_of("cov.default", {table}, {}, {{2, 2}}), 1, 2, 2, 4);
  EXPECT_VALUES(value_of("corrcoef.default", {table}, {}, {{2, 2}}), 1, 1, 1, 1);
}

TEST(ComposedRules, FunctionsOfStatistics) {
  const Given x{"self", {3}, {0.5, 6, -1.5}, DType::f64};
  const Numbers y = value_of("lgamma.default", {x}, {}, {{3}, DType::f64});
  for (size_t k = 0; k < 3; ++k) EXPECT_NEAR(y[k], std::lgamma(x.values[k]), 1e-12);
  EXPECT_VALUES(
      value_of("digamma.default", {{"self", {2}, {1, 2}, DType::f64}}, {}, {{2}, DType::f64}),
      -0.5772156649015329, 0.4227843350984671);
  EXPECT_VALUES(
      value_of("erfinv.default", {{"self", {2}, {std::erf(0.3), -std::erf(2.5)}, DType::f64}}, {},
               {{2}, DType::f64}),
      0.3, -2.5);
  const Numbers same =
      value_of("logaddexp.default", {{"self", {1}, {-inf}}, {"other", {1}, {-inf}}}, {}, {{1}});
  EXPECT_EQ(same[0], -inf);
}

TEST(ComposedRules, FunctionsOfCalculus) {
  const Given x{"self", {3}, {0, 0.5, 1}};
  EXPECT_VALUES(value_of("sinc.default", {x}, {}, {{3}}), 1, 2 / M_PI, 0);
  EXPECT_VALUES(value_of("special_entr.default", {x}, {}, {{3}}), 0, 0.5 * std::log(2.0), 0);
  EXPECT_VALUES(
      value_of("heaviside.default", {{"self", {3}, {-1, 0, 2}}, {"values", {}, {0.25}}}, {}, {{3}}),
      0, 0.25, 1);
  EXPECT_VALUES(value_of("nanmean.default", {{"self", {3}, {1, nan, 3}}}, {}, {{}}), 2);
  const Given y{"other", {3}, {0, 0.5000001, 1.1}};
  EXPECT_VALUES(value_of("isclose.default", {x, y}, {}, {{3}, DType::boolean}), 1, 1, 0);
}

TEST(ComposedRules, DrawsFallWhereTheyMay) {
  const Given weights{"self", {3}, {0, 2, 1}};
  const Numbers two =
      value_of("multinomial.default", {weights}, {{"num_samples", number(2)}}, {{2}, DType::i64});
  ASSERT_EQ(two.size(), 2u);
  EXPECT_EQ(two[0] + two[1], 3);  // each once, and never the one without weight
  for (const double k :
       value_of("multinomial.default", {weights},
                {{"num_samples", number(5)}, {"replacement", flag(true)}}, {{5}, DType::i64}))
    EXPECT_TRUE(k == 1 || k == 2) << k;
  const Given many{"self", {1000}, Numbers(1000)};
  double sum = 0;
  for (const double x : value_of("exponential.default", {many}, {{"lambd", real(4)}}, {{1000}}))
    sum += x / 1000;
  EXPECT_NEAR(sum, 0.25, 0.03);
  EXPECT_VALUES(value_of("alpha_dropout.default", {{"input", {2}, {1, 2}}},
                         {{"p", real(0.5)}, {"train", flag(false)}}, {{2}}),
                1, 2);
}

TEST(ComposedRules, ASquareMeshgridByColumns) {
  Reading r;
  r.input("a", {2});
  r.input("b", {2});
  r.source.tensors["x"] = r.source.tensors["y"] = meta_of({2, 2});
  r.source.nodes.push_back(
      {"torch.ops.aten.meshgrid.indexing",
       {{"tensors", list({tensor("a"), tensor("b")})}, {"indexing", of_kind(Kind::text, "xy")}},
       {list({tensor("x"), tensor("y")})},
       {},
       0});
  ASSERT_TRUE(r.reader.read(r.source).ok());
  r.graph.add_return({value_or_bug(r.reader.value("x"))});
  const std::map<std::string, Array> inputs{{"a", array_of({"a", {2}, {1, 2}})},
                                            {"b", array_of({"b", {2}, {3, 4}})}};
  const Arrays got = value_or_bug(interpret(r.graph, inputs));
  EXPECT_VALUES(got[0].f, 1, 2, 1, 2);
}

TEST(ComposedRules, LinesOfMinusInfinityAloneAreZero) {
  EXPECT_VALUES(value_of("_safe_softmax.default", {{"self", {2, 2}, {-inf, -inf, 0, 0}}},
                         {{"dim", number(1)}}, {{2, 2}}),
                0, 0, 0.5, 0.5);
}

TEST(ComposedRules, CompositionsOfNarrowFloatsAreRoundedOnce) {
  // 8.5 - 11.75 * 0.4 is 3.8; rounded at each step it is 3.8125
  const Given x{"self", {1}, {8.5}, DType::bf16}, end{"end", {1}, {-3.25}, DType::bf16};
  EXPECT_VALUES(value_of("lerp.Scalar", {x, end}, {{"weight", real(0.4)}}, {{1}, DType::bf16}),
                3.796875);
}

TEST(ComposedRules, ACopyOfAViewIsMemoryOfItsOwn) {
  Reading r;
  r.input("x", {2, 3});
  r.node("t", {3, 2}, "transpose_copy.int",
         {{"self", tensor("x")}, {"dim0", number(0)}, {"dim1", number(1)}});
  r.node("u", {3, 2}, "add_.Tensor", {{"self", tensor("t")}, {"other", number(1)}});
  EXPECT_EQ(r.text("x"), R"(  %t = transpose(%x; dim0=0, dim1=1) : f32[3,2]
  %u = add(%t; other=1) : f32[3,2]
  return %x
}
)");
}

TEST(ComposedRules, DotsOfEinsumAreBroadcast) {
  Reading r;
  r.input("a", {2, 1, 2});
  r.input("b", {3, 2});
  r.node("y", {2, 3}, "einsum.default",
         {{"equation", of_kind(Kind::text, "...i,...i->...")},
          {"tensors", list({tensor("a"), tensor("b")})}});
  const Answer got = answer(r, "y", {{"a", {1, 2, 3, 4}}, {"b", {1, 0, 0, 1, 1, 1}}});
  EXPECT_EQ(got.failure, "");
  EXPECT_VALUES(got.value, 1, 2, 3, 3, 4, 7);
}

TEST(ComposedRules, EinsumNamesDotsAndLeavesTheArrowOut) {
  const Given a{"a", {2, 1, 2}, {1, 2, 3, 4}}, b{"b", {2}, {1, 1}};
  const auto product = [&](const char* equation) {
    Reading r;
    r.input("a", a.sizes);
    r.input("b", b.sizes);
    r.node("y", {2, 1}, "einsum.default",
           {{"equation", of_kind(Kind::text, equation)},
            {"tensors", list({tensor("a"), tensor("b")})}});
    EXPECT_TRUE(r.reader.read(r.source).ok());
    r.graph.add_return({value_or_bug(r.reader.value("y"))});
    return value_or_bug(interpret(r.graph, {{"a", array_of(a)}, {"b", array_of(b)}}))[0].f;
  };
  EXPECT_VALUES(product("...i,i->..."), 3, 7);
  EXPECT_VALUES(product("jki,i"), 3, 7);
}

// A number of a call is as wide as its tensors: 0.3 in f32 is 1e-8 off.
TEST(ComposedRules, NumbersAreOfTheTensorsDtype) {
  const std::vector<std::pair<std::string, std::vector<NamedArgument>>> calls = {
      {"quantile.scalar", {{"self", tensor("x")}, {"q", real(0.3)}, {"dim", number(0)}}},
      {"nanquantile.scalar", {{"self", tensor("x")}, {"q", real(0.3)}, {"dim", number(0)}}},
      {"special_xlog1py.other_scalar", {{"self", tensor("x")}, {"other", real(0.3)}}},
      {"special_xlog1py.self_scalar", {{"self", real(0.3)}, {"other", tensor("x")}}}};
  for (const auto& [op, inputs] : calls) {
    Reading r;
    r.input("x", {5}, DType::f64);
    const bool is_sum = op.find("quantile") != op.npos;
    r.node("y", is_sum ? std::vector<int64_t>{} : std::vector<int64_t>{5}, op, inputs, DType::f64);
    const std::string text = r.text("y");
    EXPECT_NE(text.find("0.3"), text.npos) << text;
    EXPECT_EQ(text.find("f32"), text.npos) << text;
  }
}

}  // namespace
}  // namespace cleave::exported
