#include "tool/options_text.h"

#include "compile/option_text.h"
#include "tool/graph_file.h"

namespace cleave::tool {

Result<CompileOptions> OptionsText::read() const {
  std::string given = text;
  if (given.starts_with('@')) { CLEAVE_TRY(given, read_text(given.substr(1))); }
  Result<TrainOptions> options = parse_options(given, OptionOwner::compile);
  if (!options.ok()) return Failure(options.failure()).within("--options");
  return options->compile;
}

}  // namespace cleave::tool
