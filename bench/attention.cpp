// Attention alone, forward and backward, on two threads.
//
//   bench_attention           every shape as a table row
//   bench_attention NAME      one shape as one JSON object: forward_ms, backward_ms
//
// Operands have the layout that models give them: views of one [batch,time,3,heads,width].
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <random>
#include <vector>

#include "bench/timing.h"
#include "runtime/attention.h"

namespace {

using namespace cleave;
using namespace cleave::runtime;

struct Setting {
  const char* name;
  int64_t batch, heads, time, width;
  bool is_causal;
};

constexpr Setting settings[] = {
    {"b4h12t64", 4, 12, 64, 64, false},
    {"b8h6t256", 8, 6, 256, 64, false},
    {"b8h8t128", 8, 8, 128, 64, false},
    {"b1h12t1024causal", 1, 12, 1024, 64, true},
};

struct Figures {
  double forward_ms = 0, backward_ms = 0;
};

Figures measure(const Setting& s) {
  const int64_t packed = 3 * s.heads * s.width, one = s.batch * s.heads * s.time * s.width;
  const HeadStrides view{s.time * packed, s.width, packed, 1};
  const HeadStrides merged{s.time * s.heads * s.width, s.width, s.heads * s.width, 1};
  AttentionBackwardSpec spec;
  spec.forward = {.batch = s.batch,
                  .heads = s.heads,
                  .rows = s.time,
                  .columns = s.time,
                  .width = s.width,
                  .value_width = s.width,
                  .query = view,
                  .key = view,
                  .value = view,
                  .out = merged,
                  .sum_rows = s.time,
                  .scale = 0.125,
                  .is_causal = s.is_causal,
                  .mask = {},
                  .mask_at = {}};
  spec.dout = spec.dquery = spec.dkey = spec.dvalue = merged;
  const auto forward = value_or_throw(Attention::make(spec.forward, Target::here()));
  const auto backward = value_or_throw(AttentionGradient::make(spec, Target::here()));
  const auto size = [](int64_t n) { return static_cast<size_t>(n); };
  std::vector<float> qkv(size(3 * one)), out(size(one)), dout(size(one));
  std::vector<float> sums(size(s.batch * s.heads * s.time)), dq(size(one)), dk(dq), dv(dq);
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  for (auto* x : {&qkv, &dout})
    for (float& y : *x) y = normal(random);
  std::vector<float> scratch(
      size(std::max(forward->scratch_bytes(), backward->scratch_bytes()) / 4 + 16));
  void* aligned = scratch.data();
  size_t room = scratch.size() * sizeof(float);
  std::align(64, 64, aligned, room);
  const auto executor = make_thread_pool(2);
  const int64_t next = s.heads * s.width;
  const AttentionOperands in{qkv.data(), qkv.data() + next, qkv.data() + 2 * next};
  Figures f;
  f.forward_ms =
      bench::median_ms([&] { forward->run({in, out.data(), sums.data()}, aligned, *executor); });
  f.backward_ms = bench::median_ms([&] {
    backward->run({in, out.data(), sums.data(), dout.data(), dq.data(), dk.data(), dv.data()},
                  aligned, *executor);
  });
  return f;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 1) std::printf("%-18s %12s %12s\n", "shape", "forward ms", "backward ms");
  for (const Setting& s : settings) {
    if (argc > 1 && std::strcmp(argv[1], s.name) != 0) continue;
    const Figures f = measure(s);
    if (argc == 1)
      std::printf("%-18s %12.3f %12.3f\n", s.name, f.forward_ms, f.backward_ms);
    else
      std::printf("{\"shape\": \"%s\", \"forward_ms\": %.4f, \"backward_ms\": %.4f}\n", s.name,
                  f.forward_ms, f.backward_ms);
  }
}
