// Rotary positions: "RoFormer" (Su et al., 2021), scaled as Llama 3.1 does.
#pragma once
#include <string>

#include "cleave/function.h"
#include "pretrained/config_file.h"

namespace cleave::pretrained {

// What config.json says in rope_parameters, or in rope_scaling and rope_theta.
struct Rope {
  enum class Kind : uint8_t { plain, linear, llama3 };
  Kind kind = Kind::plain;
  double theta = 10000;
  double factor = 1, low = 1, high = 4;  // of linear; of llama3
  double original_context = 0;
};
// Errors (user): numbers that are out of range; (unsupported): another rope_type, a part of a head
// that isn't rotated.
Result<Rope> read_rope(const Fields& fields, int64_t context);

// The angles' step from one position to the next, of each pair of a head: [width / 2]. In f32,
// operation by operation, as transformers computes them.
std::vector<float> frequencies(const Rope& rope, int64_t width);

struct Rotation {
  Tensor cosines, sines;  // [time, width / 2]
};
// Angles are products in f32, their cosines and sines are computed in f64 and rounded.
Rotation rotation(const Rope& rope, int64_t time, int64_t width, DType dtype, Location at);

// x [B,heads,T,width]: elements k and k + width / 2 are a pair, rotated by the angles of T.
Tensor rotated(const Tensor& x, const Rotation& r, Location at);

}  // namespace cleave::pretrained
