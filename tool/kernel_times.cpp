#include "tool/kernel_times.h"

#include <algorithm>
#include <chrono>

#include "backend/device_memory.h"
#include "exec/executable.h"
#include "interp/array_memory.h"
#include "ir/strides.h"
#include "run/arena_memory.h"
#include "runtime/ceilings.h"
#include "runtime/thread_pool.h"
#include "tool/device_inputs.h"
#include "tool/run_inputs.h"

namespace cleave::tool {
namespace {

using Clock = std::chrono::steady_clock;

// Read and written, as runtime/ceilings.h measures the host's.
Result<double> copied_bytes_per_us(const std::shared_ptr<DeviceMemory>& memory, void* queue) {
  constexpr int64_t bytes = 256 << 20;
  CLEAVE_TRY(const DeviceBlock from, DeviceBlock::make(memory, bytes));
  CLEAVE_TRY(const DeviceBlock to, DeviceBlock::make(memory, bytes));
  double best = 0;
  for (int k = 0; k < 6; ++k) {
    const auto begin = Clock::now();
    CLEAVE_CHECK(memory->copy(to.data(), from.data(), bytes, queue));
    CLEAVE_CHECK(memory->wait(queue));
    const double us = std::chrono::duration<double, std::micro>(Clock::now() - begin).count();
    if (k > 0) best = std::max(best, 2 * static_cast<double>(bytes) / us);
  }
  return best;
}

}  // namespace

Result<KernelTimes> time_kernels(const Graph& g, const OpRegistry& ops, StageOptions options,
                                 int runs, const Timeline* timeline) {
  if (timeline) options.observers.push_back(timeline->observer());
  if (!options.executor) { CLEAVE_TRY(options.executor, runtime::start_threads(options.threads)); }
  CLEAVE_TRY(const auto program, CompiledProgram::compile(g, ops, options));
  CLEAVE_TRY(const auto instance, Instance::make(program, options.executor));
  std::unique_ptr<Instance> watched;
  if (timeline) { CLEAVE_TRY(watched, Instance::make(program, timeline->executor())); }
  CLEAVE_TRY(const Arrays inputs, complete_inputs(g, {}, {.random = true}));
  std::vector<std::vector<std::byte>> memory;
  DeviceInputs there, watched_there;
  const auto fill = [&](size_t i) {
    to_memory(inputs[i], g.type(g.placeholders()[i].value), memory[i].data());
  };
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Type& t = g.type(g.placeholders()[i].value);
    memory.emplace_back(static_cast<size_t>(memory_bytes(t)) + 1);  // + 1: never null
    fill(i);
    const HostMemory host{memory[i].data(), static_cast<int64_t>(memory[i].size()), std::nullopt};
    CLEAVE_CHECK(there.bind(*instance, i, host));
    if (watched) CLEAVE_CHECK(watched_there.bind(*watched, i, host));
  }
  CLEAVE_CHECK(there.copy_in());
  CLEAVE_CHECK(instance->run());  // warm-up: touches the memory, loads the code
  instance->profile_kernels(true);
  std::vector<double> run_us;
  for (int k = 0; k < runs; ++k) {
    for (size_t i = 0; i < inputs.size(); ++i) fill(i);
    CLEAVE_CHECK(there.copy_in());
    const auto begin = std::chrono::steady_clock::now();
    CLEAVE_CHECK(instance->run());
    run_us.push_back(
        std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin)
            .count());
  }
  std::ranges::sort(run_us);
  for (int k = 0; k < 2 && watched; ++k) {
    for (size_t i = 0; i < inputs.size(); ++i) fill(i);
    CLEAVE_CHECK(watched_there.copy_in());
    CLEAVE_CHECK(watched->run());
  }
  KernelTimes out;
  out.compiled = program->report();
  out.run_us = run_us.empty() ? 0 : run_us[run_us.size() / 2];
  if (const auto& memory = instance->device_memory()) {
    CLEAVE_TRY(out.copy_bytes_per_us, copied_bytes_per_us(memory, instance->arena()->queue()));
  } else {
    out.copy_bytes_per_us = runtime::copy_bytes_per_us(*options.executor);
  }
  for (StepTime& s : instance->step_times())
    if (s.kind != "jump")
      out.kernels.push_back({std::move(s.name), std::move(s.kind), s.bytes,
                             runs > 0 ? static_cast<double>(s.ns) / 1e3 / runs : 0});
  return out;
}

}  // namespace cleave::tool
