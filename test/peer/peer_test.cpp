// Graphs written by a peer framework, with its inputs, results and gradients: the oracle gives the
// same. CLEAVE_PEERS names a folder of NAME.clv, NAME.in.safetensors and NAME.want.safetensors;
// without it every case is skipped by name.
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

namespace cleave {
namespace {

constexpr double tolerance = 1e-9;

std::string folder() {
  const char* set = std::getenv("CLEAVE_PEERS");
  return set ? set : "";
}

std::vector<std::string> cases() {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder(), error))
    if (entry.path().extension() == ".clv") names.push_back(entry.path().stem().string());
  if (names.empty()) names = {"mlp", "gpt", "softmax_ln", "index"};
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
  for (const TensorEntry& e : value_or_throw(SafetensorsFile::open(path)).entries())
    out[e.name] = from_memory(e.dtype, e.shape, e.data.data());
  return out;
}

class Peer : public testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    path_ = folder() + "/" + GetParam();
    if (folder().empty() || !std::filesystem::exists(path_ + ".clv"))
      GTEST_SKIP() << "CLEAVE_PEERS names no folder with " << GetParam() << ".clv";
  }
  std::string path_;
};

// Results of g by the names that the files use.
std::map<std::string, Array> run(const Graph& g, const std::map<std::string, Array>& given) {
  std::map<std::string, Array> inputs;
  for (const Placeholder& p : g.placeholders()) {
    std::string name = g.name(p.value);
    if (p.role == Role::tangent) {
      const std::string cotangent = "co" + name;
      if (auto it = given.find(cotangent); it != given.end()) {
        inputs[name] = it->second;
      } else {
        inputs[name] = Array(g.type(p.value).dtype, static_shape(g.type(p.value)));
        std::fill(inputs[name].f.begin(), inputs[name].f.end(), 1.0);
      }
    } else {
      inputs[name] = given.at(name);
    }
  }
  Arrays results = value_or_throw(interpret(g, inputs));
  std::map<std::string, Array> out;
  for (size_t k = 0; k < results.size(); ++k) {
    const Return& r = g.returns()[k];
    out[r.kind == ReturnKind::grad ? "grad." + g.name(r.target) : fmt::format("out.{}", k)] =
        std::move(results[k]);
  }
  return out;
}

TEST_P(Peer, results_and_gradients) {
  const Graph forward = test::parsed(read_text(path_ + ".clv"));
  const auto given = read_arrays(path_ + ".in.safetensors");
  const auto want = read_arrays(path_ + ".want.safetensors");
  const bool differentiated =
      std::any_of(want.begin(), want.end(), [](const auto& w) { return w.first.starts_with("grad."); });
  const Graph g = differentiated ? value_or_throw(make_joint(forward, test::core())) : forward;
  const auto got = run(g, given);
  for (const auto& [name, array] : want) {
    auto it = got.find(name);
    ASSERT_NE(it, got.end()) << name;
    Array mine = it->second;
    mine.dtype = array.dtype;  // floating results are wanted in f64
    EXPECT_EQ(test::mismatch(mine, array, tolerance), "") << name;
  }
}

INSTANTIATE_TEST_SUITE_P(, Peer, testing::ValuesIn(cases()),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace cleave
