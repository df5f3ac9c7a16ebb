#include "lower/kernel_table.h"

#include <unordered_set>

namespace cleave {

using namespace cleave::loop;

namespace {

// The text without names and work: equal for kernels that differ only in these.
std::string nameless(Kernel k) {
  k.name = "k";
  k.work = 0;
  for (size_t i = 0; i < k.buffers.size(); ++i) k.buffers[i].name = fmt::format("b{}", i);
  return print(k);
}

// A value and a copy of it may have the same name: in the kernel the second is %x.2.
void give_each_a_name(std::vector<Buffer>& buffers) {
  std::unordered_set<std::string> taken;
  for (Buffer& b : buffers) {
    std::string name = b.name;
    for (int k = 2; !taken.insert(name).second; ++k) name = fmt::format("{}.{}", b.name, k);
    b.name = std::move(name);
  }
}

}  // namespace

size_t KernelTable::add(Kernel kernel) {
  give_each_a_name(kernel.buffers);
  const auto [it, added] = by_text_.emplace(nameless(kernel), kernels_.size());
  if (added) kernels_.push_back(std::move(kernel));
  return it->second;
}

const LoweredGroup* KernelTable::find_group(const std::string& key) const {
  const auto it = groups_.find(key);
  return it == groups_.end() ? nullptr : &it->second;
}

const LoweredGroup& KernelTable::add_group(std::string key, LoweredGroup group) {
  return groups_.emplace(std::move(key), std::move(group)).first->second;
}

}  // namespace cleave
