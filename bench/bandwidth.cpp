// Kernels that only move memory, with 64 MB tensors, compared with the machine's copy bandwidth.
//
//   bench_bandwidth [--threads 0] [--mib 64] [NAME]
//
//   must move   the bytes of every placeholder, read once, and of every result, written once
//   share       of the bandwidth of memcpy by the same threads, run alternately with the kernel:
//               100% means that a copy of as many bytes takes as long as the kernel
//
// Each case is a graph, compiled as programs are. If `kernels` is more than 1, values between the
// kernels are moved too, which `must move` doesn't count.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <new>
#include <vector>

#include "base/result.h"
#include "cleave/executor.h"
#include "exec/executable.h"
#include "grad/grad.h"
#include "ir/text.h"
#include "op/registry.h"

namespace {

using namespace cleave;
using Clock = std::chrono::steady_clock;

struct Case {
  const char* name;
  const char* graph;  // {n}: elements of a tensor; {r} rows of {c} columns
  int64_t columns;
  bool with_gradient = false;
};

constexpr Case cases[] = {
    {"gelu", R"((%x: input f32[{n}]) {
  %y = gelu(%x; approximate="tanh")
  return %y
})",
     1},
    {"gelu backward", R"((%dy: input f32[{n}], %x: input f32[{n}]) {
  %dx = gelu_backward(%dy, %x; approximate="tanh")
  return %dx
})",
     1},
    {"dropout", R"((%x: input f32[{n}], %rng: rng_state i64[2]) {
  %y, %mask = native_dropout(%x, %rng; p=0.1, train=true, stream=0)
  return %y
})",
     1},
    {"layer_norm", R"((%x: input f32[{r},{c}], %w: param f32[{c}], %b: param f32[{c}]) {
  %y, %mean, %rstd = native_layer_norm(%x, %w, %b; normalized_shape=[{c}], eps=1e-05)
  return %y, %mean, %rstd
})",
     1024},
    {"layer_norm backward",
     R"((%dy: input f32[{r},{c}], %x: input f32[{r},{c}],
    %mean: input f32[{r},1], %rstd: input f32[{r},1], %w: param f32[{c}], %b: param f32[{c}]) {
  %dx, %dw, %db = native_layer_norm_backward(%dy, %x, %mean, %rstd, %w, %b; )"
     R"(normalized_shape=[{c}], output_mask=[true,true,true])
  return %dx, %dw, %db
})",
     1024},
    {"rms_norm", R"((%x: input f32[{r},{c}], %w: param f32[{c}]) {
  %y, %rstd = _fused_rms_norm(%x, %w; normalized_shape=[{c}], eps=1e-05)
  return %y, %rstd
})",
     1024},
    {"softmax", R"((%x: input f32[{r},{c}]) {
  %y = _softmax(%x; dim=1, half_to_float=false)
  return %y
})",
     1024},
    {"cross-entropy", R"((%x: input f32[{r},{c}], %t: input i64[{r}]) {
  %l = _log_softmax(%x; dim=1, half_to_float=false)
  %loss, %w = nll_loss_forward(%l, %t; reduction=1, ignore_index=-100)
  return %loss
})",
     32768},
    {"cross-entropy with gradient", R"((%x: input f32[{r},{c}] grad, %t: input i64[{r}]) {
  %l = _log_softmax(%x; dim=1, half_to_float=false)
  %loss, %w = nll_loss_forward(%l, %t; reduction=1, ignore_index=-100)
  return %loss
})",
     32768, true},
    {"AdamW step",
     R"((%p: param f32[{n}], %g: input f32[{n}], %m: buffer f32[{n}],
    %v: buffer f32[{n}], %step: input f32[], %scale: input f32[], %keep: input f32[]) {
  %pn, %mn, %vn = adam_step(%p, %g, %m, %v, %step, %scale, %keep; )"
     R"(beta1=0.9, beta2=0.999, eps=1e-08)
  return %pn -> %p, %mn -> %m, %vn -> %v
})",
     1},
};

struct Settings {
  int threads = 0;
  int64_t mib = 64;
  std::string only;  // a case; empty: all
};

// The text with sizes substituted for {n}, {r} and {c}.
std::string text_of(const Case& c, int64_t elements) {
  const std::pair<std::string_view, int64_t> sizes[] = {
      {"{n}", elements}, {"{r}", elements / c.columns}, {"{c}", c.columns}};
  std::string text = "graph @main" + std::string(c.graph);
  for (const auto& [key, size] : sizes)
    for (size_t at; (at = text.find(key)) != std::string::npos;)
      text.replace(at, key.size(), std::to_string(size));
  return text;
}

class Memory {
 public:
  explicit Memory(int64_t bytes)
      : data_(static_cast<std::byte*>(
            std::aligned_alloc(64, static_cast<size_t>((bytes + 63) / 64 * 64)))) {
    if (!data_) throw std::bad_alloc();
  }
  std::byte* data() const { return data_.get(); }

 private:
  struct Free {
    void operator()(std::byte* p) const { std::free(p); }
  };
  std::unique_ptr<std::byte, Free> data_;
};

