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
    std::vector<size_t> operator()(const AttentionCall& a) const {
      std::vector<size_t> out;
      for (const auto& part : a.parts)
        if (part) out.push_back(part->storage);
      if (a.scratch) out.push_back(*a.scratch);
      return out;
    }
    std::vector<size_t> operator()(const ConvolutionCall& c) const {
      std::vector<size_t> out = {c.image.storage, c.other.storage, c.out};
      if (c.bias) out.push_back(c.bias->storage);
      if (c.like) out.push_back(*c.like);
      if (c.scratch) out.push_back(*c.scratch);
      return out;
    }
    std::vector<size_t> operator()(const ForeignCall& f) const {
      std::vector<size_t> out = f.results;
      for (const auto& s : f.operands)
        if (s) out.push_back(*s);
      return out;
    }
    std::vector<size_t> operator()(const JumpCall& j) const {
      if (!j.unless) return {};
      return {j.unless->storage};
    }
  };
  return std::visit(Collect{}, step.work);
}

void rename_storage(Step& step, size_t from, size_t to) {
  const auto rename = [&](size_t& s) {
    if (s == from) s = to;
  };
  if (auto* k = std::get_if<KernelCall>(&step.work)) {
    for (size_t& s : k->storages) rename(s);
    for (size_t& s : k->same_address) rename(s);
  }
  if (auto* m = std::get_if<ProductCall>(&step.work)) {
    rename(m->a.storage), rename(m->b.storage), rename(m->c);
    if (m->c_in) rename(m->c_in->storage);
    if (m->scratch) rename(*m->scratch);
  }
  if (auto* a = std::get_if<AttentionCall>(&step.work)) {
    for (auto& part : a->parts)
      if (part) rename(part->storage);
    if (a->scratch) rename(*a->scratch);
  }
  if (auto* c = std::get_if<ConvolutionCall>(&step.work)) {
    rename(c->image.storage), rename(c->other.storage), rename(c->out);
    if (c->bias) rename(c->bias->storage);
    if (c->like) rename(*c->like);
    if (c->scratch) rename(*c->scratch);
  }
  if (auto* f = std::get_if<ForeignCall>(&step.work)) {
    for (auto& s : f->operands)
      if (s) rename(*s);
    for (size_t& s : f->results) rename(s);
  }
  if (auto* j = std::get_if<JumpCall>(&step.work); j && j->unless) rename(j->unless->storage);
}

bool can_write_over(const Step& step, size_t storage) {
  const std::vector<size_t> touched = storages_of(step);
  if (std::find(touched.begin(), touched.end(), storage) == touched.end())
    return !std::holds_alternative<ForeignCall>(step.work);
  auto* call = std::get_if<KernelCall>(&step.work);
  return call && std::find(call->same_address.begin(), call->same_address.end(), storage) !=
                     call->same_address.end();
}

