#include "run/thunk_storages.h"

namespace cleave {

std::vector<size_t> storages_of(const Thunk& thunk) {
  std::vector<size_t> out;
  each_touched(thunk, [&](size_t s) { out.push_back(s); });
  return out;
}

const char* kind_of(const Thunk& thunk) {
  if (const auto* call = std::get_if<LibraryCall>(&thunk.work)) return kind_of(call->spec);
  if (std::holds_alternative<ForeignCall>(thunk.work)) return "foreign";
  return std::holds_alternative<JumpCall>(thunk.work) ? "jump" : "kernel";
}

std::vector<ThunkLoop> loops_of(const ThunkProgram& p) {
  std::vector<ThunkLoop> out;
  for (size_t i = 0; i < p.thunks.size(); ++i)
    if (auto* j = std::get_if<JumpCall>(&p.thunks[i].work); j && j->target <= i)
      out.push_back({j->target, i});
  return out;
}

}  // namespace cleave
