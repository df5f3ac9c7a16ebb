// Attention alone, forward and backward, on two threads.
//
//   bench_attention [TYPE] [--target TARGET]           every shape as a table row
//   bench_attention NAME [TYPE] [--target TARGET]      one shape as one JSON object: forward_ms,
//                                                      backward_ms
//
// TYPE is f32, bf16 or f16; TARGET is one of cleave/target.h, this machine without it.
// Operands have the layout that models give them: views of one [batch,time,3,heads,width].
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <random>
#include <string_view>
#include <vector>

#include "base/target.h"
#include "bench/timing.h"
#include "runtime/attention.h"
#include "runtime/half.h"

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

void store(DType dtype, float value, std::byte* to) {
  const auto put = [&](auto number) { std::memcpy(to, &number, sizeof number); };
  if (dtype == DType::f32)
    put(value);
  else if (dtype == DType::bf16)
    put(Bf16(value));
  else
    put(static_cast<F16>(value));
}

struct Figures {
  double forward_ms = 0, backward_ms = 0;
};

Figures measure(const Setting& s, DType dtype, const Target& target) {
  const int64_t packed = 3 * s.heads * s.width, one = s.batch * s.heads * s.time * s.width;
  const HeadStrides view{s.time * packed, s.width, packed, 1};
  const HeadStrides merged{s.time * s.heads * s.width, s.width, s.heads * s.width, 1};
  AttentionBackwardSpec spec;
  spec.forward = {.dtype = dtype,
                  .batch = s.batch,
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
  const auto forward = value_or_throw(Attention::make(spec.forward, target));
  const auto backward = value_or_throw(AttentionGradient::make(spec, target));
  const auto size = [](int64_t n) { return static_cast<size_t>(n); };
  const int64_t bytes = size_of(dtype);
  std::vector<std::byte> qkv(size(3 * one * bytes)), out(size(one * bytes)), dout(out), dq(out),
      dk(out), dv(out);
  std::vector<float> sums(size(s.batch * s.heads * s.time));
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  for (auto* x : {&qkv, &dout})
    for (size_t at = 0; at < x->size(); at += size(bytes)) store(dtype, normal(random), &(*x)[at]);
  std::vector<float> scratch(
      size(std::max(forward->scratch_bytes(), backward->scratch_bytes()) / 4 + 16));
  void* aligned = scratch.data();
  size_t room = scratch.size() * sizeof(float);
  std::align(64, 64, aligned, room);
  const auto executor = make_thread_pool(2);
  const int64_t next = s.heads * s.width;
  const AttentionOperands in{qkv.data(), qkv.data() + next * bytes, qkv.data() + 2 * next * bytes};
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
  const char* name = nullptr;
  DType dtype = DType::f32;
  Target target = Target::here();
  for (int k = 1; k < argc; ++k) {
    const std::string_view word = argv[k];
    if (word == "--target" && k + 1 < argc)
      target = value_or_throw(parse_target(argv[++k]));
    else if (word == "f32" || word == "bf16" || word == "f16")
      dtype = word == "f32" ? DType::f32 : word == "bf16" ? DType::bf16 : DType::f16;
    else
      name = argv[k];
  }
  if (name == nullptr) std::printf("%-18s %12s %12s\n", "shape", "forward ms", "backward ms");
  for (const Setting& s : settings) {
    if (name != nullptr && std::strcmp(name, s.name) != 0) continue;
    const Figures f = measure(s, dtype, target);
    if (name == nullptr)
      std::printf("%-18s %12.3f %12.3f\n", s.name, f.forward_ms, f.backward_ms);
    else
      std::printf("{\"shape\": \"%s\", \"forward_ms\": %.4f, \"backward_ms\": %.4f}\n", s.name,
                  f.forward_ms, f.backward_ms);
  }
}
