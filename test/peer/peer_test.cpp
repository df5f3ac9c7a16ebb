// Graphs written by a peer framework, with its inputs, results and gradients: the oracle gives the
// same within 1e-9, compiled code within 1e-4, both of max(1, max |want|) for each tensor.
// CLEAVE_PEERS names a folder of NAME.clv, NAME.in.safetensors and NAME.want.safetensors, made by
// test/peer/write_cases.py; without it the test is skipped.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "grad/grad.h"
#include "import/safetensors.h"
#include "interp/array_memory.h"
#include "test/random_inputs.h"
#include "test/sample/run_program.h"

namespace cleave {
namespace {

std::string folder() {
  const char* set = std::getenv("CLEAVE_PEERS");
  return set ? set : "";
}

std::vector<std::string> cases() {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder(), error))
    if (entry.path().extension() == ".clv") names.push_back(entry.path().stem().string());
  std::sort(names.begin(), names.end());
  return names;
}

std::string read_text(const std::string& path) {
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

std::map<std::string, Array> read_arrays(const std::string& path) {
  std::map<std::string, Array> out;
  const SafetensorsFile file = value_or_throw(SafetensorsFile::open(path));
  for (const TensorEntry& e : file.entries())
    out[e.name] = from_memory(e.dtype, e.shape, e.data.data());
  return out;
}

// What stands for each placeholder of g: the file's tensors, cotangents for tangents (ones where
// the file has none).
Arrays inputs_of(const Graph& g, const std::map<std::string, Array>& given) {
  Arrays inputs;
  for (const Placeholder& p : g.placeholders()) {
    const std::string name = g.name(p.value);
    const auto it = given.find(p.role == Role::tangent ? "co" + name : name);
    if (it != given.end()) {
      inputs.push_back(it->second);
      if (p.role == Role::tangent) inputs.back().dtype = g.type(p.value).dtype;
    } else {
      if (p.role != Role::tangent) throw std::runtime_error("no tensor for %" + name);
      inputs.push_back(Array(g.type(p.value).dtype, static_shape(g.type(p.value))));
      std::fill(inputs.back().f.begin(), inputs.back().f.end(), 1.0);
    }
  }
  return inputs;
}

Arrays run_reference(const Graph& g, const Arrays& inputs) {
  std::vector<const Array*> in;
  for (const Array& a : inputs) in.push_back(&a);
  return value_or_throw(interpret(g, in));
}

Arrays run_compiled(const Graph& g, const Arrays& inputs) {
  return value_or_throw(law::run_graph(g, test::core(), inputs));
}

// Each tensor of the file `want` against the result of that name.
void compare(const std::string& path, Arrays (*run)(const Graph&, const Arrays&),
             double tolerance) {
  const auto want = read_arrays(path + ".want.safetensors");
  const bool differentiated = std::any_of(
      want.begin(), want.end(), [](const auto& w) { return w.first.starts_with("grad."); });
  const Graph forward = test::parsed(read_text(path + ".clv"));
  const Graph g = differentiated ? value_or_throw(make_joint(forward, test::core())) : forward;
  const Arrays results = run(g, inputs_of(g, read_arrays(path + ".in.safetensors")));
  std::map<std::string, Array> got;
  for (size_t k = 0; k < results.size(); ++k) {
    const Return& r = g.returns()[k];
    got[r.kind == ReturnKind::grad ? "grad." + g.name(r.target) : fmt::format("out.{}", k)] =
        results[k];
  }
  for (const auto& [name, array] : want) {
    const auto it = got.find(name);
    ASSERT_NE(it, got.end()) << name;
    Array mine = it->second;
    EXPECT_EQ(mine.floating(), array.floating()) << name;
    if (mine.floating()) mine.dtype = array.dtype;  // floating results are wanted in f64
    EXPECT_EQ(test::mismatch(mine, array, tolerance), "") << name;
  }
}

void compare_all(Arrays (*run)(const Graph&, const Arrays&), double tolerance) {
  const std::vector<std::string> names = cases();
  if (names.empty()) GTEST_SKIP() << "CLEAVE_PEERS names no folder of graphs";
  for (const std::string& name : names) {
    SCOPED_TRACE(name);
    compare(folder() + "/" + name, run, tolerance);
  }
}

TEST(Peer, reference) { compare_all(run_reference, 1e-9); }
TEST(Peer, compiled) { compare_all(run_compiled, 1e-4); }

}  // namespace
}  // namespace cleave