namespace {

struct Loop {
  size_t begin, end;  // the first step, the jump back
};

std::vector<Loop> loops_of(const LoweredProgram& p) {
  std::vector<Loop> out;
  for (size_t i = 0; i < p.steps.size(); ++i)
    if (auto* j = std::get_if<JumpCall>(&p.steps[i].work); j && j->target <= i)
      out.push_back({j->target, i});
  return out;
}

void find_lifetimes(LoweredProgram& p) {
  for (Storage& s : p.storages) s.first = s.last = -1;
  for (size_t i = 0; i < p.steps.size(); ++i)
    for (size_t s : storages_of(p.steps[i])) {
      Storage& storage = p.storages[s];
      if (storage.first < 0) storage.first = static_cast<int64_t>(i);
      storage.last = static_cast<int64_t>(i);
    }
  // Inner loops end before the loops around them.
  for (const Loop& loop : loops_of(p))
    for (Storage& s : p.storages) {
      const auto begin = static_cast<int64_t>(loop.begin), end = static_cast<int64_t>(loop.end);
      if (s.first >= 0 && s.first < begin && s.last >= begin) s.last = std::max(s.last, end);
    }
  for (size_t s : p.returns) {
    Storage& storage = p.storages[s];
    if (storage.first < 0) storage.first = 0;
    storage.last = static_cast<int64_t>(p.steps.size());
  }
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

bool is_foreign_result(const Step& step, size_t storage) {
  auto* f = std::get_if<ForeignCall>(&step.work);
  return f && std::find(f->results.begin(), f->results.end(), storage) != f->results.end();
}

bool copies_to_itself(const Step& step) {
  auto* call = std::get_if<KernelCall>(&step.work);
  return call && call->whole_copy && call->storages[0] == call->storages[1];
}

// Leaves steps out; jumps to one of them go to the next that stays.
void drop_steps(LoweredProgram& p, const std::vector<bool>& dropped) {
  std::vector<size_t> place(p.steps.size() + 1);
  std::vector<Step> kept;
  for (size_t i = 0; i < p.steps.size(); ++i) {
    place[i] = kept.size();
    if (!dropped[i]) kept.push_back(std::move(p.steps[i]));
  }
  place[p.steps.size()] = kept.size();
  for (Step& step : kept)
    if (auto* j = std::get_if<JumpCall>(&step.work)) j->target = place[j->target];
  p.steps = std::move(kept);
}

// The storages of the arena; those of `low` want the lowest addresses.
struct Arena {
  std::vector<plan::Lifetime> lifetimes;
  std::vector<size_t> owner, low;
};

// Finds lifetimes and adds up the placeholders on the way.
Arena arena_of(LoweredProgram& p) {
  find_lifetimes(p);
  Arena arena;
  p.placeholder_bytes = 0;
  for (size_t s = 0; s < p.storages.size(); ++s) {
    const Storage& storage = p.storages[s];
    if (storage.placeholder >= 0) {
      p.placeholder_bytes += rounded(storage.bytes);
    } else if (storage.first >= 0 && storage.bytes > 0) {
      if (storage.workspace) arena.low.push_back(arena.owner.size());
      arena.owner.push_back(s);
      arena.lifetimes.push_back({storage.first, storage.last + 1, storage.bytes});
    }
  }
  return arena;
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
      dropped(p.steps.size()), repeated(p.steps.size());
  for (size_t s : p.returns) returned[s] = true;
  for (const Loop& loop : loops_of(p))
    for (size_t i = loop.begin; i <= loop.end; ++i) repeated[i] = true;
  for (const UpdateCopy& u : update_copies(p)) {
    const std::vector<size_t>&from = touched[u.from], &to = touched[u.to];
    if (returned[u.from] || renamed[u.from] || from.empty()) continue;
    const size_t writer = from.front();
    if (writer == u.step || static_cast<int64_t>(writer) <= last_failure) continue;
    if (repeated[writer] || !can_write_over(p.steps[writer], u.to)) continue;
    if (p.storages[u.from].elements != p.storages[u.to].elements) continue;
    // The other arm of a branch may write it too.
    if (std::any_of(from.begin(), from.end(),
                    [&](size_t step) { return is_foreign_result(p.steps[step], u.from); }))
      continue;
    // Every other step on the placeholder comes no later than the writer.
    if (to.size() > 1 && to[to.size() - 2] > writer) continue;
    for (size_t step : from) rename_storage(p.steps[step], u.from, u.to);
    renamed[u.from] = true;
    dropped[u.step] = true;
  }
  for (size_t i = 0; i < p.steps.size(); ++i)
    if (copies_to_itself(p.steps[i])) dropped[i] = true;
  drop_steps(p, dropped);
}

void measure_memory(LoweredProgram& p) {
  p.arena_lower_bound = plan::largest_alive(arena_of(p).lifetimes, storage_alignment);
}

Status plan_memory(LoweredProgram& p) {
  const Arena arena = arena_of(p);
  plan::Offsets offsets = plan::plan_offsets(arena.lifetimes, storage_alignment, arena.low);
  CLEAVE_CHECK(plan::verify_offsets(arena.lifetimes, storage_alignment, offsets));
  for (size_t i = 0; i < arena.owner.size(); ++i)
    p.storages[arena.owner[i]].offset = offsets.offset[i];
  p.arena_bytes = offsets.height;
  p.arena_lower_bound = offsets.lower_bound;
  return {};
}

}  // namespace cleave
