// ONNX models where a command takes a graph, and as files of cleave.
#pragma once
#include <string>
#include <vector>

#include "base/result.h"
#include "import/onnx/import_onnx.h"

namespace cleave::tool {

// Told by its name.
bool is_onnx(const std::string& path);

struct OnnxFiles {
  std::string model, out;
  std::string fixed;                // .safetensors of inputs that are known now
  std::vector<std::string> shapes;  // "x=1x3x224x224"
  bool json = false;
};
// Writes DIR/model.clv, DIR/weights.safetensors and DIR/summary.txt. Errors: those of import_onnx;
// a word that is no shape. With json what isn't covered is printed too.
Status import_onnx_files(const OnnxFiles& files, const OpRegistry& ops);

}  // namespace cleave::tool
