// ONNX files that are damaged or written to do harm: an error that says where, memory bounded by
// the file's size, no byte read outside.
// tests: onnx/wire.cpp read_model.cpp tensor_data.cpp external_data.cpp import_onnx.cpp
// tests: onnx/element.cpp
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <random>

#include "test/import/onnx_run.h"

namespace cleave {
namespace {

namespace fs = std::filesystem;

// Weights of several kinds, a function, a branch, a shape: 800 bytes.
OnnxFile rich() {
  OnnxFile then, otherwise;
  then.node("Relu", {"h"}, {"a"}).output("a");
  otherwise.node("Neg", {"h"}, {"b"}).output("b");
  OnnxFile f;
  f.input("x", {2, 3}).input("p", {}, onnx::Element::boolean);
  f.initializer("w", floats({1, 2, 3, 4, 5, 6}, {3, 2})).initializer("s", ints({4}));
  f.function("Own", {"u"}, {"v"}, {onnx_node("Exp", {"u"}, {"v"})});
  f.node("MatMul", {"x", "w"}, {"m"}).node("Own", {"m"}, {"h"}, {}, "own");
  f.node("If", {"p"}, {"c"},
         {onnx_body("then_branch", then.graph()), onnx_body("else_branch", otherwise.graph())});
  f.node("Reshape", {"c", "s"}, {"y"}).output("y");
  return f;
}

std::string failure_of(const std::string& bytes) {
  const auto m = imported(bytes);
  return m.ok() ? "" : m.failure().message;
}

TEST(OnnxHostile, CutAtEveryByte) {
  const std::string whole = rich().bytes();
  ASSERT_EQ(failure_of(whole), "");
  for (size_t n = 0; n < whole.size(); ++n) {
    const auto m = imported(whole.substr(0, n));
    if (m.ok()) continue;
    EXPECT_NE(m.failure().kind, ErrorKind::bug) << n << m.failure().message;
  }
}

// The same of the graph alone, so that what stands around it keeps its lengths.
TEST(OnnxHostile, AGraphCutAtEveryByte) {
  const std::string whole = rich().graph().bytes();
  const std::string opsets =
      OnnxMessage().message(8, OnnxMessage().text(1, "").number(2, 21)).bytes();
  size_t read = 0;
  for (size_t n = 0; n < whole.size(); ++n) {
    const auto m = imported(OnnxMessage().text(7, whole.substr(0, n)).bytes() + opsets);
    read += m.ok();
    if (m.ok()) continue;
    EXPECT_NE(m.failure().kind, ErrorKind::bug) << n << m.failure().message;
  }
  EXPECT_LT(read, 20U);  // cut between two fields
}

TEST(OnnxHostile, BytesThatAreAltered) {
  const std::string whole = rich().bytes();
  std::mt19937 random(7);
  for (int k = 0; k < 3000; ++k) {
    std::string bytes = whole;
    for (int n = 0; n < 1 + k % 3; ++n)
      bytes[random() % bytes.size()] = static_cast<char>(random());
    const auto m = imported(bytes);
    if (m.ok()) continue;
    EXPECT_NE(m.failure().kind, ErrorKind::bug) << k << ": " << m.failure().message;
  }
}

TEST(OnnxHostile, LengthsBeyondTheFile) {
  EXPECT_EQ(failure_of("\x3a\x05\x01"), "model: byte 0: field 7 has 5 bytes, but 1 are left");
  EXPECT_EQ(failure_of(std::string("\x3a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11)),
            "model: byte 0: field 7 has 18446744073709551615 bytes, but 0 are left");
  EXPECT_EQ(failure_of(std::string("\x08\xff", 2)), "model: byte 1: the file ends within a number");
  EXPECT_EQ(failure_of("\x08" + std::string(10, '\xff')),
            "model: byte 1: a number takes more than 64 bits");
  EXPECT_EQ(failure_of("\x0b"), "model: byte 0: field 1 has wire type 3, expected 0, 1, 2 or 5");
  EXPECT_EQ(failure_of(std::string("\x00\x00", 2)),
            "model: byte 0: a field has number 0, expected 1 to 2^29 - 1");
}

TEST(OnnxHostile, MessagesNestedTooDeep) {
  OnnxMessage type;
  for (int k = 0; k < 40; ++k) type = OnnxMessage().message(4, OnnxMessage().message(1, type));
  OnnxMessage graph;
  graph.message(11, OnnxMessage().text(1, "x").message(2, type));
  const std::string bytes = OnnxMessage().message(7, graph).bytes();
  EXPECT_NE(failure_of(bytes).find("messages are nested more than 64 deep"), std::string::npos);
}

TEST(OnnxHostile, SizesThatAreNone) {
  const auto with = [](const std::vector<int64_t>& dims, size_t bytes) {
    OnnxMessage t;
    for (const int64_t d : dims) t.number(1, d);
    t.number(2, 1).text(8, "w").text(9, std::string(bytes, '\0'));
    OnnxFile f;
    f.input("x", {1}).initializer(t).node("Add", {"x", "w"}, {"y"}).output("y");
    return failure_of(f.bytes());
  };
  EXPECT_EQ(with({1}, 4), "");
  EXPECT_EQ(with({-1}, 4), "model: initializer \"w\": has a dim of -1");
  EXPECT_EQ(with({2}, 4), "model: initializer \"w\": has 4 bytes, expected 8");
  EXPECT_EQ(with({int64_t{1} << 40, int64_t{1} << 40}, 4),
            "model: initializer \"w\": has more elements than 2^60 bytes hold");
  EXPECT_EQ(with({int64_t{1} << 50}, 4),
            "model: initializer \"w\": has 4 bytes, expected 4503599627370496");
}

TEST(OnnxHostile, CountsThatDontFitTheirNumbers) {
  OnnxMessage t;
  t.number(1, int64_t{1} << 40).number(2, 7).text(8, "w").number(7, 5);
  OnnxFile f;
  f.input("x", {1}).initializer(t).node("Add", {"x", "w"}, {"y"}).output("y");
  EXPECT_EQ(failure_of(f.bytes()),
            "model: initializer \"w\": has 1 elements, expected 1099511627776");
}

TEST(OnnxHostile, PadsThatTakeMemory) {
  const auto padded = [](int64_t by, const char* mode) {
    OnnxFile f;
    f.input("x", {8}).initializer("p", ints({0, by}));
    f.node("Pad", {"x", "p"}, {"y"}, {onnx_text("mode", mode)}).output("y");
    return failure_of(f.bytes());
  };
  for (const char* mode : {"reflect", "edge", "wrap"}) {
    EXPECT_EQ(padded(1000, mode), "") << mode;
    EXPECT_NE(padded(int64_t{1} << 22, mode)
                  .find("a dim of 8 padded by 0 and 4194304, expected "
                        "at most 1048576 elements"),
              std::string::npos)
        << padded(int64_t{1} << 22, mode);
  }
  EXPECT_EQ(padded(int64_t{1} << 22, "constant"), "");
}

// Numbers that are read as integers, of files that have others there.
TEST(OnnxHostile, NumbersBeyondIntegers) {
  for (const double x : {1e300, -1e300, std::nan(""), 1e19}) {
    OnnxFile f;
    f.input("x", {4}).initializer("s", HostTensor::from<double>({x}));
    f.node("Reshape", {"x", "s"}, {"y"}).output("y");
    EXPECT_NE(failure_of(f.bytes()), "") << x;
  }
  OnnxFile body, f;
  body.input("i", {}, onnx::Element::i64).input("c", {}, onnx::Element::boolean).input("s", {2});
  body.node("Identity", {"c"}, {"again"}).node("Exp", {"s"}, {"t"}).output("again").output("t");
  f.input("x", {2}).initializer("n", HostTensor::from<int64_t>({INT64_MAX}, {}));
  f.node("Loop", {"n", "", "x"}, {"y"}, {onnx_body("body", body.graph())}).output("y");
  EXPECT_NE(failure_of(f.bytes()).find("Loop: more than 1024 iterations"), std::string::npos);
}

TEST(OnnxHostile, ValuesThatDependOnThemselves) {
  OnnxFile f;
  f.input("x", {1}).node("Add", {"x", "b"}, {"a"}).node("Add", {"x", "a"}, {"b"}).output("b");
  EXPECT_EQ(failure_of(f.bytes()),
            "model: Add \"node of a\": its input \"b\" is not defined by what stands before it");
  OnnxFile twice;
  twice.input("x", {1}).node("Relu", {"x"}, {"a"}).node("Neg", {"x"}, {"a"}).output("a");
  EXPECT_EQ(failure_of(twice.bytes()), "model: Neg \"node of a\": the name \"a\" is given twice");
  OnnxFile nothing;
  nothing.input("x", {1}).node("Mean", {"x"}, {}).output("x");
  EXPECT_EQ(failure_of(nothing.bytes()), "model: Mean \"node of nothing\": has no result");
  OnnxFile missing;
  missing.input("x", {1}).output("z");
  EXPECT_EQ(failure_of(missing.bytes()), "model: the output \"z\" is not defined");
}

TEST(OnnxHostile, FunctionsThatCallThemselves) {
  OnnxFile f;
  f.input("x", {1}).function("Again", {"a"}, {"b"}, {onnx_node("Again", {"a"}, {"b"}, {}, "own")});
  f.node("Again", {"x"}, {"y"}, {}, "own").output("y");
  EXPECT_NE(failure_of(f.bytes()).find("functions and subgraphs are nested more than 32 deep"),
            std::string::npos);
}

TEST(OnnxHostile, FunctionsThatGrowByDoubling) {
  OnnxFile f;
  f.input("x", {1});
  for (int k = 0; k < 30; ++k) {
    const std::string next = k == 0 ? "Relu" : "F" + std::to_string(k - 1);
    const std::string domain = k == 0 ? "" : "own";
    f.function(
        "F" + std::to_string(k), {"a"}, {"c"},
        {onnx_node(next, {"a"}, {"b"}, {}, domain), onnx_node(next, {"b"}, {"c"}, {}, domain)});
  }
  f.node("F29", {"x"}, {"y"}, {}, "own").output("y");
  EXPECT_NE(failure_of(f.bytes()).find("more than 200000 nodes"), std::string::npos);
}

TEST(OnnxHostile, OperatorSetsThatArentKnown) {
  for (const int64_t opset : {6, 28}) {
    OnnxFile f;
    f.opset = opset;
    f.input("x", {1}).node("Relu", {"x"}, {"y"}).output("y");
    EXPECT_EQ(failure_of(f.bytes()),
              fmt::format("model: operator set {}, expected 7 to 27", opset));
  }
}

// ---- external data

struct OnnxExternal : testing::Test {
  fs::path folder = fs::path(testing::TempDir()) / fmt::format("cleave_onnx_{}", ::getpid());
  OnnxExternal() {
    fs::create_directories(folder / "model" / "data");
    std::ofstream(folder / "model" / "data" / "w.bin")
        << std::string("........\0\0\x80?\0\0\0@", 16);
    std::ofstream(folder / "secret.bin") << std::string(8, 's');
  }
  ~OnnxExternal() override { fs::remove_all(folder); }

  // The failure of a model whose weight of two floats lies there.
  std::string failure(const std::string& location, const std::string& offset = "8",
                      const std::string& length = "8") const {
    OnnxMessage t;
    t.number(1, 2).number(2, 1).text(8, "w").number(14, 1);
    const auto entry = [](const char* key, const std::string& value) {
      return OnnxMessage().text(1, key).text(2, value);
    };
    t.message(13, entry("location", location))
        .message(13, entry("offset", offset))
        .message(13, entry("length", length));
    OnnxFile f;
    f.input("x", {2}).initializer(t).node("Add", {"x", "w"}, {"y"}).output("y");
    const std::string path = folder / "model" / "m.onnx";
    std::ofstream(path) << f.bytes();
    const Result<OpRegistry> ops = core_ops();
    const auto m = onnx::import_onnx(path, *ops);
    if (m.ok()) {
      EXPECT_EQ(m->weights.at("w").to_vector<float>(), (std::vector<float>{1, 2}));
      return "";
    }
    return m.failure().message.substr(path.size() + 2 + std::string("initializer \"w\": ").size());
  }
};

TEST_F(OnnxExternal, LieInTheModelsFolder) {
  EXPECT_EQ(failure("data/w.bin"), "");
  EXPECT_EQ(failure("../secret.bin", "0"),
            "its data lie in \"../secret.bin\", expected a path without ..");
  EXPECT_EQ(failure("data/../../secret.bin", "0"),
            "its data lie in \"data/../../secret.bin\", expected a path without ..");
  EXPECT_EQ(failure(folder / "secret.bin", "0"),
            fmt::format("its data lie in \"{}\", expected a path inside the model's folder",
                        (folder / "secret.bin").string()));
  fs::create_symlink(folder / "secret.bin", folder / "model" / "link.bin");
  EXPECT_EQ(failure("link.bin", "0"),
            "its data lie in \"link.bin\", which leads out of the model's folder");
  EXPECT_EQ(failure("data", "0"), "its data \"data\" are no file");
}

TEST_F(OnnxExternal, LieInTheirFile) {
  EXPECT_EQ(failure("data/w.bin", "9"),
            "its data are bytes 9 to 17 of \"data/w.bin\", which has 16");
  EXPECT_EQ(failure("data/w.bin", "18446744073709551615"),
            "its data are bytes 18446744073709551615 to 7 of \"data/w.bin\", which has 16");
  EXPECT_EQ(failure("data/w.bin", "-1"), "the offset of its data is \"-1\", expected a number");
  EXPECT_EQ(failure("data/w.bin", "8", "4"), "its data have 4 bytes, expected 8");
  EXPECT_EQ(failure("data/none.bin"),
            "its data in \"data/none.bin\" can't be read: No such file or directory");
}

}  // namespace
}  // namespace cleave