int64_t bytes_of(const Type& t) {
  int64_t bytes = size_of(t.dtype);
  for (const Dim& d : t.shape) bytes *= d.value();
  return bytes;
}

// Numbers in (0.1, 1.1), zeros for integers: in the range of every operator, of every index.
Memory filled(const Type& t) {
  const int64_t bytes = bytes_of(t);
  Memory m(std::max<int64_t>(bytes, 64));
  std::memset(m.data(), 0, static_cast<size_t>(bytes));
  uint32_t bits = 1;
  if (t.dtype == DType::f32)
    for (int64_t k = 0; k < bytes / 4; ++k) {
      bits = bits * 1664525 + 1013904223;
      const float x = 0.1f + static_cast<float>(bits >> 8) * 0x1p-24f;
      std::memcpy(m.data() + 4 * k, &x, sizeof x);
    }
  return m;
}

// A copy by all threads of an executor, one part for each thread.
class Copy {
 public:
  Copy(Executor& executor, int64_t bytes)
      : executor_(executor), bytes_(static_cast<size_t>(bytes)), from_(bytes), to_(bytes) {
    std::memset(from_.data(), 1, bytes_);
    std::memset(to_.data(), 2, bytes_);
  }
  void run() {
    const auto part = [](void* context, long k) {
      const Copy& c = *static_cast<Copy*>(context);
      const size_t size = c.bytes_ / static_cast<size_t>(c.executor_.threads());
      const size_t at = static_cast<size_t>(k) * size;
      std::memcpy(c.to_.data() + at, c.from_.data() + at, size);
    };
    executor_.parallel_for(executor_.threads(), part, this);
  }

 private:
  Executor& executor_;
  size_t bytes_;
  Memory from_, to_;
};

double median(std::vector<double> v) {
  std::ranges::sort(v);
  return v[v.size() / 2];
}

double seconds_of(const std::function<void()>& f) {
  const auto begin = Clock::now();
  f();
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

Status measure(const Case& c, const OpRegistry& ops, const Settings& settings,
               const std::shared_ptr<Executor>& executor) {
  const int64_t tensor = settings.mib << 20;
  CLEAVE_TRY(Program p, parse(text_of(c, tensor / 4), c.name, ops));
  if (c.with_gradient) { CLEAVE_TRY(p.main, make_joint(p.main, ops)); }
  StageOptions options;
  options.executor = executor;
  CLEAVE_TRY(auto program, CompiledProgram::compile(p.main, ops, options));
  CLEAVE_TRY(auto instance, Instance::make(program, executor));
  int64_t must_move = 0;
  std::vector<Memory> memory;
  for (const Placeholder& placeholder : p.main.placeholders()) {
    const Type& type = p.main.type(placeholder.value);
    must_move += bytes_of(type);
    memory.push_back(filled(type));
    CLEAVE_CHECK(
        instance->bind(memory.size() - 1, {memory.back().data(), bytes_of(type), type.dtype}));
  }
  for (const Return& r : p.main.returns()) must_move += bytes_of(p.main.type(r.value));

  Copy copy(*executor, tensor);
  CLEAVE_CHECK(instance->run());
  std::vector<double> copies, runs;
  double sum = 0;
  while (runs.size() < 9 || (sum < 1 && runs.size() < 200)) {
    copies.push_back(seconds_of([&] { copy.run(); }));
    Status status;
    runs.push_back(seconds_of([&] { status = instance->run(); }));
    CLEAVE_CHECK(std::move(status));
    sum += runs.back();
  }
  const double ours = static_cast<double>(must_move) / median(runs);
  const double theirs = 2 * static_cast<double>(tensor) / median(copies);
  std::printf("%-28s %8ld %10.2f %12.1f %9.1f %11.1f %8.0f%%\n", c.name, program->report().kernels,
              1e3 * median(runs), static_cast<double>(must_move) / 1e6, ours / 1e9, theirs / 1e9,
              100 * ours / theirs);
  std::fflush(stdout);
  return {};
}

}  // namespace

int main(int argc, char** argv) {
  Settings settings;
  for (int k = 1; k < argc; ++k) {
    const std::string word = argv[k];
    if (word == "--threads" && k + 1 < argc)
      settings.threads = std::atoi(argv[++k]);
    else if (word == "--mib" && k + 1 < argc)
      settings.mib = std::max(1, std::atoi(argv[++k]));
    else
      settings.only = word;
  }
  Result<OpRegistry> ops = core_ops();
  if (!ops.ok()) return std::fprintf(stderr, "%s\n", ops.failure().message.c_str()), 1;
  const std::shared_ptr<Executor> executor = make_thread_pool(settings.threads);
  std::printf("%d threads, %ld MiB a tensor\n", executor->threads(), settings.mib);
  std::printf("%-28s %8s %10s %12s %9s %11s %9s\n", "", "kernels", "ms", "must move MB", "GB/s",
              "copy GB/s", "share");
  for (const Case& c : cases) {
    if (!settings.only.empty() && settings.only != c.name) continue;
    if (Status s = measure(c, *ops, settings, executor); !s.ok()) {
      std::fprintf(stderr, "%s: %s\n", c.name, s.failure().message.c_str());
      return 1;
    }
  }
}
