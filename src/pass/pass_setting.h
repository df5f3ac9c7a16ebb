// Numbers that a pass takes, and that an option may give with the pass's name:
//
//   passes_on=batch_linear:min_fuse_set_size:2:max_fuse_set_size:16
#pragma once
#include "pass/pass.h"

namespace cleave {

// "batch_linear" of the text above.
std::string_view pass_name_in(std::string_view text);

// The pass with the settings of the text, which begins with its name. Errors (user): one that the
// pass doesn't have, with those that it has; no integer, or one that is too small.
Result<Pass> with_settings(Pass pass, std::string_view text);

// The value of a setting that the pass has.
int64_t setting(const std::vector<PassSetting>& all, std::string_view name);

}  // namespace cleave
