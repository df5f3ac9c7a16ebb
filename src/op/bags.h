// Bags of indices, as _embedding_bag and its backward read them:
//
//   indices [n]   offsets [b]: bag k goes from offsets[k] to the next one, or to the end
#pragma once
#include "ir/builder.h"

namespace cleave {

enum BagMode : int64_t { sum_bag, mean_bag, max_bag };

// [n], the bag of each of n indices; starts [b]. Those outside of [0, n] are at its ends.
ValueId bag_of_each(Builder& b, ValueId starts, const Dim& n);

// For reference rules: the same.
std::vector<int64_t> bag_of_each(const std::vector<int64_t>& starts, int64_t n);

}  // namespace cleave
