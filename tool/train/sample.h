// Draws tokens one after another from a language model.
#pragma once
#include <vector>

#include "cleave/train.h"
#include "tool/train/run_model.h"

namespace cleave::tool {

// `count` ids that follow `begin` (at least one id), at temperature 0.8; of the last `context` ids
// the program sees all, which grows from `begin` on. The seed decides the draws.
std::vector<int64_t> draw_tokens(const RunModel& model, const CompileOptions& options,
                                 std::vector<int64_t> begin, int64_t count, int64_t context,
                                 uint64_t seed);

// Of a character run, which begins behind an end of line.
std::string sample_characters(const TrainArguments& o, const RunModel& model,
                              const CompileOptions& options, const std::string& vocabulary);
// Of a model run, which begins behind the separator of documents.
std::string sample_text(const TrainArguments& o, const RunModel& model,
                        const CompileOptions& options);

}  // namespace cleave::tool
