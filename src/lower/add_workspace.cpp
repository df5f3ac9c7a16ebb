#include "lower/add_workspace.h"

namespace cleave {

std::optional<size_t> add_workspace(LoweredProgram& program, const std::string& thunk,
                                    int64_t bytes) {
  if (bytes <= 0) return std::nullopt;
  program.storages.push_back({.name = thunk + ".scratch",
                              .dtype = DType::u8,
                              .elements = bytes,
                              .bytes = bytes,
                              .workspace = true});
  return program.storages.size() - 1;
}

}  // namespace cleave
