#include "schedule/kernel_pool.h"

#include <algorithm>

namespace cleave::schedule {
namespace {

std::string key_of(loop::Kernel kernel, const KernelConstants& constants) {
  return replace_numbers(kernel, [](const loop::Expr& constant) { return constant; }, constants);
}

}  // namespace

std::vector<std::string> KernelPool::groups_of(const loop::Kernel& kernel) const {
  std::vector<std::string> out;
  const auto add = [&](const std::string& group) {
    if (std::ranges::find(out, group) == out.end()) out.push_back(group);
  };
  if (const auto at = group_of_name_.find(kernel.name); at != group_of_name_.end()) add(at->second);
  if (const auto at = groups_of_key_.find(key_of(kernel, constants)); at != groups_of_key_.end()) {
    const std::string own = key_of(kernel, {});
    if (std::ranges::find(at->second, own) != at->second.end()) add(own);
    std::ranges::for_each(at->second, add);
  }
  return out;
}

std::optional<KernelFamilies::Use> KernelPool::find(const loop::Kernel& kernel) const {
  for (const std::string& group : groups_of(kernel))
    if (auto use = families_.find(kernel, group)) return use;
  return {};
}

std::string KernelPool::why_not(const loop::Kernel& kernel) const {
  const std::vector<std::string> groups = groups_of(kernel);
  return families_.why_not(kernel, groups.empty() ? "" : groups.front());
}

size_t KernelPool::learn(std::span<const loop::Kernel> kernels) {
  const bool is_first = empty();
  size_t missed = 0;
  for (const loop::Kernel& kernel : kernels) {
    if (!is_first && find(kernel)) continue;
    ++missed;
    const std::vector<std::string> groups =
        is_first ? std::vector<std::string>() : groups_of(kernel);
    const std::string group = groups.empty() ? key_of(kernel, {}) : groups.front();
    families_.add(kernel, group);
    group_of_name_.try_emplace(kernel.name, group);
    std::vector<std::string>& known = groups_of_key_[key_of(kernel, constants)];
    if (std::ranges::find(known, group) == known.end()) known.push_back(group);
  }
  return missed;
}

}  // namespace cleave::schedule
