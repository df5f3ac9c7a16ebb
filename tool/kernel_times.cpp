#include "tool/kernel_times.h"

#include <algorithm>
#include <chrono>
#include <cstring>

#include "compile/executable.h"
#include "interp/array_memory.h"
#include "tool/run_inputs.h"

namespace cleave::tool {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t copied_bytes = 64 << 20;
constexpr int copies = 7, pieces = 64;

// The best of a few copies between buffers that no cache holds.
double copy_bytes_per_us(Executor& executor) {
  const std::vector<std::byte> from(copied_bytes, std::byte{1});
  std::vector<std::byte> to(copied_bytes);
  struct Copy {
    const std::byte* from;
    std::byte* to;
  } copy{from.data(), to.data()};
  double best = 0;
  for (int k = 0; k < copies; ++k) {
    const auto begin = Clock::now();
    executor.parallel_for(
        pieces,
        [](void* context, long piece) {
          const auto& c = *static_cast<Copy*>(context);
          const size_t part = copied_bytes / pieces, at = part * static_cast<size_t>(piece);
          std::memcpy(c.to + at, c.from + at, part);
        },
        &copy);
    const double us = std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
    best = std::max(best, 2.0 * static_cast<double>(copied_bytes) / us);
  }
  return best;
}

}  // namespace

Result<KernelTimes> time_kernels(const Graph& g, const OpRegistry& ops,
                                 const TimeOptions& options) {
  CompileOptions compile;
  compile.executor = make_thread_pool(options.threads);
  compile.fuse = options.fuse;
  CLEAVE_TRY(const auto program, CompiledProgram::compile(g, ops, compile));
  CLEAVE_TRY(const auto instance, Instance::make(program, compile.executor));
  CLEAVE_TRY(const Arrays inputs, complete_inputs(g, {}, {.random = true}));
  std::vector<std::vector<std::byte>> memory;
  for (const Array& a : inputs) memory.push_back(to_memory(a));
  for (size_t i = 0; i < inputs.size(); ++i) CLEAVE_CHECK(instance->bind(i, memory[i].data()));
  CLEAVE_CHECK(instance->run());  // memory is touched, code is loaded
  instance->time_steps(true);
  for (int k = 0; k < options.runs; ++k) {
    for (size_t i = 0; i < inputs.size(); ++i) to_memory(inputs[i], memory[i].data());
    CLEAVE_CHECK(instance->run());
  }
  KernelTimes out;
  out.copy_bytes_per_us = copy_bytes_per_us(*compile.executor);
  for (StepTime& s : instance->step_times())
    if (s.kind != "jump")
      out.kernels.push_back({std::move(s.name), std::move(s.kind), s.bytes,
                             static_cast<double>(s.ns) / 1e3 / options.runs});
  return out;
}

}  // namespace cleave::tool
