// What shares memory after writes in place, and which gradient a write leaves.
// tests: call_reader.cpp gradient_paths.cpp graph_reader.cpp layout.cpp memory.cpp
// tests: view_reader.cpp views.cpp
#include "test/import/reading.h"

namespace cleave::exported {
namespace {

constexpr const char* may_be_written =
    "a tensor is read that may be a copy or a view of one that was written; use clone() or view() "
    "in the model";

std::vector<SymValue> strides(std::initializer_list<int64_t> values) {
  std::vector<SymValue> out;
  for (const int64_t v : values) out.push_back({v, {}, {}});
  return out;
}

NamedArgument self(const char* name) { return {"self", tensor(name)}; }

// y = OP(x), which is written; what x is then: its elements, twice.
Answer behind_a_write(Reading& r) {
  r.node("add_", {4}, "add_.Tensor", {self("y"), {"other", number(1)}});
  r.node("z",
         r.source.tensors["x"].sizes.size() == 1 ? std::vector<int64_t>{4}
                                                 : std::vector<int64_t>{2, 2},
         "mul.Tensor", {self("x"), {"other", number(2)}});
  return answer(r, "z", {{"x", {1, 2, 3, 4}}});
}

TEST(Memory, ContiguousCopiesWhatLiesOtherwise) {
  for (const bool row_major : {true, false}) {
    Reading r;
    r.input("x", {2, 2});
    if (!row_major) r.source.tensors["x"].strides = strides({1, 2});
    r.node("y", {2, 2}, "contiguous.default", {self("x")});
    r.node("add_", {2, 2}, "add_.Tensor", {self("y"), {"other", number(1)}});
    r.node("z", {2, 2}, "mul.Tensor", {self("x"), {"other", number(2)}});
    EXPECT_EQ(answer(r, "z", {{"x", {1, 2, 3, 4}}}).value,
              row_major ? (Numbers{4, 6, 8, 10}) : (Numbers{2, 4, 6, 8}));
  }
}

TEST(Memory, AnotherMemoryFormatIsACopy) {
  const Argument channels_last = of_kind(Kind::memory_format, {}, 2);
  for (const char* op : {"contiguous.default", "to.dtype_layout"})
    for (const bool lies_so : {true, false}) {
      Reading r;
      r.input("x", {1, 2, 1, 2});
      if (lies_so) r.source.tensors["x"].strides = strides({4, 1, 4, 2});
      r.node("y", {1, 2, 1, 2}, op, {self("x"), {"memory_format", channels_last}});
      r.source.tensors["y"].strides = strides({4, 1, 4, 2});
      r.node("add_", {1, 2, 1, 2}, "add_.Tensor", {self("y"), {"other", number(1)}});
      r.node("z", {1, 2, 1, 2}, "mul.Tensor", {self("x"), {"other", number(2)}});
      EXPECT_EQ(answer(r, "z", {{"x", {1, 2, 3, 4}}}).value,
                lies_so ? (Numbers{4, 6, 8, 10}) : (Numbers{2, 4, 6, 8}))
          << op;
    }
}

TEST(Memory, StridesTellACopyFromAView) {
  for (const bool is_view : {true, false}) {
    Reading r;
    r.input("x", {2, 2});
    r.source.tensors["x"].strides = is_view ? strides({4, 2}) : strides({1, 2});
    r.node("y", {4}, "reshape.default", {self("x"), {"shape", numbers({4})}});
    if (is_view) r.source.tensors["y"].strides = strides({2});
    EXPECT_EQ(behind_a_write(r).value, is_view ? (Numbers{4, 6, 8, 10}) : (Numbers{2, 4, 6, 8}));
  }
}

TEST(Memory, AllThatMayBeTheWrittenTensorIsForgotten) {
  Reading r;
  r.input("x", {2, 2});
  r.source.tensors["x"].strides = {{{}, "s0", 1}, {{}, "s1", 2}};
  for (const char* name : {"y", "other"})
    r.node(name, {4}, "reshape.default", {self("x"), {"shape", numbers({4})}});
  r.node("add_", {4}, "add_.Tensor", {self("y"), {"other", number(1)}});
  EXPECT_EQ(answer(r, "other", {}).failure, may_be_written);
}

TEST(Memory, APlaceholderThatMayBeWrittenIsRefused) {
  Reading r;
  r.input("x", {2, 2});
  r.source.tensors["x"].strides = {{{}, "s0", 1}, {{}, "s1", 2}};
  r.node("y", {4}, "reshape.default", {self("x"), {"shape", numbers({4})}});
  r.node("add_", {4}, "add_.Tensor", {self("y"), {"other", number(1)}});
  EXPECT_EQ(r.text("add_"),
            "it may have been written by way of a tensor that is a copy or a view of it; use "
            "clone() or view() in the model");
}

TEST(Memory, WhatRollsOrPadsByNothingIsACopy) {
  for (const int64_t by : {0, 4}) {
    Reading r;
    r.input("x", {4});
    r.node("y", {4}, "roll.default", {self("x"), {"shifts", numbers({by})}});
    EXPECT_EQ(behind_a_write(r).value, (Numbers{2, 4, 6, 8}));
  }
  Reading r;
  r.input("x", {4});
  r.node("y", {4}, "pad.default",
         {self("x"), {"pad", numbers({0, 0})}, {"mode", of_kind(Kind::text, "circular")}});
  EXPECT_EQ(behind_a_write(r).value, (Numbers{2, 4, 6, 8}));
}

TEST(Memory, ResultsThatShowAWrittenTensorAreRefused) {
  const Argument tensors = list({tensor("x")});
  for (const auto& [op, inputs] :
       {std::pair("broadcast_tensors.default", std::vector<NamedArgument>{{"tensors", tensors}}),
        std::pair("meshgrid.default", std::vector<NamedArgument>{{"tensors", tensors}}),
        std::pair("einsum.default",
                  std::vector<NamedArgument>{{"equation", of_kind(Kind::text, "i->i")},
                                             {"tensors", tensors}})}) {
    Reading r;
    r.input("x", {4});
    r.node("y", {4}, op, inputs);
    r.node("add_", {4}, "add_.Tensor", {self("x"), {"other", number(1)}});
    EXPECT_EQ(answer(r, "y", {}).failure, may_be_written) << op;
  }
}

// ---- gradients

// with no_grad(): the nodes, of which `result` leaves the region. They read x.
void without_gradients(Reading& r, std::vector<Node> nodes, const std::string& inside,
                       const std::string& result, std::vector<int64_t> sizes) {
  Graph inner;
  inner.inputs = {tensor("x")};
  inner.outputs = {tensor(inside)};
  for (const Node& n : nodes)
    for (const Argument& a : n.outputs) inner.tensors[a.text] = meta_of(sizes);
  inner.tensors["x"] = r.source.tensors["x"];
  inner.nodes = std::move(nodes);
  Argument body = of_kind(Kind::graph, "body");
  body.graph = std::make_shared<const Graph>(std::move(inner));
  r.source.tensors[result] = meta_of(sizes);
  r.source.nodes.push_back({"torch.ops.higher_order.wrap_with_set_grad_enabled",
                            {{"", flag(false)}, {"", body}, {"", tensor("x")}},
                            {list({tensor(result)})},
                            {},
                            0});
}

Node call(const std::string& result, const std::string& op, std::vector<NamedArgument> inputs) {
  return {"torch.ops.aten." + op, std::move(inputs), {tensor(result)}, {}, 0};
}

void expect_square(Reading& r, const std::string& of, const Numbers& value,
                   const Numbers& gradient) {
  r.node("z", {3}, "mul.Tensor", {self(of.c_str()), {"other", tensor(of)}});
  const Answer a = answer(r, "z", {{"x", {1, 2, -INFINITY}}});
  EXPECT_EQ(a.failure, "");
  EXPECT_EQ(a.value, value);
  EXPECT_EQ(a.gradient, gradient);
}

TEST(Memory, AWriteUnderNoGradKeepsTheGradient) {
  Reading whole;
  whole.param("x", {3});
  without_gradients(whole, {call("fill_", "fill_.Scalar", {self("x"), {"value", real(3)}})},
                    "fill_", "written", {3});
  expect_square(whole, "x", {9, 9, 9}, {6, 6, 0});
  Reading part;
  part.param("x", {3});
  without_gradients(
      part,
      {call("v", "slice.Tensor",
            {self("x"), {"dim", number(0)}, {"start", number(1)}, {"end", number(2)}}),
       call("fill_", "fill_.Scalar", {self("v"), {"value", real(5)}})},
      "fill_", "written", {1});
  part.node("two", {2}, "slice.Tensor",
            {self("x"), {"dim", number(0)}, {"start", number(0)}, {"end", number(2)}});
  part.node("z", {2}, "mul.Tensor", {self("two"), {"other", tensor("two")}});
  const Answer a = answer(part, "z", {{"x", {1, 2, 3}}});
  EXPECT_EQ(a.value, (Numbers{1, 25}));
  EXPECT_EQ(a.gradient, (Numbers{2, 10, 0}));
}

TEST(Memory, TheTensorThatIsWrittenLeavesTheRegionAsItself) {
  Reading r;
  r.param("x", {3});
  without_gradients(r, {call("fill_", "fill_.Scalar", {self("x"), {"value", real(3)}})}, "fill_",
                    "written", {3});
  expect_square(r, "written", {9, 9, 9}, {6, 6, 0});
}

TEST(Memory, WhatIsMadeUnderNoGradTakesGradientsLater) {
  Reading r;
  r.param("x", {3});
  without_gradients(r, {call("y", "mul.Tensor", {self("x"), {"other", number(0)}})}, "y", "made",
                    {3});
  r.node("v", {3}, "view.default", {self("made"), {"size", numbers({3})}});
  r.node("fill_", {3}, "fill_.Scalar", {self("made"), {"value", real(1)}});
  r.node("add_", {3}, "add_.Tensor", {self("fill_"), {"other", tensor("x")}});
  const Answer a = answer(r, "v", {{"x", {1, 2, 3}}});
  EXPECT_EQ(a.value, (Numbers{2, 3, 4}));
  EXPECT_EQ(a.gradient, (Numbers{1, 1, 1}));
}

TEST(Memory, AWriteThroughDetachKeepsTheGradient) {
  Reading r;
  r.param("x", {3});
  r.node("d", {3}, "detach.default", {self("x")});
  r.node("fill_", {3}, "fill_.Scalar", {self("d"), {"value", real(3)}});
  expect_square(r, "x", {9, 9, 9}, {6, 6, 0});
}

TEST(Memory, AGradientThatIsWrittenThroughDetachIsThatOfTheView) {
  for (const bool is_view : {true, false}) {
    Reading r;
    r.param("x", {3});
    r.input("b", {3});
    r.node("d", {3}, "detach.default", {self("b")});
    r.node("add_", {3}, "add_.Tensor", {self("d"), {"other", tensor("x")}});
    const Answer a = answer(r, is_view ? "add_" : "b", {{"x", {1, 2, 3}}});
    EXPECT_EQ(a.value, (Numbers{2, 3, 4}));
    EXPECT_EQ(a.gradient, is_view ? (Numbers{1, 1, 1}) : (Numbers{0, 0, 0}));
  }
  Reading r;
  r.param("x", {3});
  r.input("b", {3});
  r.node("d", {3}, "detach.default", {self("b")});
  r.node("row", {3}, "view.default", {self("d"), {"size", numbers({3})}});
  r.node("add_", {3}, "add_.Tensor", {self("row"), {"other", tensor("x")}});
  EXPECT_EQ(answer(r, "d", {}).failure,
            "a tensor is read behind detach() whose memory another one of its views wrote with a "
            "gradient; use detach().clone() in the model");
}

TEST(Memory, DetachInPlaceIsOfItsNameAlone) {
  Reading r;
  r.param("x", {3});
  r.node("y", {3}, "mul.Tensor", {self("x"), {"other", number(2)}});
  r.node("v", {3}, "view.default", {self("y"), {"size", numbers({3})}});
  r.node("detach_", {3}, "detach_.default", {self("y")});
  r.node("z", {3}, "mul.Tensor", {self("v"), {"other", tensor("detach_")}});
  const Answer a = answer(r, "z", {{"x", {1, 2, 3}}});
  EXPECT_EQ(a.value, (Numbers{4, 16, 36}));
  EXPECT_EQ(a.gradient, (Numbers{4, 8, 12}));
}

}  // namespace
}  // namespace cleave::exported
