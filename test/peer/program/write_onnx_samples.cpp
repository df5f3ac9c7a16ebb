// write_onnx_samples FOLDER FIRST OPSET [OPERATOR ...]: samples of the operators, so many of each
// or all (0), as ONNX models with the oracle's results, for onnx_export.py to compare with
// onnxruntime.
//
// For each operator OP.safetensors (K.in.NAME, K.out.J of sample K), OP.json and OP.K.onnx.
// OP.json: [{"sample": 3, "written": true, "why": "", "call": its line}, ...]
#include <fstream>

#include "export/onnx/export_onnx.h"
#include "export/onnx/write_model.h"
#include "interp/interpret.h"
#include "ir/text.h"
#include "op/registry.h"
#include "test/sample/peer_file.h"
#include "test/sample/sample_call.h"

namespace cleave::law {
namespace {

Result<Json> write_sample(const OpRegistry& ops, const OpDef& op, const Sample& sample, size_t k,
                          int64_t opset, const std::string& stem, TensorFile& file) {
  Graph g;
  Arrays inputs;
  CLEAVE_TRY(const SampleCall call, add_sample(g, op, sample, k, Floats::own, "s", inputs));
  const Node& node = g.node(call.node);
  for (uint32_t r = 0; r < node.output_count; ++r)
    if (!g.type(node.out(r)).is_none) g.add_return({node.out(r), ReturnKind::result, {}});
  Json out = {{"sample", k}, {"written", false}, {"why", ""}, {"call", print_node(g, call.node)}};
  const Result<to_onnx::ExportedModel> m = to_onnx::export_onnx(g, ops, {.opset = opset});
  if (!m.ok()) {
    if (m.failure().kind != ErrorKind::unsupported) return m.failure();
    out["why"] = m.failure().message;
    return out;
  }
  out["written"] = true;
  CLEAVE_CHECK(to_onnx::write_model(fmt::format("{}.{}.onnx", stem, k), m->model));
  std::vector<const Array*> in;
  for (size_t i = 0; i < inputs.size(); ++i) {
    in.push_back(&inputs[i]);
    file.add(fmt::format("{}.in.{}", k, g.name(g.placeholders()[i].value)), inputs[i]);
  }
  CLEAVE_TRY(const Arrays results, interpret(g, in));
  for (size_t r = 0; r < results.size(); ++r) file.add(fmt::format("{}.out.{}", k, r), results[r]);
  return out;
}

int run(const std::vector<std::string>& words) {
  if (words.size() < 3) {
    fmt::print(stderr, "usage: write_onnx_samples FOLDER FIRST OPSET [OPERATOR ...]\n");
    return 1;
  }
  const OpRegistry ops = value_or_throw(core_ops());
  const size_t first = words[1] == "0" ? SIZE_MAX : std::stoul(words[1]);
  const int64_t opset = std::stol(words[2]);
  const std::vector<std::string> wanted(words.begin() + 3, words.end());
  int bad = 0;
  for (const auto& op : ops.all()) {
    if (!wanted.empty() && std::find(wanted.begin(), wanted.end(), op->name) == wanted.end())
      continue;
    const std::string stem = words[0] + "/" + op->name;
    TensorFile file;
    Json list = Json::array();
    const Samples samples = op->samples();
    for (size_t k = 0; k < samples.size() && k < first; ++k) {
      Result<Json> one = write_sample(ops, *op, samples[k], k, opset, stem, file);
      if (one.ok()) {
        list.push_back(*std::move(one));
      } else {
        fmt::print(stderr, "{}, sample {}: {}\n", op->name, k, one.failure().message);
        ++bad;
      }
    }
    value_or_throw(file.write(stem + ".safetensors"));
    std::ofstream(stem + ".json") << list.dump(1) << "\n";
  }
  return bad == 0 ? 0 : 1;
}

}  // namespace
}  // namespace cleave::law

int main(int argc, char** argv) {
  try {
    return cleave::law::run({argv + 1, argv + argc});
  } catch (const std::exception& e) {
    fmt::print(stderr, "{}\n", e.what());
    return 3;
  }
}
