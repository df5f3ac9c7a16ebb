// A training step of a table: what it reads by index, it moves by the learning rate.
#pragma once

namespace cleave::test {

inline constexpr const char* step_text =
    R"(graph @main(%w: param f32[300,40], %i: input i64[5], %lr: input f32[]) {
  %e = embedding(%w, %i)
  %s = sum(%e; dim=[0])
  %g = mul(%s, %lr)
  %w_next = sub(%w, %g)
  return %s, %w_next -> %w
})";

}  // namespace cleave::test
