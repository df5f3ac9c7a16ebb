// Levenshtein distance, for "did you mean".
#pragma once
#include <cstddef>
#include <string>
#include <string_view>

namespace cleave {

// O(|a| |b|); callers bound the lengths.
size_t edit_distance(std::string_view a, std::string_view b);

// Keeps the nearest of the offered names; empty if none is within two edits plus a third of the
// name's length, or if the name is longer than 64.
class NearestName {
 public:
  explicit NearestName(std::string_view name) : name_(name), distance_(2 + name.size() / 3) {}
  void offer(std::string_view known);
  const std::string& best() const { return best_; }

 private:
  std::string name_, best_;
  size_t distance_;
};

}  // namespace cleave
