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

// `-` is stdin. Errors (user): the file is missing, is a folder, or is larger than 4 GiB.
Result<std::string> read_text(const std::string& path);
// `-` is stdout. A file is written completely or not at all.
Status write_text(const std::string& path, const std::string& text);
// Reads, parses and verifies. At most 256 MiB.
Result<Program> read_program(const std::string& path, const OpRegistry& ops);

// `-` is stdin.
Result<SafetensorsFile> open_tensors(const std::string& path);
// Tensors by name; `-` is stdin or stdout.
Result<std::map<std::string, Array>> read_tensors(const std::string& path);
Status write_tensors(const std::string& path, const std::map<std::string, Array>& tensors);

// One line of JSON to stdout. Error (user): it can't be written.
Status print_json(const Json& json);

}  // namespace cleave::tool
