// --passes off, --on a,b --off a,b --strict: which of the passes run.
#pragma once
#include "pass/pass.h"
#include "tool/option_list.h"

namespace cleave::tool {

// The names between commas.
std::vector<std::string> split_names(const std::string& text);

struct PassChoice {
  std::string on, off, passes = "on";
  bool strict = false;

  void add_to(OptionList& options);
  // --passes too, for commands that run all of them otherwise.
  void add_all_to(OptionList& options);
  // Errors (user): --passes is neither on nor off; a name that no pass bears.
  Status check() const;
  PassOptions pass_options() const;
};

}  // namespace cleave::tool
