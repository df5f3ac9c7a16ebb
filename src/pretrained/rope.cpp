#include "pretrained/rope.h"

#include <cmath>
#include <numbers>

#include "import/printable.h"

namespace cleave::pretrained {
namespace {

Result<Rope::Kind> kind_of(const Fields& f) {
  CLEAVE_TRY(const std::string older, f.text("type", "default"));
  CLEAVE_TRY(const std::string name, f.text("rope_type", older));
  if (name == "default") return Rope::Kind::plain;
  if (name == "linear") return Rope::Kind::linear;
  if (name == "llama3") return Rope::Kind::llama3;
  return unsupported("{} is {}, cleave has default, linear and llama3", f.name_of("rope_type"),
                     printable(name));
}

// Error (unsupported): only a part of each head would be rotated.
Status check_is_whole(const Fields& f) {
  CLEAVE_TRY(const double part, f.number("partial_rotary_factor", 1));
  if (part == 1) return {};
  return unsupported("{} is {}, cleave has 1 alone", f.name_of("partial_rotary_factor"), part);
}

Status read_llama3(const Fields& f, Rope& rope) {
  for (const char* key : {"factor", "low_freq_factor", "high_freq_factor"})
    if (!f.find(key)) return user_error("{} is missing", f.name_of(key));
  CLEAVE_TRY(rope.factor, f.positive("factor", 1));
  CLEAVE_TRY(rope.low, f.positive("low_freq_factor", 1));
  CLEAVE_TRY(rope.high, f.positive("high_freq_factor", 4));
  if (rope.high <= rope.low)
    return user_error("{} is {}, expected more than low_freq_factor, {}",
                      f.name_of("high_freq_factor"), rope.high, rope.low);
  return {};
}

// Long waves become `factor` times longer, short ones stay, those in between are interpolated.
void stretch_llama3(const Rope& rope, std::vector<float>& steps) {
  const auto factor = static_cast<float>(rope.factor), low = static_cast<float>(rope.low);
  const double longest = rope.original_context / rope.low;
  const double shortest = rope.original_context / rope.high;
  for (float& step : steps) {
    const float wave = 1 / step * static_cast<float>(2 * std::numbers::pi);
    const bool is_long = wave > static_cast<float>(longest);
    if (is_long) {
      step /= factor;
    } else if (!(wave < static_cast<float>(shortest))) {
      const float smooth = (1 / wave * static_cast<float>(rope.original_context) - low) /
                           static_cast<float>(rope.high - rope.low);
      step = (1 - smooth) * step / factor + smooth * step;
    }
  }
}

}  // namespace

Result<Rope> read_rope(const Fields& fields, int64_t context) {
  Rope rope;
  CLEAVE_TRY(rope.theta, fields.positive("rope_theta", rope.theta));
  CLEAVE_CHECK(check_is_whole(fields));
  CLEAVE_TRY(const std::optional<Fields> older, fields.object("rope_scaling"));
  CLEAVE_TRY(const std::optional<Fields> newer, fields.object("rope_parameters"));
  if (!older && !newer) return rope;
  const Fields& f = older && older->object().size() > 0 ? *older : newer ? *newer : *older;
  CLEAVE_CHECK(f.only_members({"rope_type", "type", "rope_theta", "partial_rotary_factor", "factor",
                               "low_freq_factor", "high_freq_factor", "attention_factor",
                               "original_max_position_embeddings"}));
  CLEAVE_TRY(rope.kind, kind_of(f));
  CLEAVE_TRY(rope.theta, f.positive("rope_theta", rope.theta));
  CLEAVE_CHECK(check_is_whole(f));
  if (rope.kind == Rope::Kind::linear) {
    if (!f.find("factor")) return user_error("{} is missing", f.name_of("factor"));
    CLEAVE_TRY(rope.factor, f.positive("factor", 1));
  }
  if (rope.kind == Rope::Kind::llama3) {
    CLEAVE_CHECK(read_llama3(f, rope));
    const char* key = "original_max_position_embeddings";
    CLEAVE_TRY(const double inner, f.positive(key, static_cast<double>(context)));
    CLEAVE_TRY(rope.original_context, fields.positive(key, inner));
  }
  return rope;
}

std::vector<float> frequencies(const Rope& rope, int64_t width) {
  std::vector<float> steps;
  const double theta = static_cast<float>(rope.theta);
  for (int64_t k = 0; k < width; k += 2) {
    const float exponent = static_cast<float>(k) / static_cast<float>(width);
    steps.push_back(1 / static_cast<float>(std::pow(theta, static_cast<double>(exponent))));
  }
  if (rope.kind == Rope::Kind::linear)
    for (float& step : steps) step /= static_cast<float>(rope.factor);
  if (rope.kind == Rope::Kind::llama3) stretch_llama3(rope, steps);
  return steps;
}

Rotation rotation(const Rope& rope, int64_t time, int64_t width, DType dtype, Location at) {
  const std::vector<float> steps = frequencies(rope, width);
  const auto pairs = static_cast<int64_t>(steps.size());
  HostTensor cosines(DType::f32, {time, pairs}), sines = cosines;
  for (int64_t t = 0; t < time; ++t)
    for (int64_t k = 0; k < pairs; ++k) {
      const double angle = static_cast<float>(t) * steps[static_cast<size_t>(k)];
      cosines.at<float>({t, k}) = static_cast<float>(std::cos(angle));
      sines.at<float>({t, k}) = static_cast<float>(std::sin(angle));
    }
  return {constant(cosines.to(dtype), at), constant(sines.to(dtype), at)};
}

Tensor rotated(const Tensor& x, const Rotation& r, Location at) {
  const int64_t half = x.size(3) / 2;
  const Tensor a = narrow(x, 3, 0, half, at), b = narrow(x, 3, half, half, at);
  return cat({sub(mul(a, r.cosines, at), mul(b, r.sines, at), 1, at),
              add(mul(b, r.cosines, at), mul(a, r.sines, at), 1, at)},
             3, at);
}

}  // namespace cleave::pretrained
