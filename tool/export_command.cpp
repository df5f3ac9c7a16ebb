// cleave export G.clv|M.pt2|M.onnx --onnx M.onnx: a forward graph for other runtimes.
#include "export/onnx/export_onnx.h"
#include "export/onnx/write_model.h"
#include "import/onnx/tensor_data.h"
#include "interp/array_memory.h"
#include "op/registry.h"
#include "tool/command.h"
#include "tool/graph_file.h"
#include "tool/standard_streams.h"

namespace cleave::tool {
namespace {

struct Options {
  std::string graph, onnx, weights;
  int64_t opset = to_onnx::usual_opset;
  bool json = false;
};

using Tensors = std::map<std::string, HostTensor>;

struct Weights {
  std::optional<SafetensorsFile> file;  // which tensors refer to
  Tensors tensors;
  std::string unread;  // lines
};

// The bytes where they lie; of bool as 0 and 1.
HostTensor tensor_of(const TensorEntry& e) {
  if (e.dtype == DType::boolean)
    return onnx::as_host_tensor(from_memory(e.dtype, e.shape, e.data.data()));
  return HostTensor::borrow(e.dtype, e.shape, const_cast<std::byte*>(e.data.data()));
}

// Those of the file, then those of the model itself that the file doesn't have. A tensor of the
// file that no placeholder takes is left out: a checkpoint holds more than a forward graph reads.
Result<Weights> weights_of(const Options& o, const Model& model) {
  Weights out;
  if (!o.weights.empty()) {
    CLEAVE_TRY(out.file, open_tensors(o.weights));
    for (const TensorEntry& e : out.file->entries()) {
      const ValueId v = model.program.main.find(e.name);
      if (v.valid() && model.program.main.placeholder_of(v))
        out.tensors.emplace(e.name, tensor_of(e));
      else
        out.unread += fmt::format("unread     {}\n", e.name);
    }
    if (out.tensors.empty())
      return user_error("{}: no tensor has the name of a placeholder of the graph", o.weights);
  }
  for (const auto& [name, array] : model.weights)
    if (!out.tensors.contains(name)) out.tensors.emplace(name, onnx::as_host_tensor(array));
  return out;
}

Json names_of(const std::vector<onnx::ValueInfo>& values) {
  Json out = Json::array();
  for (const onnx::ValueInfo& v : values) out.push_back(v.name);
  return out;
}

Status print_refusals(const to_onnx::Refusals& refusals) {
  Json list = Json::array();
  for (const auto& [why, calls] : refusals) {
    const size_t colon = why.find(": ");
    list.push_back(
        {{"op", why.substr(0, colon)}, {"calls", calls}, {"why", why.substr(colon + 2)}});
  }
  return print_json({{"nodes", 0}, {"unsupported", list}});
}

Status run(const Options& o) {
  if (o.onnx.empty() || o.onnx == "-") return user_error("--onnx: expected the name of a file");
  CLEAVE_TRY(const OpRegistry ops, core_ops());
  CLEAVE_TRY(const Model model, read_model(o.graph, ops));
  CLEAVE_TRY(const Weights weights, weights_of(o, model));
  to_onnx::Refusals refusals;
  const Result<to_onnx::ExportedModel> m = to_onnx::export_onnx(
      model.program.main, ops, {.weights = &weights.tensors, .opset = o.opset}, &refusals);
  if (!m.ok()) {
    if (o.json && !refusals.empty()) CLEAVE_CHECK(print_refusals(refusals));
    return Failure(m.failure()).within(o.graph);
  }
  CLEAVE_CHECK(to_onnx::write_model(o.onnx, m->model));
  const onnx::GraphProto& g = *m->model.graph;
  if (o.json)
    return print_json({{"nodes", g.nodes.size()},
                       {"initializers", g.initializers.size()},
                       {"inputs", names_of(g.inputs)},
                       {"outputs", names_of(g.outputs)},
                       {"opset", o.opset},
                       {"unsupported", Json::array()}});
  std::string text = fmt::format("{}: operator set {}, {} nodes, {} initializers\n", o.onnx,
                                 o.opset, g.nodes.size(), g.initializers.size());
  for (const onnx::ValueInfo& v : g.inputs) text += fmt::format("input      {}\n", v.name);
  for (const onnx::ValueInfo& v : g.outputs) text += fmt::format("output     {}\n", v.name);
  put(text + weights.unread);
  return check_stdout();
}

}  // namespace

Command export_command() {
  return {"export", "write a forward graph as an ONNX model",
          "  cleave export model.clv --weights model.safetensors --onnx model.onnx\n"
          "  cleave export model.pt2 --onnx model.onnx --opset 18",
          [](OptionList& options) {
            auto o = std::make_shared<Options>();
            options.required("GRAPH", o->graph, graph_help);
            options.option("--onnx", o->onnx, "the file to write; beyond 2 GiB also FILE.data");
            options.option("--weights", o->weights,
                           "tensors by placeholder (.safetensors), which become initializers; the "
                           "other placeholders are inputs");
            options.option("--opset", o->opset, "the operator set, 18 to 23 (21)");
            options.flag("--json", o->json,
                         "print one JSON object: nodes, initializers, inputs, outputs, "
                         "unsupported (op, calls, why)");
            return [o] { return run(*o); };
          }};
}

}  // namespace cleave::tool
