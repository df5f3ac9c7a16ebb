// --on a,b --off a,b --strict: which of the passes run.
#pragma once
#include "pass/pass.h"
#include "tool/option_list.h"

namespace cleave::tool {

// The names between commas.
std::vector<std::string> split_names(const std::string& text);

struct PassChoice {
  std::string on, off;
  bool strict = false;

  void add_to(OptionList& options);
  // Names are not looked at: run_stage does.
  PassOptions pass_options() const;
};

}  // namespace cleave::tool
