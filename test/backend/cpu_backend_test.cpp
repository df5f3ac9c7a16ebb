// What the pipeline asks a backend, answered by that of the CPU.
// tests: emit_units.cpp build_units.cpp make_backend.cpp
#include "backend/cpu/cpu_backend.h"

#include <gtest/gtest.h>

#include <set>

#include "backend/make_backend.h"
#include "loop/parse.h"
#include "lower/lower_graph.h"
#include "test/prepared.h"
#include "test/random_inputs.h"

namespace cleave {
namespace {

LoweredProgram lowered(const std::string& text) {
  Graph g = test::parsed(text);
  value_or_throw(test::prepare(g));
  return value_or_throw(lower_graph(g));
}

// n different kernels: the k-th takes k + 1 sines.
LoweredProgram sines(int n) {
  LoweredProgram out;
  for (int k = 0; k < n; ++k) {
    std::string value = "%x[i]";
    for (int s = 0; s <= k; ++s) value = "sin(" + value + ")";
    out.kernels.push_back(value_or_throw(loop::parse_kernel(
        fmt::format("kernel %y{}(%x: f32[64] read, %y: f32[64] write) work 64 {{\n"
                    "  for i in 64 parallel {{\n    %y[i] = {}\n  }}\n}}\n",
                    k, value),
        "t")));
  }
  return out;
}

// Scheduled and emitted; the program's kernels are the scheduled ones then.
EmittedCode emitted(const Backend& backend, LoweredProgram& program) {
  program.kernels = value_or_throw(backend.schedule(program.kernels));
  return value_or_throw(backend.emit(program, schedule::share_kernels(program.kernels)));
}
EmittedCode emitted(const Backend& backend, LoweredProgram&& program) {
  return emitted(backend, program);
}

TEST(CpuBackend, costs_follow_the_rates) {
  Target target = Target::here();
  const auto usual = make_backend(target);
  target.rates.call_ns *= 10;
  const auto slow = make_backend(target);
  EXPECT_EQ(slow->rates().call_ns, target.rates.call_ns);
  EXPECT_EQ(slow->fuse_costs().launch_flops, 10 * usual->fuse_costs().launch_flops);
}

TEST(CpuBackend, units_are_an_even_number_alike_in_length) {
  const auto backend = make_backend(Target::here());
  EXPECT_EQ(emitted(*backend, sines(1)).units.size(), 1u);
  const EmittedCode code = emitted(*backend, sines(120));
  ASSERT_GT(code.units.size(), 1u);
  EXPECT_EQ(code.units.size() % 2, 0u);
  size_t shortest = ~size_t{0}, longest = 0;
  for (const SourceUnit& u : code.units) {
    EXPECT_EQ(u.language, "c");
    EXPECT_EQ(u.from, SourceUnit::From::kernels);
    shortest = std::min(shortest, u.text.size());
    longest = std::max(longest, u.text.size());
  }
  EXPECT_LT(longest, 2 * shortest);
  ASSERT_EQ(code.kernels.size(), 120u);
  for (const EmittedKernel& k : code.kernels)
    for (const KernelPhase& phase : k.phases)
      EXPECT_NE(code.units.at(k.unit).text.find(phase.symbol + "("), std::string::npos);
}

// Both are there, and do the same.
TEST(CpuBackend, kernels_are_compiled_or_interpreted) {
  const auto executor = make_thread_pool(1);
  std::vector<std::vector<float>> results;
  for (const CompilerChoice choice : {CompilerChoice::automatic, CompilerChoice::none}) {
    const auto backend = make_backend(Target::here(), choice);
    LoweredProgram program = sines(3);
    const EmittedCode code = emitted(*backend, program);
    EXPECT_EQ(code.units.empty(), choice == CompilerChoice::none);
    const BuiltCode built = value_or_throw(backend->build(program, code, *executor));
    ASSERT_EQ(built.kernels.size(), 3u);
    for (const auto& kernel : built.kernels) {
      std::vector<float> x(64, 0.7f);
      results.emplace_back(64);
      void* const buffers[] = {x.data(), results.back().data()};
      EXPECT_FALSE(kernel->call(buffers, nullptr, {*executor}));
    }
  }
  for (size_t k = 0; k < 3; ++k) EXPECT_EQ(results[k], results[k + 3]);
  EXPECT_NE(results[0], results[1]);
}

TEST(CpuBackend, what_the_machine_lacks_is_refused) {
  for (const char* text :
       {"x86-64-v2", "x86-64-v3", "x86-64-v4", "x86-64-v4-bf16", "x86-64-v4-amx", "aarch64"}) {
    const Target target = Target::named(text);
    EXPECT_EQ(make_backend(target)->check_runs_here().ok(), target.runs_here()) << text;
  }
}

TEST(CpuBackend, an_arena_knows_how_much_of_it_was_used) {
  const auto arena = value_or_throw(make_backend(Target::here())->make_arena(4096));
  arena->fill_pattern();
  arena->data()[100] ^= std::byte{1};
  EXPECT_EQ(arena->size_bytes(), 4096);
  EXPECT_EQ(arena->touched_bytes(), 128);
  arena->data()[0] = std::byte{0}, arena->data()[1] = std::byte{1};
  EXPECT_FALSE(arena->flag(arena->data()));
  EXPECT_TRUE(arena->flag(arena->data() + 1));
}

TEST(CpuBackend, equal_specs_share_a_function) {
  const auto backend = make_backend(Target::here());
  const LoweredProgram p = lowered(
      "graph @g(%x: input f32[8,8]) {\n  %y = mm(%x, %x)\n  %z = mm(%y, %y)\n  return %z\n}\n");
  std::set<const LibraryFunction*> made;
  size_t calls = 0;
  for (const Thunk& s : p.thunks)
    if (auto* call = std::get_if<LibraryCall>(&s.work)) {
      made.insert(value_or_throw(backend->library(call->spec)).get());
      ++calls;
    }
  EXPECT_EQ(calls, 2u);
  EXPECT_EQ(made.size(), 1u);
}

}  // namespace
}  // namespace cleave
