// write_graphs FOLDER N SEED [WITHOUT ...]: N random graphs of f64 and integers from SEED on,
// without the operators named, with what the oracle makes of them, for graphs.py to compare with
// PyTorch.
//
// For each seed graph_SEED.clv, graph_SEED.safetensors and graph_SEED.json:
//   {"nodes": [{"op": "add", "args": [...], "results": ["add.1", null]}, ...],   args: peer_file.h
//    "inputs": [["x", wants_grad], ...], "strides": {"x": [1, 4]}, "returns": ["add.1", ...]}
// Every third graph has strides (strided_graph.h); "strides" says those of its inputs.
// Tensors: each input by its name; cotangent.K of return K; want.K and want.grad.NAME by the
// oracle; allowed.K and allowed.grad.NAME, how far each element may be from it (inf: rounding
// decides it).
#include <cstdio>
#include <filesystem>
#include <fstream>

#include "ir/strides.h"
#include "ir/text.h"
#include "op/registry.h"
#include "test/sample/check_graph.h"
#include "test/sample/peer_file.h"
#include "test/sample/strided_graph.h"

namespace cleave::random {
namespace {

using law::Json;

Json nodes_of(const Graph& g) {
  Json out = Json::array();
  for (NodeId n = g.first_node(); n.valid(); n = g.next_node(n)) {
    const Node& node = g.node(n);
    Json results = Json::array();
    for (uint32_t k = 0; k < node.output_count; ++k)
      results.push_back(g.type(node.out(k)).is_none ? Json() : Json(g.name(node.out(k))));
    out.push_back({{"op", node.op->name}, {"args", law::arguments_of(g, n)}, {"results", results}});
  }
  return out;
}

Json json_of(const Graph& g) {
  Json inputs = Json::array(), strides = Json::object(), returns = Json::array();
  for (const Placeholder& p : g.placeholders()) {
    inputs.push_back({g.name(p.value), p.wants_grad});
    if (g.type(p.value).strides) strides[g.name(p.value)] = strides_of(g.type(p.value));
  }
  for (const Return& r : g.returns()) returns.push_back(g.name(r.value));
  return {{"nodes", nodes_of(g)}, {"inputs", inputs}, {"strides", strides}, {"returns", returns}};
}

Status write(const OpRegistry& ops, uint64_t seed, const GraphOptions& options,
             const std::string& folder) {
  CLEAVE_TRY(RandomGraph forward, random_graph(ops, seed, options));
  if (seed % 3 == 1) forward = with_strides(std::move(forward), seed);
  CLEAVE_TRY(const RandomGraph joint, with_gradients(forward, ops, seed));
  CLEAVE_TRY(const Expectation e, expectation_of(joint));
  law::TensorFile file;
  for (size_t i = 0; i < joint.inputs.size(); ++i) {
    const std::string& name = joint.g.name(joint.g.placeholders()[i].value);
    file.add(i < forward.inputs.size() ? name : "co" + name, joint.inputs[i]);
  }
  for (size_t k = 0; k < e.want.size(); ++k) {
    const Return& r = joint.g.returns()[k];
    const std::string key =
        r.kind == ReturnKind::grad ? "grad." + joint.g.name(r.target) : std::to_string(k);
    file.add("want." + key, e.want[k]);
    file.add("allowed." + key, e.allowed[k]);
  }
  const std::string path = fmt::format("{}/graph_{}", folder, seed);
  CLEAVE_CHECK(file.write(path + ".safetensors"));
  std::ofstream(path + ".clv") << print(forward.g);
  std::ofstream(path + ".json") << json_of(forward.g).dump() << "\n";
  return {};
}

int run(int argc, char** argv) {
  if (argc < 4) {
    fmt::print(stderr, "usage: write_graphs FOLDER N SEED [WITHOUT ...]\n");
    return 1;
  }
  const std::string folder = argv[1];
  const uint64_t n = std::stoull(argv[2]), seed = std::stoull(argv[3]);
  GraphOptions options;
  options.random = false;
  options.floats = law::Floats::f64;
  options.without.assign(argv + 4, argv + argc);
  std::filesystem::create_directories(folder);
  const OpRegistry ops = value_or_throw(core_ops());
  for (uint64_t k = 0; k < n; ++k) value_or_throw(write(ops, seed + k, options, folder));
  return 0;
}

}  // namespace
}  // namespace cleave::random

int main(int argc, char** argv) {
  try {
    return cleave::random::run(argc, argv);
  } catch (const std::exception& e) {
    fmt::print(stderr, "{}\n", e.what());
    return 3;
  }
}
