// Where this user's cache lies, unless --cache says otherwise.
#pragma once
#include <string>

#include "base/result.h"

namespace cleave::tool {

// $XDG_CACHE_HOME/cleave, or ~/.cache/cleave. As the XDG rules say, a relative XDG_CACHE_HOME
// doesn't count. Error (user): HOME isn't set either.
Result<std::string> default_cache_folder();

}  // namespace cleave::tool
