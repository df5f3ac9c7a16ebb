// The data of a model of images: rows of a .safetensors file, pixel_values f32[N,C,H,W] (as the
// model's processor makes them) and labels i64[N].
#pragma once
#include "tool/train/example_data.h"
#include "tool/train/run_model.h"

namespace cleave::tool {

// Errors (user): a file that lacks one of the tensors, or has them in another dtype, or pixels of
// other sizes than the model's; too few rows.
Result<RunDataPtr> image_data(const TrainArguments& o, const RunModel& model);

}  // namespace cleave::tool
