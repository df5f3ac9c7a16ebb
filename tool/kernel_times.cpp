#include "tool/kernel_times.h"

#include <algorithm>
#include <chrono>

#include "exec/executable.h"
#include "interp/array_memory.h"
#include "ir/strides.h"
#include "runtime/ceilings.h"
#include "runtime/thread_pool.h"
#include "tool/run_inputs.h"

namespace cleave::tool {

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
  const auto fill = [&](size_t i) {
    to_memory(inputs[i], g.type(g.placeholders()[i].value), memory[i].data());
  };
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Type& t = g.type(g.placeholders()[i].value);
    memory.emplace_back(static_cast<size_t>(memory_bytes(t)) + 1);  // + 1: never null
    fill(i);
    CLEAVE_CHECK(instance->bind(i, std::span(memory[i])));
    if (watched) CLEAVE_CHECK(watched->bind(i, std::span(memory[i])));
  }
  CLEAVE_CHECK(instance->run());  // warm-up: touches the memory, loads the code
  instance->profile_kernels(true);
  std::vector<double> run_us;
  for (int k = 0; k < runs; ++k) {
    for (size_t i = 0; i < inputs.size(); ++i) fill(i);
    const auto begin = std::chrono::steady_clock::now();
    CLEAVE_CHECK(instance->run());
    run_us.push_back(
        std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin)
            .count());
  }
  std::ranges::sort(run_us);
  for (int k = 0; k < 2 && watched; ++k) {
    for (size_t i = 0; i < inputs.size(); ++i) fill(i);
    CLEAVE_CHECK(watched->run());
  }
  KernelTimes out;
  out.compiled = program->report();
  out.run_us = run_us.empty() ? 0 : run_us[run_us.size() / 2];
  out.copy_bytes_per_us = runtime::copy_bytes_per_us(*options.executor);
  for (StepTime& s : instance->step_times())
    if (s.kind != "jump")
      out.kernels.push_back({std::move(s.name), std::move(s.kind), s.bytes,
                             runs > 0 ? static_cast<double>(s.ns) / 1e3 / runs : 0});
  return out;
}

}  // namespace cleave::tool
