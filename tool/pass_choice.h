// --passes off, --on a,b --off a,b --strict: which passes run.
#pragma once
#include "cleave/options.h"
#include "tool/option_list.h"

namespace cleave::tool {

// The names in a list separated by commas.
std::vector<std::string> split_names(const std::string& text);

struct PassChoice {
  std::string on, off, passes = "on";
  bool strict = false;

  void add_to(OptionList& options);
  // Also --passes, for commands that run all passes by default.
  void add_all_to(OptionList& options);
  // Errors (user): --passes is neither on nor off; a name of no pass.
  Status check() const;
  // Adds the choice to what the options say.
  void apply(CompileOptions& options) const;
};

}  // namespace cleave::tool
