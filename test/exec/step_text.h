// Graphs of several tests.
#pragma once

namespace cleave::test {

// A training step of a table: what it reads by index, it moves by the learning rate.
inline constexpr const char* step_text =
    R"(graph @main(%w: param f32[300,40], %i: input i64[5], %lr: input f32[]) {
  %e = embedding(%w, %i)
  %s = sum(%e; dim=[0])
  %g = mul(%s, %lr)
  %w_next = sub(%w, %g)
  return %s, %w_next -> %w
})";

// Doubles x until k is 5: the host reads whether it goes on.
inline constexpr const char* loop_text =
    R"(graph @more(%k: input i64[], %x: input f32[3]) {
    %c = lt(%k; other=5)
    return %c
  }
  graph @next(%k: input i64[], %x: input f32[3]) {
    %n = add(%k; other=1)
    %y = mul(%x; other=2.0)
    return %n, %y
  }
  graph @main(%k: input i64[], %x: input f32[3]) {
    %n, %y = while_loop([%k, %x]; condition=@more, body=@next)
    return %n, %y
  })";

}  // namespace cleave::test
