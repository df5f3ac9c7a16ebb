// Trees of arguments and results, for people.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace cleave::exported {

// torch.utils._pytree's text (`[1, {"type": "builtins.tuple", ...}]`) with the leaves' texts:
// "((x, {\"a\": y}), {})". Types that aren't known stand by their names: "Point(x, y)".
// Errors (user): a text that is no such tree, or has another number of leaves.
Result<std::string> tree_text(std::string_view spec, const std::vector<std::string>& leaves);

}  // namespace cleave::exported
