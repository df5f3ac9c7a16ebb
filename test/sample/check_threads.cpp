#include "test/sample/check_threads.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

#include "backend/make_backend.h"
#include "compile/stages.h"
#include "emit/bytecode.h"
#include "loop/sum_blocks.h"
#include "simt/map_threads.h"
#include "simt/simulate.h"
#include "test/sample/random_graph.h"

namespace cleave::random {
namespace {

// An element's memory, aligned as device memory is.
class Memory {
 public:
  Memory(const loop::Buffer& b, std::mt19937_64& rng) : buffer_(b) {
    const auto n = static_cast<size_t>(std::max<int64_t>(b.elements, 1));
    words_.resize((n * static_cast<size_t>(size_of(b.dtype)) + 15) / 16 * 2 + 2);
    for (size_t i = 0; i < n; ++i) set(i, rng);
  }
  // Changes the last bits of f32 and f64.
  void nudge(std::mt19937_64& rng) {
    constexpr double relative = 1e-6;
    const bool is_wide = buffer_.dtype == DType::f64;
    if (!is_wide && buffer_.dtype != DType::f32) return;
    for (size_t i = 0; i < static_cast<size_t>(buffer_.elements); ++i) {
      const double x = number(i) * (1 + (rng() & 1 ? relative : -relative));
      if (is_wide)
        static_cast<double*>(data())[i] = x;
      else
        static_cast<float*>(data())[i] = static_cast<float>(x);
    }
  }
  void* data() { return reinterpret_cast<std::byte*>(words_.data()) + (is_odd() ? 8 : 0); }
  const void* data() const { return const_cast<Memory*>(this)->data(); }

  double number(size_t i) const {
    const void* at = data();
    switch (buffer_.dtype) {
      case DType::f64: return static_cast<const double*>(at)[i];
      case DType::f32:
      case DType::c64: return static_cast<const float*>(at)[i];
      case DType::i64: return static_cast<double>(static_cast<const int64_t*>(at)[i]);
      case DType::i32: return static_cast<const int32_t*>(at)[i];
      case DType::i16: return static_cast<const int16_t*>(at)[i];
      case DType::i8: return static_cast<const int8_t*>(at)[i];
      case DType::u8:
      case DType::boolean: return static_cast<const uint8_t*>(at)[i];
      case DType::bf16: return from_bits(uint32_t{static_cast<const uint16_t*>(at)[i]} << 16);
      case DType::f16: return half(static_cast<const uint16_t*>(at)[i]);
    }
    return 0;
  }

