// Reads and writes the inputs and outputs of commands: graphs as text, tensors as safetensors,
// JSON.
#pragma once
#include <map>
#include <string>

#include "base/json.h"
#include "import/safetensors.h"
#include "ir/array.h"
#include "ir/text.h"

namespace cleave::tool {

// Of an option that names a model.
constexpr const char* graph_help = "a graph (.clv) or a model of PyTorch (.pt2); - is stdin";

// `-` is stdin. Errors (user): the file is missing, is a folder, or is larger than 4 GiB.
Result<std::string> read_text(const std::string& path);
// `-` is stdout. A file is written completely or not at all.
Status write_text(const std::string& path, const std::string& text);
// A model: a graph's text, a .pt2 of torch.export.save, which is told by its first bytes, or an
// .onnx file, told by its name; these bring their weights. Reads, parses and verifies. A text has
// at most 256 MiB.
struct Model {
  Program program;
  std::map<std::string, Array> weights;  // by placeholder
};
Result<Model> read_model(const std::string& path, const OpRegistry& ops);
// The same without weights.
Result<Program> read_program(const std::string& path, const OpRegistry& ops);

// `-` is stdin.
Result<SafetensorsFile> open_tensors(const std::string& path);
// The tensors of `path`, and those weights that it doesn't have; none of a path that is empty.
Result<std::map<std::string, Array>> read_inputs(const std::string& path,
                                                 std::map<std::string, Array> weights);
// Tensors by name; `-` is stdin or stdout. A complex one (C64) is read as the tensor of its parts.
Result<std::map<std::string, Array>> read_tensors(const std::string& path);
Status write_tensors(const std::string& path, const std::map<std::string, Array>& tensors);
// The tensors as a file in memory; errors name `name`.
Result<SafetensorsFile> as_file(const std::map<std::string, Array>& tensors,
                                const std::string& name);

// One line of JSON to stdout. Error (user): it can't be written.
Status print_json(const Json& json);

}  // namespace cleave::tool
