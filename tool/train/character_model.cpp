#include "tool/gpt.h"
#include "tool/train/run_model.h"

namespace cleave::tool {

RunModel character_model(const TrainArguments& o, int64_t characters) {
  const GptShape shape{.vocabulary = characters,
                       .layers = *o.layers,
                       .width = *o.width,
                       .heads = *o.heads,
                       .context = *o.context,
                       .dropout = *o.dropout};
  Generator rng(o.seed);
  const Gpt model(shape, rng);
  const auto number = [](auto v) { return fmt::format("{}", v); };
  return {
      .name = "gpt",
      .module = model,
      .loss = [model](const Tensor& idx, const Tensor& target) { return model.loss(idx, target); },
      .logits = [model](const Tensor& idx) { return model.logits(idx); },
      .inputs = {{"idx", DType::i64, {*o.batch, *o.context}},
                 {"target", DType::i64, {*o.batch, *o.context}}},
      .vocabulary = characters,
      .context = *o.context,
      .about = fmt::format("model    {} layers, width {}, {} heads, context {}", shape.layers,
                           shape.width, shape.heads, shape.context),
      .identity = {{"layers", number(shape.layers)},
                   {"width", number(shape.width)},
                   {"heads", number(shape.heads)},
                   {"context", number(shape.context)},
                   {"dropout", number(shape.dropout)}}};
}

}  // namespace cleave::tool
