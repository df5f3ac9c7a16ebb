// Lifetimes of storages, updates in place, offsets in the arena.
#include <algorithm>

#include "lower/program.h"
#include "plan/offsets.h"

namespace cleave {

std::vector<size_t> storages_of(const Step& step) {
  struct Collect {
    std::vector<size_t> operator()(const KernelCall& k) const { return k.storages; }
    std::vector<size_t> operator()(const ProductCall& p) const {
      std::vector<size_t> out = {p.a.storage, p.b.storage, p.c};
      if (p.c_in) out.push_back(p.c_in->storage);
      if (p.scratch) out.push_back(*p.scratch);
      return out;
    }
    std::vector<size_t> operator()(const ForeignCall& f) const {
      std::vector<size_t> out = f.results;
      for (const auto& s : f.operands)
        if (s) out.push_back(*s);
      return out;
    }
  };
  return std::visit(Collect{}, step.work);
}

namespace {

void find_lifetimes(LoweredProgram& p) {
  for (Storage& s : p.storages) s.first = s.last = -1;
  for (size_t i = 0; i < p.steps.size(); ++i)
    for (size_t s : storages_of(p.steps[i])) {
      Storage& storage = p.storages[s];
      if (storage.first < 0) storage.first = static_cast<int64_t>(i);
      storage.last = static_cast<int64_t>(i);
    }
  for (size_t s : p.returns) {
    Storage& storage = p.storages[s];
    if (storage.first < 0) storage.first = 0;
    storage.last = static_cast<int64_t>(p.steps.size());
  }
}

int64_t rounded(int64_t bytes) {
  return (bytes + storage_alignment - 1) / storage_alignment * storage_alignment;
}

// The final copy `from -> to` of an update, as lower_graph writes it.
struct UpdateCopy {
  size_t step, from, to;
};

std::vector<UpdateCopy> update_copies(const LoweredProgram& p) {
  std::vector<UpdateCopy> out;
  for (size_t i = 0; i < p.steps.size(); ++i) {
    auto* call = std::get_if<KernelCall>(&p.steps[i].work);
    if (!call || !call->whole_copy) continue;
    size_t from = call->storages[0], to = call->storages[1];
    if (p.storages[to].placeholder >= 0 && p.storages[from].placeholder < 0)
      out.push_back({i, from, to});
  }
  return out;
}

// Whether the step's result may lie where `storage` does, which the step may also read.
bool can_write_over(const Step& step, size_t storage) {
  const std::vector<size_t> touched = storages_of(step);
  if (std::find(touched.begin(), touched.end(), storage) == touched.end())
    return !std::holds_alternative<ForeignCall>(step.work);
  auto* call = std::get_if<KernelCall>(&step.work);
  return call && std::find(call->same_address.begin(), call->same_address.end(), storage) !=
                     call->same_address.end();
}

}  // namespace

void update_in_place(LoweredProgram& p) {
  int64_t last_failure = -1;
  std::vector<std::vector<size_t>> touched(p.storages.size());  // steps by storage
  for (size_t i = 0; i < p.steps.size(); ++i) {
    if (p.steps[i].may_fail) last_failure = static_cast<int64_t>(i);
    for (size_t s : storages_of(p.steps[i]))
      if (touched[s].empty() || touched[s].back() != i) touched[s].push_back(i);
  }
  std::vector<bool> returned(p.storages.size()), renamed(p.storages.size()),
      dropped(p.steps.size());
  for (size_t s : p.returns) returned[s] = true;
  for (const UpdateCopy& u : update_copies(p)) {
    const std::vector<size_t>&from = touched[u.from], &to = touched[u.to];
    if (returned[u.from] || renamed[u.from] || from.empty()) continue;
    const size_t writer = from.front();
    if (writer == u.step || static_cast<int64_t>(writer) <= last_failure) continue;
    if (!can_write_over(p.steps[writer], u.to)) continue;
    if (p.storages[u.from].elements != p.storages[u.to].elements) continue;
    // Every other step on the placeholder comes no later than the writer.
    if (to.size() > 1 && to[to.size() - 2] > writer) continue;
    for (size_t step : from) {
      auto rename = [&](size_t& s) {
        if (s == u.from) s = u.to;
      };
      if (auto* k = std::get_if<KernelCall>(&p.steps[step].work))
        for (size_t& s : k->storages) rename(s);
      if (auto* m = std::get_if<ProductCall>(&p.steps[step].work)) {
        rename(m->a.storage), rename(m->b.storage), rename(m->c);
        if (m->c_in) rename(m->c_in->storage);
      }
      if (auto* f = std::get_if<ForeignCall>(&p.steps[step].work))
        for (auto& s : f->operands)
          if (s) rename(*s);
    }
    renamed[u.from] = true;
    dropped[u.step] = true;
  }
  std::vector<Step> kept;
  for (size_t i = 0; i < p.steps.size(); ++i)
    if (!dropped[i]) kept.push_back(std::move(p.steps[i]));
  p.steps = std::move(kept);
}

Status plan_memory(LoweredProgram& p) {
  find_lifetimes(p);
  std::vector<plan::Lifetime> lifetimes;
  std::vector<size_t> owner, low;
  p.placeholder_bytes = 0;
  for (size_t s = 0; s < p.storages.size(); ++s) {
    const Storage& storage = p.storages[s];
    if (storage.placeholder >= 0) {
      p.placeholder_bytes += rounded(storage.bytes);
    } else if (storage.first >= 0 && storage.bytes > 0) {
      if (storage.workspace) low.push_back(owner.size());
      owner.push_back(s);
      lifetimes.push_back({storage.first, storage.last + 1, storage.bytes});
    }
  }
  plan::Offsets offsets = plan::plan_offsets(lifetimes, storage_alignment, low);
  CLEAVE_CHECK(plan::verify_offsets(lifetimes, storage_alignment, offsets));
  for (size_t i = 0; i < owner.size(); ++i) p.storages[owner[i]].offset = offsets.offset[i];
  p.arena_bytes = offsets.height;
  p.arena_lower_bound = offsets.lower_bound;
  return {};
}

}  // namespace cleave
