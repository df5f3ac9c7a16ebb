// Nodes of a program as calls: writes in place, views, composite operators, regions.
// tests: activation_rules.cpp autocast.cpp call.cpp check_reader.cpp constructor_rules.cpp
// tests: control_reader.cpp
// tests: einsum_rules.cpp index_rules.cpp layer_rules.cpp loss_rules.cpp memory.cpp plain_name.cpp
// tests: pointwise_rules.cpp pool_rules.cpp product_rules.cpp random_rules.cpp recurrent_rules.cpp
// tests: reduction_rules.cpp rules.cpp shape_rules.cpp views.cpp
#include "test/import/reading.h"

namespace cleave::exported {
namespace {

TEST(GraphReader, AWriteThroughAViewWritesItsMemory) {
  Reading r;
  r.input("x", {3, 4});
  r.node("row", {4}, "select.int",
         {{"self", tensor("x")}, {"dim", number(0)}, {"index", number(1)}});
  r.node("add_", {4}, "add_.Tensor", {{"self", tensor("row")}, {"other", number(1)}});
  r.node("y", {3, 4}, "exp.default", {{"self", tensor("x")}});
  EXPECT_EQ(r.text("y"), R"(  %row = select(%x; dim=0, index=1) : f32[4]
  %add_ = add(%row; other=1) : f32[4]
  %add_.select_scatter = select_scatter(%x, %add_; dim=0, index=1) : f32[3,4]
  %y = exp(%add_.select_scatter) : f32[3,4]
  return %y, %add_.select_scatter -> %x
}
)");
}

TEST(GraphReader, AViewIsMadeAgainFromWhatWasWritten) {
  Reading r;
  r.input("x", {2, 3});
  r.node("t", {3, 2}, "t.default", {{"self", tensor("x")}});
  r.source.tensors["t"].strides = {{1, {}, {}}, {3, {}, {}}};
  r.node("mul_", {2, 3}, "mul_.Tensor", {{"self", tensor("x")}, {"other", number(2)}});
  r.node("y", {3, 2}, "exp.default", {{"self", tensor("t")}});
  EXPECT_EQ(r.text("y"), R"(  %t = t(%x) : f32[3,2]
  %mul_ = mul(%x; other=2) : f32[2,3]
  %y.t = t(%mul_) : f32[3,2]
  %y = exp(%y.t) : f32[3,2]
  return %y, %mul_ -> %x
}
)");
}

TEST(GraphReader, WhatMayBeACopyIsNotReadBehindAWrite) {
  for (const bool row_major : {true, false}) {
    Reading r;
    r.input("x", {2, 3});
    if (!row_major) r.source.tensors["x"].strides = {{{}, "s0", 1}, {{}, "s1", 2}};
    r.node("flat", {6}, "reshape.default", {{"self", tensor("x")}, {"shape", numbers({-1})}});
    r.node("zero_", {2, 3}, "zero_.default", {{"self", tensor("x")}});
    r.node("y", {6}, "exp.default", {{"self", tensor("flat")}});
    const std::string text = r.text("y");
    if (row_major)
      EXPECT_NE(text.find("%y.view = view(%zero_; size=[6])"), text.npos) << text;
    else
      EXPECT_EQ(text,
                "\"y\" = aten.exp.default: a tensor is read that may be a copy or a view of one "
                "that was written; use clone() or view() in the model");
  }
}

TEST(GraphReader, AWriteThroughAnExpandedViewIsRefused) {
  Reading r;
  r.input("x", {1, 3});
  r.node("wide", {2, 3}, "expand.default", {{"self", tensor("x")}, {"size", numbers({2, 3})}});
  r.node("add_", {2, 3}, "add_.Tensor", {{"self", tensor("wide")}, {"other", number(1)}});
  EXPECT_EQ(r.text("add_"), "\"add_\" = aten.add_.Tensor: a write through a view by expand");
}

TEST(GraphReader, TheNextResultWaitsForChecks) {
  Reading r;
  r.input("x", {3});
  r.node("ge", {3}, "ge.Scalar", {{"self", tensor("x")}, {"other", number(0)}}, DType::boolean);
  r.node("all_1", {}, "all.default", {{"self", tensor("ge")}}, DType::boolean);
  r.source.nodes.push_back({"torch.ops.aten._assert_async.msg",
                            {{"self", tensor("all_1")}, {"assert_msg", of_kind(Kind::text, "low")}},
                            {},
                            {},
                            0});
  r.node("y", {3}, "exp.default", {{"self", tensor("x")}});
  ASSERT_TRUE(r.reader.read(r.source).ok());
  r.graph.add_return({value_or_bug(r.reader.result(tensor("y")))});
  r.graph.add_return({value_or_bug(r.reader.result(tensor("all_1")))});
  const std::string all = print(r.graph);
  EXPECT_NE(all.find("%_functional_assert_async = _functional_assert_async(%all_1, %y; "
                     "assert_msg=\"low\") : f32[3]\n"
                     "  return %_functional_assert_async, %all_1"),
            all.npos)
      << all;
}

