// Sizes that have names: what is computed of them, and which have to be numbers.
// tests: sizes.cpp importer_interface.cpp
#include "test/import/onnx_run.h"

namespace cleave {
namespace {

using Dims = std::vector<int64_t>;

// One node on the sizes of x[n, 2], or on the first of them.
OnnxFile of_sizes(const std::string& op, const std::string& operand,
                  const std::vector<int64_t>& axes,
                  const std::vector<OnnxMessage>& attributes = {}) {
  OnnxFile f;
  f.input("x", {0, 2}, onnx::Element::f32, {"n"}).node("Shape", {"x"}, {"sizes"});
  f.initializer("zero", HostTensor::from<int64_t>({0}, {}));
  f.node("Gather", {"sizes", "zero"}, {"size"});
  if (axes.empty())
    f.node(op, {operand}, {"y"}, attributes);
  else
    f.initializer("axes", ints(axes)).node(op, {operand, "axes"}, {"y"}, attributes);
  f.output("y");
  return f;
}

HostTensor of_three_rows(const OnnxFile& f) {
  const OnnxResults r = results_of(f, {{"x", HostTensor(DType::f32, {3, 2})}});
  EXPECT_EQ(r.failure, "");
  return r.tensors.empty() ? HostTensor() : r.tensors[0];
}

TEST(OnnxSizes, ASizeGetsAsManyDimsAsItsAxesSay) {
  EXPECT_EQ(of_three_rows(of_sizes("Unsqueeze", "size", {0})).shape(), (Dims{1}));
  EXPECT_EQ(of_three_rows(of_sizes("Unsqueeze", "size", {0, 1})).shape(), (Dims{1, 1}));
  EXPECT_EQ(of_three_rows(of_sizes("Unsqueeze", "sizes", {0})).shape(), (Dims{1, 2}));
  EXPECT_EQ(of_three_rows(of_sizes("Reshape", "sizes", {-1})).shape(), (Dims{2}));
  EXPECT_EQ(of_three_rows(of_sizes("Reshape", "sizes", {2, 1})).shape(), (Dims{2, 1}));
}

TEST(OnnxSizes, ASizeWithoutADimCannotLoseOne) {
  const OnnxResults r =
      results_of(of_sizes("Squeeze", "size", {0}), {{"x", HostTensor(DType::f32, {3, 2})}});
  EXPECT_EQ(r.failure,
            "model: 1 kinds of calls aren't covered\n"
            "  1 x Squeeze: axis 0 is outside [0, 0)");
  EXPECT_NE(results_of(of_sizes("Reshape", "sizes", {3}), {}).failure, "");
}

TEST(OnnxSizes, AProductOverNoAxesIsTheSizes) {
  const auto product = [](const std::vector<OnnxMessage>& attributes) {
    OnnxFile f = of_sizes("ReduceProd", "sizes", {}, attributes);
    return of_three_rows(f).to_vector<int64_t>();
  };
  EXPECT_EQ(product({}), (Dims{6}));
  EXPECT_EQ(product({onnx_int("noop_with_empty_axes", 1)}), (Dims{3, 2}));
}

// The failure's text where there are no sizes.
std::string expanded(const std::vector<int64_t>& shape, const OnnxNames& names,
                     const std::vector<int64_t>& to) {
  OnnxFile f;
  f.input("x", shape, onnx::Element::f32, names).initializer("to", ints(to));
  f.node("Expand", {"x", "to"}, {"y"}).output("y");
  const auto m = imported(f.bytes());
  if (!m.ok()) return m.failure().message;
  const Graph& g = m->program.main;
  return g.type(g.returns()[0].value).text();
}

TEST(OnnxSizes, WhetherANamedSizeIsExpandedIsNotKnown) {
  EXPECT_EQ(expanded({0, 1}, {"n"}, {1, 4}), "f32[n,4]");
  EXPECT_EQ(expanded({0, 1, 4}, {"n"}, {3, 1}), "f32[n,3,4]");
  EXPECT_EQ(
      expanded({0, 1, 4}, {"n"}, {2, 3, 4}),
      "model: 1 kinds of calls aren't covered\n"
      "  1 x Expand: whether a dim of n is expanded to 2 isn't known: give the input a shape");
  EXPECT_EQ(expanded({3}, {}, {4}),
            "model: 1 kinds of calls aren't covered\n"
            "  1 x Expand: a dim of 3 doesn't expand to 4");
}

TEST(OnnxSizes, AnInputKeepsItsNameBesideASizeOfTheSameName) {
  for (const bool first : {true, false}) {
    OnnxFile f;
    if (first) f.input("n", {2});
    f.input("x", {0, 2}, onnx::Element::f32, {"n"});
    if (!first) f.input("n", {2});
    f.node("Add", {"n", "x"}, {"y"}).output("y");
    EXPECT_EQ(numbers_of(f, {{"n", floats({10, 20})}, {"x", floats({1, 2, 3, 4}, {2, 2})}}),
              (Numbers{11, 22, 13, 24}));
  }
}

TEST(OnnxSizes, SizesOfOneNameAreEqual) {
  OnnxFile f;
  f.input("x", {0}, onnx::Element::f32, {"a b"}).input("y", {0}, onnx::Element::f32, {"a-b"});
  f.input("z", {0}, onnx::Element::f32, {"a b"});
  f.node("Identity", {"x"}, {"p"}).node("Identity", {"y"}, {"q"}).node("Identity", {"z"}, {"r"});
  f.output("p").output("q").output("r");
  const auto m = imported(f.bytes());
  ASSERT_TRUE(m.ok()) << m.failure().message;
  const Graph& g = m->program.main;
  const auto size = [&](size_t k) { return g.type(g.returns()[k].value).text(); };
  EXPECT_EQ(size(0), size(2));
  EXPECT_NE(size(0), size(1));
}

TEST(OnnxSizes, ARangeBelowItsStartIsEmpty) {
  OnnxFile f;  // 3, 4, ... below the size of x
  f.input("x", {0}, onnx::Element::f32, {"n"})
      .initializer("one", HostTensor::from<int64_t>({1}, {}));
  f.initializer("three", HostTensor::from<int64_t>({3}, {})).node("Size", {"x"}, {"n"});
  f.node("Range", {"three", "n", "one"}, {"y"}).output("y");
  EXPECT_EQ(numbers_of(f, {{"x", HostTensor(DType::f32, {5})}}), (Numbers{3, 4}));
  EXPECT_EQ(numbers_of(f, {{"x", HostTensor(DType::f32, {2})}}), (Numbers{}));
}

// Of a batch of two lines whose number has a name.
Numbers by_batch(const std::string& op, const OnnxNames& inputs,
                 const std::vector<OnnxMessage>& attributes, const OnnxNames& results,
                 const std::vector<float>& line, const HostTensor& operand = {}) {
  const int64_t n = static_cast<int64_t>(line.size());
  OnnxFile f;
  f.input("x", {0, 1, n}, onnx::Element::f32, {"batch"});
  if (inputs.size() > 1) f.initializer("w", operand);
  f.node(op, inputs, results, attributes).output(results.back());
  std::vector<float> both = line;
  for (const float x : line) both.push_back(-x);
  return numbers_of(f, {{"x", floats(both, {2, 1, n})}});
}

TEST(OnnxSizes, ABatchOfPoolsAndResizesMayHaveAName) {
  const OnnxMessage two = onnx_ints("kernel_shape", {2}), by_two = onnx_ints("strides", {2});
  EXPECT_EQ(by_batch("MaxPool", {"x"}, {two, by_two}, {"y"}, {1, 5, 9, 2}),
            (Numbers{5, 9, -1, -2}));
  EXPECT_EQ(by_batch("MaxPool", {"x"}, {two, by_two}, {"y", "i"}, {1, 5, 9, 2}),
            (Numbers{1, 2, 4, 7}));
  EXPECT_EQ(by_batch("MaxPool", {"x"}, {two, onnx_text("auto_pad", "SAME_UPPER")}, {"y"}, {1, 5}),
            (Numbers{5, 5, -1, -5}));
  EXPECT_EQ(
      by_batch("AveragePool", {"x"}, {two, by_two, onnx_int("ceil_mode", 1)}, {"y"}, {1, 3, 5}),
      (Numbers{2, 5, -2, -5}));
  EXPECT_EQ(by_batch("LpPool", {"x"}, {two, onnx_int("p", 1)}, {"y"}, {1, 3, 5}),
            (Numbers{4, 8, 4, 8}));
  EXPECT_EQ(by_batch("Resize", {"x", "", "w"}, {onnx_text("mode", "nearest")}, {"y"}, {1, 2},
                     floats({1, 1, 2})),
            (Numbers{1, 1, 2, 2, -1, -1, -2, -2}));
}

TEST(OnnxSizes, AResizeToSizesKeepsANamedBatch) {
  OnnxFile f;
  f.input("x", {0, 2}, onnx::Element::f32, {"batch"}).initializer("four", ints({4}));
  f.initializer("first", ints({0}))
      .node("Shape", {"x"}, {"s"})
      .node("Gather", {"s", "first"}, {"n"});
  f.node("Concat", {"n", "four"}, {"to"}, {onnx_int("axis", 0)});
  f.node("Resize", {"x", "", "", "to"}, {"y"}, {onnx_text("mode", "linear")}).output("y");
  EXPECT_EQ(numbers_of(f, {{"x", floats({1, 3, 5, 5}, {2, 2})}}),
            (Numbers{1, 1.5, 2.5, 3, 5, 5, 5, 5}));
}

}  // namespace
}  // namespace cleave
