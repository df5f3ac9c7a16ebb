// Options as a line of text: what CompileOptions::text, parse and with do, with errors as values.
#pragma once
#include "base/result.h"
#include "compile/option_table.h"

namespace cleave {

// Of the owner's options those that differ from the defaults, in the table's order; a training
// step's include CompileOptions.
std::string print_options(const TrainOptions& options, OptionOwner owner);
Result<TrainOptions> parse_options(std::string_view text, OptionOwner owner);

}  // namespace cleave