// Without a message; of sizes, which a file's ranges say.
TEST(GraphReader, ChecksOfSizesAreDropped) {
  for (const bool of_size : {false, true}) {
    Reading r;
    r.input("x", {});
    r.source.nodes.push_back(
        {of_size ? "torch.ops.aten._assert_scalar.default" : "torch.ops.aten._assert_async.default",
         {{"self", of_size ? of_kind(Kind::symbol, "u0") : tensor("x")}},
         {},
         {},
         0});
    ASSERT_TRUE(r.reader.read(r.source).ok());
    r.graph.add_return({value_or_bug(r.reader.result(tensor("x")))});
    const std::string all = print(r.graph);
    EXPECT_EQ(all.find("_functional_assert_async") == all.npos, of_size) << all;
  }
}

Node effect_of(const std::string& op, const std::string& function) {
  return {"torch.ops.higher_order.with_effects",
          {{"", tensor("token")},
           {"", of_kind(Kind::text, op)},
           {"", tensor("info")},
           {"", of_kind(Kind::text, function)}},
          {tensor("next"), of_kind(Kind::none)},
          {},
          0};
}

TEST(GraphReader, FactorsAreChecked) {
  const std::string op = "torch.ops.aten._linalg_check_errors.default";
  Reading r;
  r.input("info", {2}, DType::i32);
  r.source.nodes = {effect_of(op, "linalg.inv"), effect_of(op, "linalg.cholesky")};
  ASSERT_TRUE(uncovered(r.source, all_ops()).empty());
  ASSERT_TRUE(r.reader.read(r.source).ok());
  r.graph.add_return({value_or_bug(r.reader.result(tensor("info")))});
  const std::string all = print(r.graph);
  EXPECT_LT(all.find("linalg.inv: "), all.find("linalg.cholesky: ")) << all;
  EXPECT_NE(all.find("linalg.cholesky: "), all.npos) << all;

  for (const Node& other : {effect_of(op, "linalg.new"), effect_of("torch.ops.aten.print", "x")}) {
    r.source.nodes = {other};
    EXPECT_EQ(uncovered(r.source, all_ops()).count("higher_order.with_effects"), 1);
  }
}

TEST(GraphReader, WhatDropsNothingIsItsArgument) {
  Reading r;
  r.input("x", {3});
  r.node("d", {3}, "dropout_.default",
         {{"self", tensor("x")}, {"p", real(0.5)}, {"train", flag(false)}});
  EXPECT_EQ(r.text("d"), "  return %x\n}\n");
}

TEST(GraphReader, DropoutReadsTheStateOfRandomNumbers) {
  Reading r;
  r.input("x", {3});
  r.node("d", {3}, "dropout.default",
         {{"input", tensor("x")}, {"p", real(0.5)}, {"train", flag(true)}});
  EXPECT_EQ(r.text("d"),
            "  %d, %d.native_dropout = native_dropout(%x, %rng; p=0.5, train=true, stream=0) : "
            "f32[3], bool[3]\n  return %d\n}\n");
  EXPECT_TRUE(r.reader.rng().valid());
}

TEST(GraphReader, BatchNormWritesItsStatistics) {
  Reading r;
  r.input("x", {2, 3, 4});
  r.input("mean", {3});
  r.input("var", {3});
  r.node("y", {2, 3, 4}, "batch_norm.default",
         {{"input", tensor("x")},
          {"weight", Argument()},
          {"bias", Argument()},
          {"running_mean", tensor("mean")},
          {"running_var", tensor("var")},
          {"training", flag(true)},
          {"momentum", real(0.1)},
          {"eps", real(1e-5)}});
  const std::string text = r.text("y");
  EXPECT_NE(text.find("_native_batch_norm_legit_functional(%x, none, none, %mean, %var; "
                      "training=true, momentum=0.1, eps=1e-05)"),
            text.npos)
      << text;
  EXPECT_NE(text.find(" -> %mean, "), text.npos) << text;
  EXPECT_NE(text.find(" -> %var"), text.npos) << text;
}

