// Post-processors: the tokens that are put around those of a text, such as [CLS] and [SEP].
#pragma once
#include <vector>

#include "text/fields.h"

namespace cleave::text {

struct PostProcessor {
  std::vector<int64_t> before, after;
  bool has_text = true;  // the text's own tokens stand between
};

// From the object of the file: TemplateProcessing (its form for one sequence), BertProcessing,
// RobertaProcessing, ByteLevel (which changes no ids), sequences in which one adds tokens. Errors:
// (user) a member that is missing or wrong; (unsupported) other types and sequences.
Result<PostProcessor> read_post_processor(const Fields& fields);

}  // namespace cleave::text
