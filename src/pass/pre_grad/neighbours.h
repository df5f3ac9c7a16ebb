// Puts the calls of a group one behind the other, at the place of the first, and what they need
// before them (call_groups.h).
//
//   a = f(x)             a = f(x)
//   p = exp(a)           y = tanh(x)
//   y = tanh(x)     ->   b = f(y)
//   b = f(y)             p = exp(a)
//
// A graph that contains a call with an effect is unchanged.
#pragma once
#include "pass/pre_grad/call_groups.h"

namespace cleave {

// Matches are groups that weren't so, nodes their calls. Settings are those of groups and `more`.
Pass neighbour_pass(std::string name, std::string summary, std::vector<PassSetting> more,
                    std::function<GroupKey(const std::vector<PassSetting>&)> make_key);

}  // namespace cleave
