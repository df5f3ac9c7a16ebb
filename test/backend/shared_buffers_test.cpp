#include "backend/cuda/shared_buffers.h"

#include <gtest/gtest.h>

#include "backend/cuda/emit_units.h"
#include "loop/parse.h"
#include "schedule/schedule.h"

namespace cleave::test {
namespace {

const std::string text =
    "kernel %y(%x: f32[300] read, %b: f32[300] read, %y: f32[300] write) {\n"
    "  for p in 300 parallel {\n    %y[p] = %x[p] + %b[p]\n  }\n}\n";

LoweredProgram program_of(std::vector<KernelCall> calls) {
  LoweredProgram out;
  out.kernels.push_back(schedule::schedule(value_or_throw(loop::parse_kernel(text, "t"))));
  out.storages.resize(5);
  for (KernelCall& call : calls) out.thunks.push_back({"y", std::move(call), false});
  return out;
}
std::vector<bool> alone(std::vector<KernelCall> calls) {
  return cuda::shared_buffers(program_of(std::move(calls)))[0].alone;
}
using Bools = std::vector<bool>;

TEST(SharedBuffers, of_storages_apart) {
  EXPECT_EQ(alone({{.storages = {0, 1, 2}}}), (Bools{true, true, true}));
  EXPECT_EQ(alone({{.storages = {0, 0, 2}}}), (Bools{true, true, true}));  // both are read
}

TEST(SharedBuffers, not_of_one_storage) {
  EXPECT_EQ(alone({{.storages = {0, 1, 0}}}), (Bools{false, true, false}));
  // Of any call.
  EXPECT_EQ(alone({{.storages = {0, 1, 2}}, {.storages = {3, 4, 4}}, {.storages = {0, 1, 2}}}),
            (Bools{true, false, false}));
}

TEST(SharedBuffers, not_where_a_call_may_write_in_place) {
  EXPECT_EQ(alone({{.storages = {0, 1, 2}, .in_place = {{1, 2}}}}), (Bools{true, false, false}));
}

// Memory of the caller isn't the arena's.
TEST(SharedBuffers, of_a_placeholder_and_the_arena) {
  LoweredProgram p = program_of({{.storages = {0, 1, 2}, .in_place = {{1, 2}}}});
  EXPECT_EQ(cuda::shared_buffers(p)[0].pairs, (simt::BufferPairs{{1, 2}}));
  for (const size_t at : {2, 1}) {  // the result's, the operand's
    p.storages[1].placeholder = p.storages[2].placeholder = -1;
    p.storages[at].placeholder = 0;
    EXPECT_EQ(cuda::shared_buffers(p)[0].pairs, simt::BufferPairs{}) << at;
  }
  EXPECT_EQ(cuda::shared_buffers(p)[0].alone, (Bools{true, true, true}));
}

TEST(SharedBuffers, not_what_is_read_and_written) {
  LoweredProgram p = program_of({{.storages = {0, 1, 2}}});
  p.kernels[0].buffers[2].access = loop::Access::update;
  EXPECT_EQ(cuda::shared_buffers(p)[0].alone, (Bools{true, true, false}));
}

TEST(SharedBuffers, not_where_calls_are_not_known) {
  EXPECT_EQ(alone({}), (Bools{false, false, false}));
  EXPECT_EQ(cuda::shared_buffers(program_of({}))[0].pairs, std::nullopt);
}

// Two results get blocks of their own, unless one may lie where the other's operand does.
TEST(SharedBuffers, keep_what_may_meet_in_one_thread) {
  LoweredProgram p;
  p.kernels.push_back(schedule::schedule(value_or_throw(loop::parse_kernel(
      "kernel %u(%x: f32[300] read, %y: f32[300] read, %u: f32[300] write, %v: f32[300] write) {\n"
      "  for p in 300 parallel {\n    %u[p] = %x[p] + 1.0\n    %v[p] = %y[p]*2.0\n  }\n}\n",
      "t"))));
  p.storages.resize(4);
  const auto blocks = [&](std::vector<InPlace> in_place) {
    p.thunks = {
        {"u", KernelCall{.storages = {0, 1, 2, 3}, .in_place = std::move(in_place)}, false}};
    const EmittedCode code =
        cuda::emit_kernels(p.kernels, schedule::share_kernels(p.kernels), cuda::shared_buffers(p));
    EXPECT_EQ(code.kernels[0].phases.size(), 1u);
    return code.kernels[0].phases[0].launch.blocks;
  };
  EXPECT_EQ(blocks({}), 6);
  EXPECT_EQ(blocks({{0, 2}, {1, 3}}), 6);
  EXPECT_EQ(blocks({{0, 3}}), 3);
  p.storages[0].placeholder = 0;
  EXPECT_EQ(blocks({{0, 3}}), 6);
}

TEST(SharedBuffers, are_told_to_the_compiler) {
  const auto emitted = [](std::vector<KernelCall> calls) {
    const LoweredProgram p = program_of(std::move(calls));
    return cuda::emit_kernels(p.kernels, schedule::share_kernels(p.kernels),
                              cuda::shared_buffers(p))
        .units[0]
        .text;
  };
  const std::string apart = emitted({{.storages = {0, 1, 2}}}),
                    in_place = emitted({{.storages = {0, 1, 0}}});
  EXPECT_NE(apart.find("const float *__restrict__ x_"), std::string::npos) << apart;
  EXPECT_NE(apart.find("float *__restrict__ y_"), std::string::npos) << apart;
  EXPECT_EQ(in_place.find("__restrict__ x_"), std::string::npos) << in_place;
  EXPECT_EQ(in_place.find("__restrict__ y_"), std::string::npos) << in_place;
  EXPECT_NE(in_place.find("__restrict__ b_"), std::string::npos) << in_place;
}

}  // namespace
}  // namespace cleave::test
