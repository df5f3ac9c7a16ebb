#include "lower/step_uses.h"

#include <algorithm>

namespace cleave {
namespace {

// Calls f(storage, whether it is written) for each storage, for some several times.
template <class StepType, class F>
void each_storage(StepType& step, const std::vector<loop::Kernel>* kernels, const F& f) {
  if (auto* k = std::get_if<KernelCall>(&step.work)) {
    for (size_t b = 0; b < k->storages.size(); ++b)
      f(k->storages[b], kernels && (*kernels)[k->kernel].buffers[b].access != loop::Access::read);
  } else if (auto* l = std::get_if<LibraryCall>(&step.work)) {
    for (auto& o : l->operands) f(o.storage, o.access == loop::LibraryAccess::write);
    if (l->workspace) f(*l->workspace, true);
  } else if (auto* h = std::get_if<ForeignCall>(&step.work)) {
    for (auto& s : h->operands)
      if (s) f(*s, false);
    for (auto& s : h->results) f(s, true);
  } else if (auto* j = std::get_if<JumpCall>(&step.work); j && j->unless) {
    f(j->unless->storage, false);
  }
}

}  // namespace

std::vector<StorageUse> uses_of(const LoweredProgram& program, const Step& step) {
  std::vector<StorageUse> out;
  each_storage(step, &program.kernels, [&](size_t s, bool w) { out.push_back({s, w}); });
  return out;
}

std::vector<size_t> storages_of(const Step& step) {
  std::vector<size_t> out;
  each_storage(step, nullptr, [&](size_t s, bool) { out.push_back(s); });
  return out;
}

bool writes(const LoweredProgram& program, const Step& step, size_t storage) {
  bool out = false;
  each_storage(step, &program.kernels,
               [&](size_t s, bool written) { out |= written && s == storage; });
  return out;
}

void rename_storages(Step& step, const std::function<size_t(size_t)>& renamed) {
  each_storage(step, nullptr, [&](size_t& s, bool) { s = renamed(s); });
  if (auto* k = std::get_if<KernelCall>(&step.work))
    for (InPlace& i : k->in_place) i = {renamed(i.operand), renamed(i.result)};
}

bool can_write_over(const Step& step, size_t result, size_t storage) {
  const std::vector<size_t> touched = storages_of(step);
  if (std::find(touched.begin(), touched.end(), storage) == touched.end())
    return !std::holds_alternative<ForeignCall>(step.work);
  auto* call = std::get_if<KernelCall>(&step.work);
  return call && std::any_of(call->in_place.begin(), call->in_place.end(), [&](const InPlace& i) {
           return i.operand == storage && i.result == result;
         });
}

bool copies_to_itself(const Step& step) {
  auto* call = std::get_if<KernelCall>(&step.work);
  return call && call->whole_copy && call->storages[0] == call->storages[1];
}

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

std::vector<StepLoop> loops_of(const LoweredProgram& p) {
  std::vector<StepLoop> out;
  for (size_t i = 0; i < p.steps.size(); ++i)
    if (auto* j = std::get_if<JumpCall>(&p.steps[i].work); j && j->target <= i)
      out.push_back({j->target, i});
  return out;
}

bool has_jumps(const LoweredProgram& p) {
  return std::any_of(p.steps.begin(), p.steps.end(),
                     [](const Step& s) { return std::holds_alternative<JumpCall>(s.work); });
}

}  // namespace cleave
