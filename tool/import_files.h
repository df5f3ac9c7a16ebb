// The files of an imported model, whatever format it came from.
#pragma once
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "cleave/host_tensor.h"
#include "ir/graph.h"

namespace cleave::tool {

// What an importer leaves, and what is told of it.
struct ImportedFiles {
  const Program& program;
  const std::map<std::string, HostTensor>& weights;  // by placeholder
  std::string head;                                  // first lines of the summary
  std::map<std::string, std::string> notes = {};     // by placeholder, or out.3: ends its line
  std::string ties = {};                             // lines behind the placeholders
  std::vector<std::pair<std::string, std::string>> told = {};  // by name, in JSON
};

// Writes DIR/model.clv, DIR/weights.safetensors and DIR/summary.txt. Then prints the summary, or
// one JSON object: nodes, unsupported (none), the files, and `told`. Errors (user): no folder.
Status write_import(const ImportedFiles& files, const std::string& folder, bool json);

// Of a model that isn't read: prints what isn't covered.
Status print_uncovered(const Json& unsupported);

}  // namespace cleave::tool
