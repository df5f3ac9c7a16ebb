#include "run/thunk_storages.h"

#include <algorithm>

namespace cleave {

std::vector<size_t> storages_of(const Thunk& thunk) {
  std::vector<size_t> out;
  each_touched(thunk, [&](size_t s) { out.push_back(s); });
  return out;
}

const char* kind_of(const Thunk& thunk) {
  if (const auto* call = std::get_if<LibraryCall>(&thunk.work)) return kind_of(call->spec);
  if (std::holds_alternative<ForeignCall>(thunk.work)) return "foreign";
  if (std::holds_alternative<TransferCall>(thunk.work)) return "transfer";
  return std::holds_alternative<JumpCall>(thunk.work) ? "jump" : "kernel";
}

int64_t host_bytes(const ThunkProgram& p) {
  int64_t out = 0;
  for (const Thunk& thunk : p.thunks)
    if (auto* t = std::get_if<TransferCall>(&thunk.work))
      out = std::max(out, t->host_offset + p.storages[t->storage].bytes);
  return out;
}

std::vector<ThunkLoop> loops_of(const ThunkProgram& p) {
  std::vector<ThunkLoop> out;
  for (size_t i = 0; i < p.thunks.size(); ++i)
    if (auto* j = std::get_if<JumpCall>(&p.thunks[i].work); j && j->target <= i)
      out.push_back({j->target, i});
  return out;
}

}  // namespace cleave