 private:
  // 16-byte alignment whatever the vector's.
  bool is_odd() const { return reinterpret_cast<uintptr_t>(words_.data()) % 16 != 0; }
  static float from_bits(uint32_t bits) {
    float f;
    std::memcpy(&f, &bits, 4);
    return f;
  }
  static double half(uint16_t h) {
    const int exponent = h >> 10 & 31;
    const double fraction = h & 1023;
    const double size = exponent == 0    ? std::ldexp(fraction, -24)
                        : exponent == 31 ? (fraction == 0 ? INFINITY : NAN)
                                         : std::ldexp(fraction + 1024, exponent - 25);
    return h >> 15 ? -size : size;
  }
  void set(size_t i, std::mt19937_64& rng) {
    const double real = std::uniform_real_distribution<double>(-2, 2)(rng);
    const auto small = static_cast<int64_t>(rng() % 4);
    void* at = data();
    switch (buffer_.dtype) {
      case DType::f64: static_cast<double*>(at)[i] = real; break;
      case DType::f32:
      case DType::c64: static_cast<float*>(at)[i] = static_cast<float>(real); break;
      case DType::i64: static_cast<int64_t*>(at)[i] = small; break;
      case DType::i32: static_cast<int32_t*>(at)[i] = static_cast<int32_t>(small); break;
      case DType::i16: static_cast<int16_t*>(at)[i] = static_cast<int16_t>(small); break;
      case DType::i8: static_cast<int8_t*>(at)[i] = static_cast<int8_t>(small); break;
      case DType::u8: static_cast<uint8_t*>(at)[i] = static_cast<uint8_t>(small); break;
      case DType::boolean: static_cast<uint8_t*>(at)[i] = small & 1; break;
      case DType::bf16: {
        const auto f = static_cast<float>(real);
        uint32_t bits;
        std::memcpy(&bits, &f, 4);
        static_cast<uint16_t*>(at)[i] = static_cast<uint16_t>(bits >> 16);
        break;
      }
      case DType::f16:
        static_cast<uint16_t*>(at)[i] =
            static_cast<uint16_t>(0x3000 + rng() % 0x1000 + (rng() & 1) * 0x8000);
        break;
    }
  }
  const loop::Buffer& buffer_;
  std::vector<uint64_t> words_;
};

struct BytecodeRun {
  size_t failed = 0;  // the number of the check, from 1
};

BytecodeRun run_bytecode(const loop::Kernel& kernel, const std::vector<void*>& buffers,
                         const std::vector<int64_t>& scalars) {
  const emit::BytecodeKernel code = emit::emit_bytecode(kernel);
  for (const emit::BytecodePhase& phase : code.phases) {
    int64_t fault[2];
    if (phase.extent == 0) continue;
    if (const int64_t failed =
            phase.code->run(buffers.data(), scalars.data(), 0, phase.extent, fault))
      return {static_cast<size_t>(failed)};
  }
  return {};
}

// Whether a fold adds up in another order than bytecode does. Its rounding may come to stand alone,
// where what is added up is about 0.
bool has_sum(const loop::Block& block) {
  return std::ranges::any_of(block, [](const loop::Stmt& s) {
    if (auto* f = std::get_if<loop::For>(&s.node)) return has_sum(f->body);
    if (auto* i = std::get_if<loop::If>(&s.node)) return has_sum(i->then);
    auto* r = std::get_if<loop::Reduce>(&s.node);
    return r && !r->ordered && std::ranges::any_of(r->folds, [](const loop::Fold& f) {
             return loop::rounds(f.op, f.var.type());
           });
  });
}

// Why the buffers differ; empty: they don't. Without sums they are equal.
std::string difference(const loop::Buffer& b, const Memory& got, const Memory& want,
                       bool has_sums) {
  const auto n = static_cast<size_t>(b.elements);
  double largest = 1;
  for (size_t i = 0; i < n; ++i)
    if (std::isfinite(want.number(i))) largest = std::max(largest, std::fabs(want.number(i)));
  const double within = !has_sums || !is_floating(b.dtype)                ? 0
                        : b.dtype == DType::bf16 || b.dtype == DType::f16 ? 1e-2
                                                                          : 1e-3;
  for (size_t i = 0; i < n; ++i) {
    const double g = got.number(i), w = want.number(i);
    if (g == w || (std::isnan(g) && std::isnan(w)) || std::fabs(g - w) <= within * largest)
      continue;
    return fmt::format("%{}[{}] is {}, not {}", b.name, i, g, w);
  }
  return {};
}

std::string check_kernel(const loop::Kernel& kernel, uint64_t seed, ThreadsVerdict& verdict) {
  std::mt19937_64 rng(seed);
  std::vector<Memory> want;
  want.reserve(kernel.buffers.size());
  for (const loop::Buffer& b : kernel.buffers) want.emplace_back(b, rng);
  const std::vector<Memory> before = want;
  std::vector<int64_t> scalars;
  for (const loop::Scalar& s : kernel.scalars)
    scalars.push_back(s.values.empty() ? 1 : s.values[0]->integer());
  const auto pointers = [&](std::vector<Memory>& memory) {
    std::vector<void*> out;
    for (size_t b = 0; b < memory.size(); ++b)
      if (kernel.buffers[b].access != loop::Access::local) out.push_back(memory[b].data());
    return out;
  };
  const auto differ = [&](const std::vector<Memory>& a, const std::vector<Memory>& b,
                          bool has_sums) {
    for (size_t k = 0; k < kernel.buffers.size(); ++k)
      if (kernel.buffers[k].access != loop::Access::local)
        if (std::string why = difference(kernel.buffers[k], a[k], b[k], has_sums); !why.empty())
          return kernel.name + ": " + why;
    return std::string();
  };
  const BytecodeRun ran = run_bytecode(kernel, pointers(want), scalars);
  const bool sums = has_sum(kernel.body);
  const auto is_left_open = [&] {
    if (!sums) return false;
    std::vector<Memory> near = before;
    for (Memory& m : near) m.nudge(rng);
    return run_bytecode(kernel, pointers(near), scalars).failed == 0 &&
           !differ(near, want, sums).empty();
  };
  // As it is, and as a large one is mapped, which has the same bits.
  const simt::MapSizes usual, as_large{.many_blocks = 1, .medium = 4, .large = 64};
  std::vector<Memory> first;
  for (const simt::MapSizes& sizes : {usual, as_large}) {
    std::vector<Memory> got = before;
    const simt::Kernel threads = simt::map_threads(kernel, sizes);
    for (const simt::Phase& p : threads.phases)
      ++verdict.phases, verdict.threads += p.blocks * p.threads;
    const simt::Simulation s = simt::simulate(threads, pointers(got), scalars);
    if (!s.defects.empty()) return s.defects[0];
    if (s.fault.has_value() != (ran.failed > 0))
      return fmt::format("{}: a check {}", kernel.name, s.fault ? "fails" : "doesn't fail");
    if (s.fault) continue;
    if (std::string why = differ(got, want, sums); !why.empty()) {
      if (!is_left_open()) return why;
      ++verdict.left_open;
    }
    if (first.empty())
      first = std::move(got);
    else if (std::string why = differ(got, first, false); !why.empty())
      return why + " as of a small kernel";
  }
  return {};
}

}  // namespace

ThreadsVerdict check_threads(const std::vector<loop::Kernel>& kernels, uint64_t seed) {
  ThreadsVerdict out;
  for (const loop::Kernel& k : kernels) {
    ++out.kernels;
    out.wrong = check_kernel(k, seed + static_cast<uint64_t>(out.kernels), out);
    if (out.wrong.empty()) continue;
    out.text = loop::print(k);
    break;
  }
  return out;
}

Result<std::vector<loop::Kernel>> kernels_of_seed(const OpRegistry& ops, uint64_t seed) {
  GraphOptions size;
  if (seed % 8 == 7) size.elements = 1 << 14;
  CLEAVE_TRY(RandomGraph r, random_graph(ops, seed, size));
  CLEAVE_TRY(const bool is_cast, cast_some(r, ops, seed));
  (void)is_cast;
  if (seed % 2 == 0) { CLEAVE_TRY(r, with_gradients(r, ops, seed)); }
  // Three of four as they are fused for a GPU, where NVRTC is: what stands in for libraries there
  // is compiled as soon as a program is planned.
  CompileOptions options{.compiler = CompilerChoice::none};
  const auto kernels = [&] {
    return scheduled_kernels(r.g, ops, StageOptions{options}, backend_for(options));
  };
  if (seed % 4 != 0) {
    options.target = Target::named("sm_90");
    auto for_gpu = kernels();
    if (for_gpu.ok() || for_gpu.failure().kind != ErrorKind::unsupported) return for_gpu;
    options.target = Target::here();
  }
  return kernels();
}

Result<ThreadsVerdict> check_threads(const OpRegistry& ops, uint64_t seed) {
  CLEAVE_TRY(const auto kernels, kernels_of_seed(ops, seed));
  return check_threads(kernels, seed);
}

}  // namespace cleave::random
