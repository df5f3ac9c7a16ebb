// Branches and loops of ONNX: written out where they are known at import, cond and while_loop else.
// tests: control_rules.cpp subgraph.cpp
#include <set>

#include "ir/text.h"
#include "test/import/onnx_run.h"

namespace cleave {
namespace {

// A graph that gives x and a weight of the graph around it, f of both.
OnnxMessage branch(const std::string& f) {
  OnnxFile g;
  g.node(f, {"x", "w"}, {f + ".y"}).output(f + ".y");
  return g.graph();
}

OnnxFile chosen() {
  OnnxFile f;
  f.input("p", {}, onnx::Element::boolean).input("x", {2}).initializer("w", floats({10, 20}));
  f.node("If", {"p"}, {"y"},
         {onnx_body("then_branch", branch("Add")), onnx_body("else_branch", branch("Sub"))});
  f.output("y");
  return f;
}

HostTensor truth(bool v) {
  HostTensor t(DType::boolean, {});
  t.set_number(0, v ? 1 : 0);
  return t;
}

TEST(OnnxControl, ABranchIsACond) {
  const OnnxFile f = chosen();
  EXPECT_EQ(numbers_of(f, {{"p", truth(true)}, {"x", floats({1, 2})}}), (Numbers{11, 22}));
  EXPECT_EQ(numbers_of(f, {{"p", truth(false)}, {"x", floats({1, 2})}}), (Numbers{-9, -18}));
  const auto m = imported(f.bytes());
  ASSERT_TRUE(m.ok());
  EXPECT_NE(print(m->program.main).find("= cond("), std::string::npos);
}

TEST(OnnxControl, ABranchThatIsKnownIsWrittenInItsPlace) {
  const auto m = imported(chosen().bytes(), {.fixed = {{"p", truth(false)}}});
  ASSERT_TRUE(m.ok()) << m.failure().message;
  EXPECT_EQ(m->program.main.node_count(), 1U);
}

// (i, on, s) -> (on, s + x, s): the sum so far, and a row of it.
OnnxMessage summing(const std::string& on) {
  OnnxFile g;
  g.input("i", {}, onnx::Element::i64).input("go", {}, onnx::Element::boolean).input("s", {2});
  g.node("Add", {"s", "x"}, {"t"})
      .node("Identity", {on}, {"stay"})
      .node("Identity", {"s"}, {"row"});
  g.output("stay").output("t").output("row");
  return g.graph();
}

TEST(OnnxControl, ALoopOfKnownLengthIsWrittenOut) {
  OnnxFile f;
  f.input("x", {2})
      .initializer("n", HostTensor::from<int64_t>({3}, {}))
      .initializer("s0", floats({0, 0}));
  f.node("Loop", {"n", "", "s0"}, {"sum", "rows"}, {onnx_body("body", summing("go"))});
  f.output("rows").output("sum");
  EXPECT_EQ(numbers_of(f, {{"x", floats({1, 2})}}), (Numbers{0, 0, 1, 2, 2, 4}));
  const OnnxResults r = results_of(f, {{"x", floats({1, 2})}});
  EXPECT_EQ(r.tensors[1].to_vector<float>(), (std::vector<float>{3, 6}));
}

TEST(OnnxControl, ALoopOfUnknownLengthIsAWhileLoop) {
  OnnxFile body;
  body.input("i", {}, onnx::Element::i64).input("go", {}, onnx::Element::boolean).input("s", {2});
  body.node("Add", {"s", "x"}, {"t"}).node("Identity", {"go"}, {"stay"}).output("stay").output("t");
  OnnxFile f;
  f.input("n", {}, onnx::Element::i64).input("x", {2}).initializer("s0", floats({0, 0}));
  f.node("Loop", {"n", "", "s0"}, {"sum"}, {onnx_body("body", body.graph())}).output("sum");
  for (const int64_t n : {0, 5})
    EXPECT_EQ(numbers_of(f, {{"x", floats({1, 2})}, {"n", HostTensor::from<int64_t>({n}, {})}}),
              (Numbers{1.0 * static_cast<double>(n), 2.0 * static_cast<double>(n)}));
}

TEST(OnnxControl, RowsOfALoopOfUnknownLengthAreRefused) {
  OnnxFile f;
  f.input("n", {}, onnx::Element::i64).input("x", {2}).initializer("s0", floats({0, 0}));
  f.node("Loop", {"n", "", "s0"}, {"sum", "rows"}, {onnx_body("body", summing("go"))})
      .output("rows");
  const auto m = imported(f.bytes());
  ASSERT_FALSE(m.ok());
  EXPECT_EQ(m.failure().message,
            "model: 1 kinds of calls aren't covered\n"
            "  1 x Loop: rows of a loop whose number of iterations isn't known");
}

TEST(OnnxControl, EachIterationReadsTheSameWeights) {
  OnnxFile body;
  body.input("s", {2}).input("x", {2}).initializer("w", floats({2, 3}));
  body.node("Constant", {}, {"k"}, {onnx_value(HostTensor(DType::f32, {20'000}))});
  body.node("ReduceSum", {"k"}, {"zero"}, {onnx_int("keepdims", 0)});
  body.node("Mul", {"s", "w"}, {"m"})
      .node("Add", {"m", "x"}, {"a"})
      .node("Add", {"a", "zero"}, {"t"});
  body.output("t");
  OnnxFile f;
  f.input("x", {3, 2}).initializer("s0", floats({1, 1}));
  f.node("Scan", {"s0", "x"}, {"s"},
         {onnx_body("body", body.graph()), onnx_int("num_scan_inputs", 1)});
  f.output("s");
  const auto m = imported(f.bytes());
  ASSERT_TRUE(m.ok()) << m.failure().message;
  std::set<std::string> names;
  for (const auto& [name, tensor] : m->weights) names.insert(name);
  EXPECT_EQ(names, (std::set<std::string>{"k", "s0", "w"}));
  EXPECT_EQ(numbers_of(f, {{"x", HostTensor(DType::f32, {3, 2})}}), (Numbers{8, 27}));
}

TEST(OnnxControl, AScanCarriesItsState) {
  OnnxFile body;
  body.input("s", {1})
      .input("x", {1})
      .node("Add", {"s", "x"}, {"t"})
      .node("Identity", {"t"}, {"r"});
  body.output("t").output("r");
  OnnxFile f;
  f.input("x", {3, 1}).initializer("s0", floats({100}));
  f.node("Scan", {"s0", "x"}, {"s", "rows"},
         {onnx_body("body", body.graph()), onnx_int("num_scan_inputs", 1),
          onnx_ints("scan_input_directions", {1})});
  f.output("rows");
  EXPECT_EQ(numbers_of(f, {{"x", floats({1, 2, 3}, {3, 1})}}), (Numbers{103, 105, 106}));
}

}  // namespace
}  // namespace cleave
