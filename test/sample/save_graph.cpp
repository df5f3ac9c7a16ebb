#include "test/sample/save_graph.h"

#include <filesystem>
#include <fstream>

#include "import/safetensors.h"
#include "interp/array_memory.h"
#include "ir/text.h"

namespace cleave::random {

void save_graph(const RandomGraph& r, const std::string& folder, uint64_t seed) {
  std::filesystem::create_directories(folder);
  const std::string path = fmt::format("{}/wrong_{}", folder, seed);
  std::ofstream(path + ".clv") << print(r.g);
  std::vector<std::vector<std::byte>> memory;
  std::vector<TensorEntry> entries;
  for (const Array& a : r.inputs) memory.push_back(to_memory(a));
  for (size_t i = 0; i < memory.size(); ++i)
    entries.push_back(
        {r.g.name(r.g.placeholders()[i].value), r.inputs[i].dtype, r.inputs[i].shape, memory[i]});
  value_or_throw(write_safetensors(path + ".safetensors", entries));
}

}  // namespace cleave::random
