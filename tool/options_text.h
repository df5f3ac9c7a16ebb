// --options TEXT: CompileOptions as text, in one option.
#pragma once
#include "base/result.h"
#include "cleave/options.h"
#include "tool/option_list.h"

namespace cleave::tool {

struct OptionsText {
  std::string text;  // empty: not given

  void add_to(OptionList& options) {
    options.option("--options", text,
                   "options of the library, such as \"strict=true memory_budget=60%\" "
                   "(doc/options.md), or @FILE with them; options of the command go before them");
  }
  // Errors (user): the file can't be read; those of CompileOptions::parse.
  Result<CompileOptions> read() const;
};

// Of --repro DIR, CompileOptions::repro.
inline constexpr const char* repro_help =
    "a folder in which a defect leaves the graph, the inputs, the options and the command that "
    "repeats it";

}  // namespace cleave::tool
