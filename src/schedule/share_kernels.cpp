#include "schedule/share_kernels.h"

#include "schedule/kernel_families.h"

namespace cleave::schedule {

SharedKernels share_kernels(std::span<const loop::Kernel> scheduled) {
  KernelFamilies families;
  std::vector<KernelFamilies::Member> members;
  for (const loop::Kernel& k : scheduled) members.push_back(families.add(k));
  SharedKernels out;
  for (size_t f = 0; f < families.size(); ++f) out.kernels.push_back(families.function(f));
  for (const KernelFamilies::Member& member : members) {
    KernelFamilies::Use use = families.use_of(member);
    out.uses.push_back({use.family, std::move(use.scalars)});
  }
  return out;
}

}  // namespace cleave::schedule
