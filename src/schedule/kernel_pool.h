// The functions that the programs of one model share, whose kernels differ in sizes.
//
//   KernelPool pool;
//   pool.learn(kernels of the largest sizes);  pool.learn(kernels of others);
//   auto use = pool.find(kernel);              // of any sizes; nothing: learn() it
//
// More numbers may be arguments than where one program shares functions (share_kernels.h): small
// ones and divisors, because sizes are that, too. So that no more varies than sizes make vary,
// kernels that don't share a function in the first program don't share one here: a kernel of
// another program takes the function of the one with its name, if it can.
#pragma once
#include <map>
#include <string>

#include "schedule/kernel_families.h"

namespace cleave::schedule {

class KernelPool {
 public:
  // Returns how many of the kernels, which are scheduled, no function computed.
  size_t learn(std::span<const loop::Kernel> kernels);
  std::optional<KernelFamilies::Use> find(const loop::Kernel& kernel) const;
  // Why there is none, for a reader.
  std::string why_not(const loop::Kernel& kernel) const;

  size_t size() const { return families_.size(); }
  bool empty() const { return size() == 0; }
  // More kernels learned may give it more scalars, and change nothing else.
  loop::Kernel function(size_t k) const { return families_.function(k); }

 private:
  // By group, the key that share_kernels would give them: those that may have the kernel's
  // function, best first.
  std::vector<std::string> groups_of(const loop::Kernel& kernel) const;

  static constexpr KernelConstants constants{
      .least_extent = 2, .least_factor = 2, .divisors = false};
  KernelFamilies families_{constants};
  std::map<std::string, std::string, std::less<>> group_of_name_;
  std::map<std::string, std::vector<std::string>, std::less<>> groups_of_key_;
};

}  // namespace cleave::schedule
