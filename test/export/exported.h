// Graphs written as ONNX in memory, and read back by the importer.
#pragma once
#include <gtest/gtest.h>

#include "export/onnx/export_onnx.h"
#include "export/onnx/write_model.h"
#include "import/onnx/import_onnx.h"
#include "import/onnx/read_model.h"
#include "import/onnx/tensor_data.h"
#include "interp/interpret.h"
#include "ir/text.h"
#include "op/registry.h"

namespace cleave::to_onnx {

inline const OpRegistry& registry() {
  static const OpRegistry ops = value_or_throw(core_ops());
  return ops;
}

inline Graph graph_of(const std::string& text) {
  return value_or_throw(parse(text, "test.clv", registry())).main;
}

inline std::vector<std::byte> bytes_of(const onnx::ModelProto& m) {
  const onnx::WireWriter w = encode(m);
  std::vector<std::byte> out;
  for (const auto piece : w.pieces()) out.insert(out.end(), piece.begin(), piece.end());
  return out;
}

// What export_onnx says of a graph that it refuses.
inline std::string refusal_of(const std::string& text, const ExportOptions& options = {}) {
  const Result<ExportedModel> m = export_onnx(graph_of(text), registry(), options);
  return m.ok() ? "" : m.failure().message;
}

inline std::vector<std::string> ops_of(const onnx::ModelProto& m) {
  std::vector<std::string> out;
  for (const onnx::NodeProto& n : m.graph->nodes) out.push_back(n.op);
  return out;
}

// The results of the model, read back, for inputs by name.
inline Result<Arrays> results_of(const onnx::ModelProto& m,
                                 const std::map<std::string, Array>& inputs) {
  const std::vector<std::byte> bytes = bytes_of(m);
  CLEAVE_TRY(const onnx::ImportedModel read, onnx::import_onnx({bytes, "model", ""}, registry()));
  std::map<std::string, Array> given;
  for (const auto& [name, t] : read.weights) given[name] = onnx::as_array(t);
  for (const auto& [name, in_file] : read.inputs) given[name] = inputs.at(in_file);
  return interpret(read.program.main, given);
}

}  // namespace cleave::to_onnx
