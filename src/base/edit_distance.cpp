#include "base/edit_distance.h"

#include <algorithm>
#include <numeric>
#include <vector>

namespace cleave {

size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i + 1;
    for (size_t j = 0; j < b.size(); ++j) {
      size_t replaced = diagonal + (a[i] != b[j]);
      diagonal = row[j + 1];
      row[j + 1] = std::min({row[j] + 1, row[j + 1] + 1, replaced});
    }
  }
  return row[b.size()];
}

void NearestName::offer(std::string_view known) {
  if (name_.size() > 64) return;
  const size_t d = edit_distance(name_, known);
  if (d >= distance_) return;
  best_ = known;
  distance_ = d;
}

}  // namespace cleave
