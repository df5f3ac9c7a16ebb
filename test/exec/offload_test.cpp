// Programs on a device some of whose values lie in the host's memory for a while.
// tests: lower/offload.cpp
#include <gtest/gtest.h>

#include <cstring>

#include "exec/executable.h"
#include "test/random_inputs.h"
#include "test/sample/fake_device.h"

namespace cleave {
namespace {

using test::core;
using test::FakeDevice;
using test::parsed;

// Sixteen layers: each value is read again in the reverse order, by each sweep.
std::string layers(int sweeps) {
  std::string body = "graph @main(%w: param f32[64,64], %x0: input f32[64,64]) {\n";
  for (int k = 0; k < 16; ++k)
    body += fmt::format("  %m{0} = mm(%x{0}, %w)\n  %x{1} = tanh(%m{0})\n", k, k + 1);
  body += "  %g0_16 = mul(%x16; other=0.5)\n";
  for (int s = 0; s < sweeps; ++s) {
    if (s > 0) body += fmt::format("  %g{0}_16 = mul(%g{1}_0; other=0.5)\n", s, s - 1);
    for (int k = 16; k-- > 0;)
      body += fmt::format("  %d{2}_{0} = mul(%g{2}_{1}, %x{1})\n  %g{2}_{0} = mm(%d{2}_{0}, %w)\n",
                          k, k + 1, s);
  }
  return body + fmt::format("  return %g{}_0\n}}\n", sweeps - 1);
}

struct Layers {
  std::vector<float> x = std::vector<float>(64 * 64), w = x;
  std::shared_ptr<const CompiledProgram> program;
  std::unique_ptr<Instance> instance;
  std::vector<DeviceBlock> blocks;
  StageOptions options;

  // On a device if `device` isn't null.
  Layers(MemoryBudget budget, const FakeDevice* device, bool offload = true,
         CudaGraphs graphs = CudaGraphs::automatic, int sweeps = 1) {
    for (size_t k = 0; k < x.size(); ++k) {
      x[k] = static_cast<float>(k % 17) * 0.1f - 0.8f;
      w[k] = static_cast<float>(k % 13) * 0.02f - 0.12f;
    }
    options.target.rates.call_ns = 1e6;
    options.target.rates.host_gigabytes = 100;
    options.executor = make_thread_pool(2);
    if (device) options.backend = device->other_backend(CompilerChoice::automatic, options.target);
    options.memory_budget = budget;
    options.offload = offload;
    options.cudagraphs = graphs;
    program = value_or_throw(CompiledProgram::compile(parsed(layers(sweeps)), core(), options));
    instance = value_or_throw(Instance::make(program, options.executor));
    bind(0, w);
    bind(1, x);
  }
  void bind(size_t placeholder, std::vector<float>& from) {
    const auto& memory = instance->device_memory();
    if (!memory) return value_or_throw(instance->bind(placeholder, std::span(from)));
    blocks.push_back(value_or_throw(DeviceBlock::make(memory, bytes())));
    EXPECT_TRUE(memory->copy_in(blocks.back().data(), from.data(), bytes(), nullptr).ok());
    EXPECT_TRUE(instance->bind_there(placeholder, blocks.back().data(), bytes()).ok());
  }
  int64_t bytes() const { return static_cast<int64_t>(x.size() * sizeof(float)); }
  std::vector<float> result() {
    EXPECT_TRUE(instance->run().ok());
    std::vector<float> out(x.size());
    std::memcpy(out.data(), instance->result(0), static_cast<size_t>(bytes()));
    return out;
  }
  int64_t peak() const { return program->report().planned_peak_bytes; }
  int64_t offloaded() const { return program->report().count("offloaded_bytes"); }
};

TEST(Offload, a_budget_is_met_with_the_same_bits_and_nothing_computed_again) {
  const FakeDevice device;
  int64_t most = 0;
  for (const int sweeps : {1, 2}) {
    Layers whole({}, nullptr, true, CudaGraphs::automatic, sweeps);
    const std::vector<float> expected = whole.result();
    for (const int percent : {80, 60}) {
      const int64_t budget = whole.peak() * percent / 100;
      for (const CudaGraphs graphs : {CudaGraphs::automatic, CudaGraphs::off}) {
        Layers there(budget, &device, true, graphs, sweeps);
        EXPECT_GT(there.offloaded(), 0);
        EXPECT_EQ(there.program->report().recompute_ns, 0);
        EXPECT_LE(there.peak(), budget);
        for (int k = 0; k < 5; ++k) EXPECT_EQ(there.result(), expected) << "run " << k;
        most = std::max(most, there.offloaded());
      }
    }
  }
  EXPECT_GT(most, 16 * 64 * 64 * 4) << "no value has gone twice";
  EXPECT_EQ(device.wrong(), "");
}

TEST(Offload, without_it_values_are_computed_again) {
  const Layers whole({}, nullptr);
  Layers again(whole.peak() * 2 / 3, nullptr, false);
  EXPECT_EQ(again.offloaded(), 0);
  EXPECT_GT(again.program->report().recompute_ns, 0);
}

// The rates of a processor have none for copies.
TEST(Offload, where_the_memory_is_the_host_s_there_is_none) {
  StageOptions options;
  options.executor = make_thread_pool(1);
  const auto whole = value_or_throw(CompiledProgram::compile(parsed(layers(1)), core(), options));
  options.memory_budget = whole->report().planned_peak_bytes * 2 / 3;
  const auto less = value_or_throw(CompiledProgram::compile(parsed(layers(1)), core(), options));
  EXPECT_EQ(less->report().count("offloaded_bytes"), 0);
  EXPECT_GT(less->report().recompute_ns, 0);
}

}  // namespace
}  // namespace cleave
