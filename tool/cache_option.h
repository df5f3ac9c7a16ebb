// --cache DIR|off|fresh: where compiled code is kept.
#pragma once
#include "cleave/options.h"
#include "tool/option_list.h"

namespace cleave::tool {

struct CacheOption {
  std::string text;  // empty: not given

  void add_to(OptionList& options) {
    options.option("--cache", text,
                   "where compiled code is kept for other runs: a folder; off; or fresh, an empty "
                   "folder in the usual one (default: $XDG_CACHE_HOME/cleave, or ~/.cache/cleave)");
  }
  // Without the option a usual folder that can't be had is no error: nothing is kept. Errors
  // (user), of fresh: no folder can be made.
  Status apply(CompileOptions& options) const;
};

}  // namespace cleave::tool
