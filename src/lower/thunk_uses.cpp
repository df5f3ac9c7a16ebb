#include "lower/thunk_uses.h"

#include <algorithm>

namespace cleave {

bool writes(const LoweredProgram& program, const Thunk& thunk, size_t storage) {
  bool out = false;
  each_use(program, thunk, [&](size_t s, bool written) { out |= written && s == storage; });
  return out;
}

void rename_storages(Thunk& thunk, const std::function<size_t(size_t)>& renamed) {
  const auto any = [](const KernelCall&, size_t) { return false; };
  each_storage(thunk, any, [&](size_t& s, bool) { s = renamed(s); });
  if (auto* k = std::get_if<KernelCall>(&thunk.work))
    for (InPlace& i : k->in_place) i = {renamed(i.operand), renamed(i.result)};
}

bool can_write_over(const Thunk& thunk, size_t result, size_t storage) {
  const std::vector<size_t> touched = storages_of(thunk);
  if (std::find(touched.begin(), touched.end(), storage) == touched.end())
    return !std::holds_alternative<ForeignCall>(thunk.work);
  auto* call = std::get_if<KernelCall>(&thunk.work);
  return call && std::any_of(call->in_place.begin(), call->in_place.end(), [&](const InPlace& i) {
           return i.operand == storage && i.result == result;
         });
}

bool copies_to_itself(const Thunk& thunk) {
  auto* call = std::get_if<KernelCall>(&thunk.work);
  return call && call->whole_copy && call->storages[0] == call->storages[1];
}

void drop_thunks(LoweredProgram& p, const std::vector<bool>& dropped) {
  std::vector<size_t> place(p.thunks.size() + 1);
  std::vector<Thunk> kept;
  for (size_t i = 0; i < p.thunks.size(); ++i) {
    place[i] = kept.size();
    if (!dropped[i]) kept.push_back(std::move(p.thunks[i]));
  }
  place[p.thunks.size()] = kept.size();
  for (Thunk& thunk : kept)
    if (auto* j = std::get_if<JumpCall>(&thunk.work)) j->target = place[j->target];
  p.thunks = std::move(kept);
}

bool has_jumps(const LoweredProgram& p) {
  return std::any_of(p.thunks.begin(), p.thunks.end(),
                     [](const Thunk& s) { return std::holds_alternative<JumpCall>(s.work); });
}

}  // namespace cleave