TEST(GraphReader, CompositeOperatorsAreFewCalls) {
  Reading r;
  r.input("x", {2, 5, 4});
  r.input("w", {3, 4});
  r.input("b", {3});
  r.node("y", {2, 5, 3}, "linear.default",
         {{"input", tensor("x")}, {"weight", tensor("w")}, {"bias", tensor("b")}});
  EXPECT_EQ(r.text("y"), R"(  %y.permute = permute(%w; dims=[1,0]) : f32[4,3]
  %y.view = view(%x; size=[10,4]) : f32[10,4]
  %y.addmm = addmm(%b, %y.view, %y.permute) : f32[10,3]
  %y = view(%y.addmm; size=[2,5,3]) : f32[2,5,3]
  return %y
}
)");
}

TEST(GraphReader, EinsumIsAProductOfMatrices) {
  Reading r;
  r.input("a", {2, 3, 4});
  r.input("b", {2, 5, 4});
  r.node("y", {3, 2, 5}, "einsum.default",
         {{"equation", of_kind(Kind::text, "bid,bjd->ibj")},
          {"tensors", list({tensor("a"), tensor("b")})}});
  EXPECT_EQ(r.text("y"), R"(  %y.permute = permute(%b; dims=[0,2,1]) : f32[2,4,5]
  %y.bmm = bmm(%a, %y.permute) : f32[2,3,5]
  %y = permute(%y.bmm; dims=[1,0,2]) : f32[3,2,5]
  return %y
}
)");
  for (const auto& [equation, message] :
       {std::pair("...bidx,bjd", "einsum: more labels than dims"),
        std::pair("bi,bjd->b", "einsum: the term 'bi' of 2 labels for a tensor of rank 3"),
        std::pair("bii,bjd->b", "einsum: 'i' stands for dims of several sizes of one operand"),
        std::pair("bid->b", "einsum of 2 tensors with 1 terms"),
        std::pair("bid,bjd->z", "einsum: the result's labels are not those of the operands")}) {
    Reading wrong;
    wrong.input("a", {2, 3, 4});
    wrong.input("b", {2, 5, 4});
    wrong.node("y", {3}, "einsum.default",
               {{"equation", of_kind(Kind::text, equation)},
                {"tensors", list({tensor("a"), tensor("b")})}});
    EXPECT_EQ(wrong.text("y"), std::string("\"y\" = aten.einsum.default: ") + message);
  }
}

TEST(GraphReader, AConvolutionOfTheSameSizePadsUnevenly) {
  Reading r;
  r.input("x", {1, 2, 8});
  r.input("w", {3, 2, 4});
  r.node(
      "y", {1, 3, 8}, "conv1d.padding",
      {{"input", tensor("x")}, {"weight", tensor("w")}, {"padding", of_kind(Kind::text, "same")}});
  const std::string text = r.text("y");
  EXPECT_NE(text.find("constant_pad_nd(%x; pad=[0,1])"), text.npos) << text;
  EXPECT_NE(text.find("padding=[1]"), text.npos) << text;
}

TEST(GraphReader, RecurrentLayersHaveAsManyStepsAsTheInput) {
  Reading r;
  r.input("x", {3, 2, 4});
  r.input("h", {1, 2, 5});
  r.input("wi", {15, 4});
  r.input("wh", {15, 5});
  r.node("y", {3, 2, 5}, "gru.input",
         {{"input", tensor("x")},
          {"hx", tensor("h")},
          {"params", list({tensor("wi"), tensor("wh")})},
          {"has_biases", flag(false)},
          {"num_layers", number(1)},
          {"dropout", real(0)},
          {"train", flag(false)},
          {"bidirectional", flag(false)},
          {"batch_first", flag(false)}});
  const std::string text = r.text("y");
  size_t count = 0;
  for (size_t at = text.find("= tanh("); at != text.npos; at = text.find("= tanh(", at + 1))
    ++count;
  EXPECT_EQ(count, 3u) << text;
}

