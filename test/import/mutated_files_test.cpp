// Hundreds of altered archives and ONNX files: each is read as a valid graph, or refused in clear
// words, within memory that the file's size bounds.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "import/exported/model.h"
#include "ir/text.h"
#include "op/registry.h"
#include "runtime/alloc_watch.h"
#include "test/import/mutations.h"
#include "test/import/onnx_run.h"

namespace cleave {
namespace {

constexpr int files_of_each = 300;
// Peak of the heap while a file is read, beside what every read takes.
constexpr int64_t most_times_the_file = 64, most_beside = 512 << 10;

const OpRegistry& ops() {
  static const OpRegistry registry = value_or_bug(core_ops());
  return registry;
}

// What an error has to be: the file's fault, or what isn't covered, in words for a terminal.
void expect_clear(const Failure& f) {
  EXPECT_NE(f.kind, ErrorKind::bug) << f.message;
  EXPECT_FALSE(f.message.empty());
  EXPECT_LT(f.message.size(), 16384U);
  for (const char c : f.message)
    EXPECT_TRUE(static_cast<unsigned char>(c) >= 0x20 || c == '\n') << int{c} << ": " << f.message;
}

template <class Weights>
void expect_valid(const Program& program, const Weights& weights) {
  const Status valid = verify(program);
  EXPECT_TRUE(valid.ok()) << valid.failure().message;
  for (const auto& [name, tensor] : weights) {
    const ValueId v = program.main.find(name);
    ASSERT_TRUE(v.valid()) << name;
    EXPECT_EQ(program.main.type(v).text(), tensor.type_text()) << name;
  }
}

// Reads by `read`, and holds the peak of its memory against the file's size.
template <class Read>
void expect_bounded(size_t file_bytes, const Read& read) {
  runtime::AllocWatch watch;
  watch.start();
  read();
  const int64_t peak = watch.stop().peak_live_bytes;
  EXPECT_LE(peak, most_times_the_file * static_cast<int64_t>(file_bytes) + most_beside);
}

// ---- .pt2

struct Seed {
  std::string file;
  std::vector<Part> parts;
};

std::vector<Seed> archives() {
  std::vector<Seed> out;
  for (const char* name : {"net", "tiny", "tiny26", "tiny28", "waves"}) {
    const std::string path = fmt::format("{}/test/import/exported/{}.pt2", CLEAVE_SOURCE_DIR, name);
    std::ifstream in(path, std::ios::binary);
    Seed s{{std::istreambuf_iterator<char>(in), {}}, {}};
    const ZipArchive zip = value_or_bug(ZipArchive::open(path));
    for (const ZipArchive::Entry& e : zip.entries()) {
      const std::vector<std::byte> bytes = value_or_bug(zip.read(e));
      s.parts.push_back({e.name, {reinterpret_cast<const char*>(bytes.data()), bytes.size()}});
    }
    out.push_back(std::move(s));
  }
  return out;
}

std::string text_of(const std::vector<std::byte>& bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::string mutated(Mutations& m, const Seed& s, const Seed& other) {
  std::string file = s.file;
  switch (m.below(8)) {
    case 0:
    case 1: file = m.bytes(file, other.file); break;
    case 2: file = m.directory(file); break;
    default: {
      std::vector<Part> parts = s.parts;
      for (size_t k = 0; k <= m.below(3); ++k) parts = m.members(parts, other.parts);
      file = text_of(zipped(parts));
    }
  }
  return file;
}

TEST(MutatedFiles, Archives) {
  const std::vector<Seed> seeds = archives();
  for (const Seed& s : seeds) {
    const auto bytes = std::as_bytes(std::span(s.file));
    const auto zip = value_or_bug(ZipArchive::from_bytes({bytes.begin(), bytes.end()}, "m.pt2"));
    const auto whole = import_exported(zip, ops());
    ASSERT_TRUE(whole.ok()) << whole.failure().message;
  }
  Mutations m(20);
  int read = 0;
  for (int k = 0; k < files_of_each; ++k) {
    SCOPED_TRACE(k);
    const Seed &s = seeds[m.below(seeds.size())], &other = seeds[m.below(seeds.size())];
    const std::string file = mutated(m, s, other);
    const auto bytes = std::as_bytes(std::span(file));
    expect_bounded(file.size(), [&] {
      const auto zip = ZipArchive::from_bytes({bytes.begin(), bytes.end()}, "m.pt2");
      if (!zip.ok()) return expect_clear(zip.failure());
      const Result<ImportedModel> model = import_exported(*zip, ops());
      if (!model.ok()) return expect_clear(model.failure());
      expect_valid(model->program, model->weights);
      ++read;
    });
  }
  EXPECT_GT(read, 10);  // not all of the mutations are wrong
  EXPECT_LT(read, files_of_each / 2);
}

// The reader of files takes the same ones.
TEST(MutatedFiles, ArchivesOnDisk) {
  const std::vector<Seed> seeds = archives();
  const std::string path = testing::TempDir() + fmt::format("mutated_{}.pt2", ::getpid());
  Mutations m(21);
  for (int k = 0; k < 60; ++k) {
    SCOPED_TRACE(k);
    const Seed &s = seeds[m.below(seeds.size())], &other = seeds[m.below(seeds.size())];
    const std::string file = mutated(m, s, other);
    std::ofstream(path, std::ios::binary) << file;
    const auto bytes = std::as_bytes(std::span(file));
    const auto in_memory = ZipArchive::from_bytes({bytes.begin(), bytes.end()}, path);
    const auto on_disk = ZipArchive::open(path);
    EXPECT_EQ(on_disk.ok(), in_memory.ok());
    if (!on_disk.ok()) expect_clear(on_disk.failure());
  }
  std::filesystem::remove(path);
}

// ---- ONNX

OnnxFile network() {
  OnnxFile f;
  f.input("x", {-1, 3, 8, 8}, onnx::Element::f32, {"batch", "", "", ""});
  f.initializer("w", HostTensor(DType::f32, {4, 3, 3, 3})).initializer("b", floats({1, 2, 3, 4}));
  f.initializer("shape", ints({0, -1})).initializer("v", HostTensor(DType::f32, {64, 5}));
  f.node("Conv", {"x", "w", "b"}, {"c"},
         {onnx_ints("kernel_shape", {3, 3}), onnx_ints("pads", {1, 1, 1, 1}),
          onnx_ints("strides", {1, 1})});
  f.node("Relu", {"c"}, {"r"});
  f.node("MaxPool", {"r"}, {"p"},
         {onnx_ints("kernel_shape", {2, 2}), onnx_ints("strides", {2, 2})});
  f.node("Reshape", {"p", "shape"}, {"s"}).node("MatMul", {"s", "v"}, {"m"});
  f.node("Softmax", {"m"}, {"y"}, {onnx_int("axis", -1)}).output("y");
  return f;
}

OnnxFile control() {
  OnnxFile then, otherwise, body;
  then.node("Relu", {"h"}, {"a"}).output("a");
  otherwise.node("Neg", {"h"}, {"b"}).output("b");
  body.input("i", {}, onnx::Element::i64).input("cond", {}, onnx::Element::boolean);
  body.input("state", {2, 3}).node("Identity", {"cond"}, {"again"});
  body.node("Exp", {"state"}, {"grown"}).output("again").output("grown");
  OnnxFile f;
  f.input("x", {2, 3}).input("p", {}, onnx::Element::boolean);
  f.initializer("n", HostTensor::from<int64_t>({3}, {}));
  f.function("Own", {"u"}, {"v"}, {onnx_node("Exp", {"u"}, {"v"})});
  f.node("Own", {"x"}, {"h"}, {}, "own");
  f.node("If", {"p"}, {"c"},
         {onnx_body("then_branch", then.graph()), onnx_body("else_branch", otherwise.graph())});
  f.node("Loop", {"n", "", "c"}, {"y"}, {onnx_body("body", body.graph())}).output("y");
  return f;
}

// Shapes and constants that are computed when the file is read.
OnnxFile computed() {
  OnnxFile f;
  f.input("x", {4, 6});
  f.initializer("two", ints({2}))
      .initializer("three", ints({3}))
      .initializer("fours", ints({4, 4}));
  f.node("Shape", {"x"}, {"s"}).node("Concat", {"two", "three"}, {"k"}, {onnx_int("axis", 0)});
  f.node("ConstantOfShape", {"fours"}, {"c"}, {onnx_value(floats({2}))});
  f.node("Tile", {"x", "k"}, {"t"}).node("Expand", {"c", "fours"}, {"e"});
  f.node("Range", {"zero", "end", "one"}, {"r"}).node("OneHot", {"r", "end", "onoff"}, {"o"});
  f.initializer("zero", HostTensor::from<int64_t>({0}, {}));
  f.initializer("one", HostTensor::from<int64_t>({1}, {}));
  f.initializer("end", HostTensor::from<int64_t>({4}, {})).initializer("onoff", floats({0, 1}));
  f.node("MatMul", {"o", "e"}, {"m"}).node("Pad", {"m", "pads"}, {"q"});
  f.initializer("pads", ints({1, 0, 0, 2}));
  f.node("Slice", {"q", "zeros", "fours"}, {"d"}).initializer("zeros", ints({0, 0}));
  f.node("MatMul", {"d", "x"}, {"y"}).output("y").output("t").output("s");
  return f;
}

TEST(MutatedFiles, OnnxFiles) {
  const std::vector<std::string> seeds = {network().bytes(), control().bytes(), computed().bytes()};
  for (const std::string& seed : seeds) {
    const auto whole = imported(seed);
    ASSERT_TRUE(whole.ok()) << whole.failure().message;
  }
  Mutations m(22);
  int read = 0;
  for (int k = 0; k < files_of_each; ++k) {
    SCOPED_TRACE(k);
    const std::string& other = seeds[m.below(seeds.size())];
    std::string file = seeds[m.below(seeds.size())];
    if (m.below(4) == 0)
      file = m.bytes(file, other);
    else
      for (size_t n = 0; n <= m.below(3); ++n) file = m.message(file, other);
    expect_bounded(file.size(), [&] {
      const auto model = imported(file);
      if (!model.ok()) return expect_clear(model.failure());
      expect_valid(model->program, model->weights);
      ++read;
    });
  }
  EXPECT_GT(read, 10);
  EXPECT_LT(read, files_of_each / 2);
}

}  // namespace
}  // namespace cleave
