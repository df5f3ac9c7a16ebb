// Products of the training steps of bench/models, in every form that forward and backward ask for:
// GFLOP/s on one thread and on two.
//
//   bench_gemm [TYPE]         every product as a table row
//   bench_gemm list           what products there are: one JSON object a line
//   bench_gemm INDEX [TYPE]   one of them: one_ms (processor time of one thread), two_ms, scratch
//
// TYPE is f32, bf16, i8 (sums in i32, without a bias) or cast: bf16 as under autocast, weights in
// f32 that are rounded while they are packed. --target TARGET: kernels of another one (target.h).
//
// Forms, as in a linear layer: forward X W^T + b, input dY W, weight dY^T X. The figure is the
// minimum of many runs, so that other load on the machine matters little.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "base/target.h"
#include "bench/timing.h"
#include "runtime/arena.h"
#include "runtime/gemm.h"
#include "runtime/half.h"

namespace {

using namespace cleave;
using namespace cleave::runtime;

struct Layer {
  const char* model;
  int64_t rows, in, out;
  int count;  // of such layers in the model
  bool has_bias = true;
};

constexpr Layer layers[] = {
    {"mlp", 32, 784, 256, 1},
    {"mlp", 32, 256, 128, 1},
    {"mlp", 32, 128, 10, 1},
    {"chargpt_small", 768, 128, 384, 4},
    {"chargpt_small", 768, 128, 128, 4},
    {"chargpt_small", 768, 128, 512, 4},
    {"chargpt_small", 768, 512, 128, 4},
    {"chargpt_small", 768, 128, 96, 1, false},
    {"chargpt", 2048, 384, 1152, 6},
    {"chargpt", 2048, 384, 384, 6},
    {"chargpt", 2048, 384, 1536, 6},
    {"chargpt", 2048, 1536, 384, 6},
    {"chargpt", 2048, 384, 96, 1, false},
    {"gpt2", 256, 768, 2304, 12},
    {"gpt2", 256, 768, 768, 12},
    {"gpt2", 256, 768, 3072, 12},
    {"gpt2", 256, 3072, 768, 12},
    {"gpt2", 256, 768, 50304, 1, false},
    {"bert_small", 1024, 512, 1536, 4},
    {"bert_small", 1024, 512, 512, 4},
    {"bert_small", 1024, 512, 2048, 4},
    {"bert_small", 1024, 2048, 512, 4},
    {"bert_small", 1024, 512, 30522, 1, false},
};

struct Case {
  const Layer* layer;
  const char* form;
  int64_t m, k, n;
  GemmSpec spec;
};

enum class Numbers { f32, bf16, i8, cast };

std::vector<Case> make_cases(Numbers numbers) {
  std::vector<Case> cases;
  for (const Layer& l : layers) {
    GemmSpec forward{.m = l.rows,
                     .n = l.out,
                     .k = l.in,
                     .a_row = l.in,
                     .b_row = 1,
                     .b_col = l.in,
                     .has_c_in = l.has_bias,
                     .c_in_row = 0};
    GemmSpec input{.m = l.rows, .n = l.in, .k = l.out, .a_row = l.out, .b_row = l.in};
    GemmSpec weight{.m = l.out, .n = l.in, .k = l.rows, .a_row = 1, .a_col = l.out, .b_row = l.in};
    for (GemmSpec* s : {&forward, &input, &weight})
      if (numbers == Numbers::i8) {
        s->dtype = DType::i32;
        s->a_stored = s->b_stored = DType::i8;
        s->has_c_in = false;
      } else if (numbers != Numbers::f32) {
        s->dtype = DType::bf16;
      }
    if (numbers == Numbers::cast) forward.b_stored = input.b_stored = DType::f32;
    cases.push_back({&l, "forward", forward.m, forward.k, forward.n, forward});
    cases.push_back({&l, "input", input.m, input.k, input.n, input});
    cases.push_back({&l, "weight", weight.m, weight.k, weight.n, weight});
  }
  return cases;
}

double wall_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// The minimum over runs of about 0.2 s together. Runs shorter than 0.1 ms are timed in batches.
template <class F>
double min_ms(double (*now)(), const F& f) {
  f();
  double begin = now();
  f();
  const int together = static_cast<int>(1e-4 / std::max(1e-7, now() - begin)) + 1;
  double least = 1e30, sum = 0;
  for (int runs = 0; runs < 5 || sum < 0.2; ++runs) {
    begin = now();
    for (int i = 0; i < together; ++i) f();
    const double took = now() - begin;
    least = std::min(least, took / together);
    sum += took;
  }
  return 1e3 * least;
}

struct Figures {
  double one_ms = 0, two_ms = 0;
  int64_t scratch_bytes = 0;
};

// In an arena, as in a training step.
Arena make_numbers(int64_t count, DType dtype) {
  Arena arena = value_or_throw(Arena::make(count * size_of(dtype)));
  uint32_t state = 1;  // a normal distribution of such sizes would take longer than the products
  for (int64_t i = 0; i < count; ++i) {
    state = state * 1664525u + 1013904223u;
    const float x = static_cast<float>(state >> 8) * 0x1p-23f - 1;
    if (dtype == DType::f32 || dtype == DType::i32)
      reinterpret_cast<float*>(arena.data())[i] = x;
    else if (dtype == DType::i8)
      reinterpret_cast<int8_t*>(arena.data())[i] = static_cast<int8_t>(state >> 24);
    else
      reinterpret_cast<Bf16*>(arena.data())[i] = Bf16(x);
  }
  return arena;
}

Figures measure(const Case& c, const Target& target) {
  const auto gemm = value_or_throw(Gemm::make(c.spec, target));
  const DType dtype = c.spec.dtype;
  const Arena a = make_numbers(c.m * c.k, c.spec.a_stored.value_or(dtype)),
              b = make_numbers(c.k * c.n, c.spec.b_stored.value_or(dtype)),
              out = make_numbers(c.m * c.n, dtype), bias = make_numbers(c.n, dtype),
              scratch = make_numbers(gemm->scratch_bytes() / 4, DType::f32);
  const auto one = make_thread_pool(1), two = make_thread_pool(2);
  const auto run = [&](Executor& executor) {
    gemm->run(a.data(), b.data(), c.spec.has_c_in ? bias.data() : nullptr, out.data(),
              scratch.data(), executor);
  };
  return {.one_ms = min_ms(bench::thread_seconds, [&] { run(*one); }),
          .two_ms = min_ms(wall_seconds, [&] { run(*two); }),
          .scratch_bytes = gemm->scratch_bytes()};
}

void print_case(const Case& c) {
  std::printf(
      "{\"model\": \"%s\", \"form\": \"%s\", \"m\": %ld, \"k\": %ld, \"n\": %ld, "
      "\"count\": %d, \"has_bias\": %s}\n",
      c.layer->model, c.form, c.m, c.k, c.n, c.layer->count, c.spec.has_c_in ? "true" : "false");
}

}  // namespace

