// The kernels of a program that is being lowered. Equal ones are one, and groups of calls like
// those of one before (group_key.h) are not written again.
#pragma once
#include <unordered_map>

#include "schedule/group_kernel.h"

namespace cleave {

// What is known of a group of calls once its kernel is written.
struct LoweredGroup {
  size_t kernel = 0;
  std::vector<GroupCode::InPlace> in_place;
  std::vector<size_t> streams;  // positions in the list of calls
  struct Partial {
    DType dtype;
    int64_t elements;
  };
  std::vector<Partial> partials;
  bool may_fail = false;
};

class KernelTable {
 public:
  // The number of the kernel, or of its equal: names, and the work, make no difference.
  size_t add(loop::Kernel kernel);

  // Null for a key that is new.
  const LoweredGroup* find_group(const std::string& key) const;
  const LoweredGroup& add_group(std::string key, LoweredGroup group);

  std::vector<loop::Kernel> take() && { return std::move(kernels_); }

 private:
  std::vector<loop::Kernel> kernels_;
  std::unordered_map<std::string, size_t> by_text_;  // without names
  std::unordered_map<std::string, LoweredGroup> groups_;
};

}  // namespace cleave
