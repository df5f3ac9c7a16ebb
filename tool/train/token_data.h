// The data of a language model: windows of a stream of tokens.
#pragma once
#include "tool/train/example_data.h"
#include "tool/train/run_model.h"
#include "tool/train/token_stream.h"

namespace cleave::tool {

// Window k is tokens [k T, (k + 1) T), as input_ids and as labels; the rest is dropped.
data::SourcePtr windows(std::shared_ptr<const TokenStream> stream, int64_t length);

// Errors (user): a text without tokenizer, a tokenizer with more tokens than the model has, a token
// outside of the vocabulary, masking of a model that isn't masked, too little data; those of the
// files.
Result<RunDataPtr> token_data(const TrainArguments& o, const RunModel& model);

}  // namespace cleave::tool
