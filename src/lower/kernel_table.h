// The kernels of a program that is being lowered, without duplicates. A group of calls that equals
// an earlier one (group_key.h) reuses its kernel without building it.
#pragma once
#include <unordered_map>

#include "lower/lower_choices.h"
#include "schedule/group_kernel.h"

namespace cleave {

// What is known of a group of calls once its kernel is built.
struct LoweredGroup {
  size_t kernel = 0;
  std::vector<GroupCode::InPlace> in_place;
  std::vector<size_t> streams;  // positions in the group of its random calls
  struct Partial {
    DType dtype;
    int64_t elements;
  };
  std::vector<Partial> partials;
  bool may_fail = false;
};

class KernelTable {
 public:
  explicit KernelTable(const LowerChoices& choices = {}) : choices_(choices) {}
  const LowerChoices& choices() const { return choices_; }
  const FoldParts& cut() const { return choices_.cut; }  // of long folds
  // Adds the kernel, and returns its number; an equal one's number if there is one. Names and work
  // don't count.
  size_t add(loop::Kernel kernel);

  // Whether check() holds of the calls with this key (calls_key), which is asked once.
  template <class Check>
  bool is_group(const std::string& key, const Check& check) {
    const auto [at, is_new] = is_group_.try_emplace(key);
    if (is_new) at->second = check();
    return at->second;
  }
  // By the keys of its calls and its memory; null for a new key.
  const LoweredGroup* find_group(const std::string& key) const;
  const LoweredGroup& add_group(std::string key, LoweredGroup group);

  std::vector<loop::Kernel> take() && { return std::move(kernels_); }

 private:
  const LowerChoices choices_;
  std::vector<loop::Kernel> kernels_;
  std::unordered_map<std::string, size_t> by_text_;  // without names
  std::unordered_map<std::string, bool> is_group_;
  std::unordered_map<std::string, LoweredGroup> groups_;
};

}  // namespace cleave
