#include "tool/train/image_data.h"

#include "tool/grouped.h"

namespace cleave::tool {
namespace {

std::string text_of(const TensorType& t) {
  return fmt::format("{}[{}]", name_of(t.dtype), fmt::join(t.shape, ","));
}

Result<data::SourcePtr> open_images(const std::string& path, const RunModel& model) {
  data::SourcePtr rows = data::safetensors(path, {"pixel_values", "labels"});
  for (size_t k = 0; k < 2; ++k) {
    const InputSpec& spec = model.inputs[k];
    TensorType want{spec.dtype, spec.shape};
    want.shape.erase(want.shape.begin());
    const TensorType have = rows->types()[k];
    if (have.dtype != want.dtype || have.shape != want.shape)
      return user_error("{}: a row of {} is {}, the model takes {}", path, spec.name, text_of(have),
                        text_of(want));
  }
  return rows;
}

// Of all labels; to read all pixels would take as long as an epoch.
std::string identity_of(const std::string& path) {
  const data::SourcePtr labels = data::safetensors(path, {"labels"});
  Digest digest;
  int64_t label = 0;
  void* const to[] = {&label};
  for (int64_t row = 0; row < labels->size(); ++row) {
    labels->read(row, to);
    digest.add(&label, sizeof label);
  }
  return digest.text();
}

}  // namespace

Result<RunDataPtr> image_data(const TrainArguments& o, const RunModel& model) {
  if (o.images.empty())
    return user_error("{}: {} is a model of images; expected --images", model.files.config,
                      model.name);
  if (o.masked) return user_error("--masked: {} is a model of images", model.name);
  CLEAVE_TRY(const data::SourcePtr rows, open_images(o.images, model));
  Examples examples{.train = rows,
                    .about = fmt::format("{}: {} rows", o.images, grouped(rows->size())),
                    .unit = "images",
                    .identity = identity_of(o.images)};
  if (o.held_out.empty()) {
    std::tie(examples.train, examples.held_out) = hold_out(rows);
  } else {
    CLEAVE_TRY(examples.held_out, open_images(o.held_out, model));
  }
  return ExampleData::make(std::move(examples), *o.batch, o.seed, {},
                           "lower --batch, or give more images");
}

}  // namespace cleave::tool