int main(int argc, char** argv) {
  Numbers numbers = Numbers::f32;
  Target target = Target::here();
  std::string word;
  for (int i = 1; i < argc; ++i) {
    const std::string given = argv[i];
    if (given == "bf16")
      numbers = Numbers::bf16;
    else if (given == "cast")
      numbers = Numbers::cast;
    else if (given == "i8")
      numbers = Numbers::i8;
    else if (given == "--target" && i + 1 < argc)
      target = value_or_throw(parse_target(argv[++i]));
    else if (given != "f32")
      word = given;
  }
  const std::vector<Case> cases = make_cases(numbers);
  if (word == "list") {
    for (const Case& c : cases) print_case(c);
    return 0;
  }
  if (!word.empty()) {
    const auto index = static_cast<size_t>(std::strtoul(word.c_str(), nullptr, 10));
    if (index >= cases.size()) return 1;
    const Figures f = measure(cases[index], target);
    std::printf("{\"one_ms\": %.5f, \"two_ms\": %.5f, \"scratch_bytes\": %ld}\n", f.one_ms,
                f.two_ms, f.scratch_bytes);
    return 0;
  }
  std::printf("%-14s %-8s %6s %6s %6s %14s %14s %10s\n", "model", "form", "m", "k", "n",
              "one, GFLOP/s", "two, GFLOP/s", "scratch KB");
  for (const Case& c : cases) {
    const Figures f = measure(c, target);
    const double work = 2e-6 * static_cast<double>(c.m) * static_cast<double>(c.k * c.n);
    std::printf("%-14s %-8s %6ld %6ld %6ld %14.1f %14.1f %10ld\n", c.layer->model, c.form, c.m, c.k,
                c.n, work / f.one_ms, work / f.two_ms, f.scratch_bytes / 1024);
    std::fflush(stdout);
  }
  return 0;
}
