#include "tool/pass_choice.h"

#include <algorithm>

#include "pass/pipeline.h"

namespace cleave::tool {

std::vector<std::string> split_names(const std::string& text) {
  std::vector<std::string> out;
  for (size_t from = 0; from <= text.size();) {
    const size_t to = std::min(text.find(',', from), text.size());
    if (to > from) out.push_back(text.substr(from, to - from));
    from = to + 1;
  }
  return out;
}

void PassChoice::add_to(OptionList& options) {
  options.option("--on", on, "passes that run only where they are asked for: a,b");
  options.option("--off", off, "passes that don't run: a,b");
  options.flag("--strict", strict, "no rule that rounds otherwise");
}

void PassChoice::add_all_to(OptionList& options) {
  options.option("--passes", passes, "on or off");
  add_to(options);
}

Status PassChoice::check() const {
  if (passes != "on" && passes != "off")
    return user_error("--passes {}: expected on or off", passes);
  for (const auto& [option, text] : {std::pair("--on", &on), std::pair("--off", &off)})
    for (const std::string& name : split_names(*text))
      if (const Result<Pass> pass = find_pass(name); !pass.ok())
        return Failure(pass.failure()).within(option);
  return {};
}

void PassChoice::apply(CompileOptions& options) const {
  for (const std::string& name : split_names(off)) options.passes_off.push_back(name);
  if (passes == "off") options.passes_off.emplace_back("all");
  for (const std::string& name : split_names(on)) options.passes_on.push_back(name);
  options.strict |= strict;
}

}  // namespace cleave::tool