TEST(GraphReader, RulesRefuseWhatTheyDontCover) {
  const auto refusal = [](const std::string& op, std::vector<NamedArgument> inputs) {
    Reading r;
    r.input("x", {4, 4});
    inputs.insert(inputs.begin(), {"self", tensor("x")});
    r.node("y", {4, 4}, op, std::move(inputs));
    const std::string text = r.text("y");
    return text.substr(text.find(": ") + 2);
  };
  EXPECT_EQ(
      refusal("pad.default", {{"pad", numbers({1, 1})}, {"mode", of_kind(Kind::text, "odd")}}),
      "the padding mode odd");
  EXPECT_EQ(refusal("one_hot.default", {}), "one_hot without a number of classes");
  EXPECT_EQ(refusal("chunk.default", {{"chunks", number(0)}}), "0 chunks");
  EXPECT_EQ(refusal("split.Tensor", {{"split_size", number(0)}}), "a dim of 4 in pieces of 0");
  EXPECT_EQ(refusal("pixel_shuffle.default", {{"upscale_factor", number(2)}}),
            "a pixel shuffle by 2 of rank 2");
  EXPECT_EQ(refusal("linspace.default", {{"steps", number(-1)}}), "-1 steps");
  EXPECT_EQ(refusal("grid_sampler.default", {{"input", tensor("x")}, {"grid", tensor("x")}}),
            "grid_sampler_2d: C4: input is f32[4,4] and grid is f32[4,4], expected rank 4");
  EXPECT_EQ(refusal("diag_embed.default", {{"dim1", number(2)}, {"dim2", number(-1)}}),
            "a diagonal along dims 2 and 2 of rank 3");
  EXPECT_EQ(refusal("adaptive_max_pool2d.default", {{"output_size", numbers({1, 1 << 20})}}),
            "4 elements in 1048576 windows");
  EXPECT_EQ(refusal("tril_indices.default", {{"row", number(1)}, {"col", number(-1)}}),
            "-1 columns");
  EXPECT_EQ(refusal("upsample_bicubic2d.default", {{"output_size", numbers({2, 2})}}),
            "a tensor of rank 2 resized");
  EXPECT_EQ(refusal("norm.Scalar", {{"p", of_kind(Kind::text, "fro")}}),
            "linalg_vector_norm: ord = \"fro\": expected a number");
  EXPECT_EQ(refusal("mse_loss.default", {{"target", tensor("x")}, {"reduction", number(7)}}),
            "a reduction that is none of none, mean, sum");
  EXPECT_EQ(refusal("exp.default", {{"odd", number(1)}}), "its argument \"odd\" is not covered");
}

// A node that calls a graph of one exp.
Node region(const std::string& op, std::vector<Argument> before, const std::string& result) {
  Graph inner;
  inner.inputs = {tensor("i")};
  inner.outputs = {tensor("o")};
  inner.tensors = {{"i", meta_of({3, 3})}, {"o", meta_of({3, 3})}};
  inner.nodes.push_back({"torch.ops.aten.mm.default",
                         {{"self", tensor("i")}, {"mat2", tensor("i")}},
                         {tensor("o")},
                         {},
                         0});
  if (op == "wrap_with_autocast") inner.tensors["o"].dtype = DType::bf16;
  Argument body = of_kind(Kind::graph, "body");
  body.graph = std::make_shared<const Graph>(std::move(inner));
  Node n{"torch.ops.higher_order." + op, {}, {list({tensor(result)})}, {}, 0};
  for (Argument& a : before) n.inputs.push_back({"", std::move(a)});
  n.inputs.push_back({"", body});
  if (op == "cond") {
    n.inputs.push_back({"", body});
    n.inputs.push_back({"", list({tensor("x")})});
  } else {
    n.inputs.push_back({"", tensor("x")});
  }
  return n;
}

TEST(GraphReader, RegionsAreInlined) {
  Reading stopped;
  stopped.param("x", {3, 3});
  stopped.source.tensors["y"] = meta_of({3, 3});
  stopped.source.nodes.push_back(region("wrap_with_set_grad_enabled", {flag(false)}, "y"));
  const std::string text = stopped.text("y");
  EXPECT_NE(text.find(" = mm(%x, %x)"), text.npos) << text;
  EXPECT_NE(text.find(" = detach("), text.npos) << text;

  Reading cast;
  cast.input("x", {3, 3});
  cast.source.tensors["y"] = meta_of({3, 3}, DType::bf16);
  cast.source.nodes.push_back(region(
      "wrap_with_autocast",
      {of_kind(Kind::text, "cpu"), of_kind(Kind::dtype, {}, 13), flag(true), flag(false)}, "y"));
  EXPECT_NE(cast.text("y").find("_to_copy(%x; dtype=bf16)"), text.npos);
}

TEST(GraphReader, BranchesAreSubgraphs) {
  Reading r;
  r.input("x", {3, 3});
  r.input("p", {}, DType::boolean);
  r.source.tensors["y"] = meta_of({3, 3});
  r.source.nodes.push_back(region("cond", {tensor("p")}, "y"));
  const std::string text = r.text("y");
  EXPECT_EQ(r.file.subgraphs.size(), 2u);
  EXPECT_EQ(r.file.subgraphs[0]->name(), "body");
  EXPECT_EQ(r.file.subgraphs[1]->name(), "body.1");
}

}  // namespace
}  // namespace cleave::exported
