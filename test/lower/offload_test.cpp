// Where the copies of an offloaded value stand among the thunks.
#include "lower/offload.h"

#include <gtest/gtest.h>

#include <map>

#include "lower/plan_memory.h"
#include "lower/thunk_uses.h"
#include "test/lower/lowered.h"

namespace cleave {
namespace {

using test::lowered;
using Step = TransferCall::Step;

// A chain whose values are read again in the reverse order.
std::string chain(int length) {
  std::string body = "graph @g(%x0: input f32[64,64]) {\n";
  for (int k = 0; k < length; ++k) body += fmt::format("  %x{} = cumsum(%x{}; dim=0)\n", k + 1, k);
  body += fmt::format("  %g{} = cumsum(%x{}; dim=1)\n", length, length);
  for (int k = length; k-- > 1;) body += fmt::format("  %g{} = add(%g{}, %x{})\n", k, k + 1, k);
  return body + "  return %g1\n}\n";
}

// Thunks by number, of each copy.
struct Copy {
  size_t begin = 0, end = 0;
  bool is_out = false;
  size_t storage = 0;
  int64_t host_offset = 0;
};
std::map<size_t, Copy> copies_of(const LoweredProgram& p) {
  std::map<size_t, Copy> out;
  for (size_t i = 0; i < p.thunks.size(); ++i) {
    const auto* call = std::get_if<TransferCall>(&p.thunks[i].work);
    if (call == nullptr) continue;
    Copy& c = out[call->number];
    const bool begins = call->step == Step::begin_out || call->step == Step::begin_in;
    (begins ? c.begin : c.end) = i;
    c.is_out = call->step == Step::begin_out || call->step == Step::end_out;
    c.storage = call->storage;
    c.host_offset = call->host_offset;
  }
  return out;
}

int64_t kernels_between(const LoweredProgram& p, const Copy& c) {
  int64_t n = 0;
  for (size_t i = c.begin; i < c.end; ++i)
    n += !std::holds_alternative<TransferCall>(p.thunks[i].work);
  return n;
}

// A call takes 100 us, a copy of 16 KiB as long at .16 GB/s, and 20 us more: two calls hide it.
TEST(Offload, copies_run_beside_calls_that_do_not_touch_what_they_copy) {
  const MachineRates rates{
      .memory_gigabytes = 1e6, .cache_gigabytes = 1e6, .call_ns = 1e5, .host_gigabytes = 0.16384};
  LoweredProgram p = lowered(chain(12));
  const int64_t whole = value_or_throw(plan_memory(p)).arena_bytes;
  const int64_t room = whole * 3 / 4;
  ASSERT_TRUE(offload(p, room, rates));
  EXPECT_LE(value_or_throw(plan_memory(p)).arena_bytes, room);
  const std::map<size_t, Copy> copies = copies_of(p);
  ASSERT_FALSE(copies.empty());
  EXPECT_EQ(copied_out(p), static_cast<int64_t>(copies.size() / 2) * 64 * 64 * 4);
  for (const auto& [number, c] : copies) {
    EXPECT_LT(c.begin, c.end);
    EXPECT_GE(kernels_between(p, c), 2) << "copy " << number << " is waited for too early";
    for (size_t i = c.begin + 1; i < c.end; ++i)
      each_touched(p.thunks[i], [&](size_t s) { EXPECT_NE(s, c.storage) << "thunk " << i; });
  }
  // Each way one after the other: the one that is needed first goes first.
  size_t last_end = 0;
  for (size_t i = 0; i < p.thunks.size(); ++i)
    if (const auto* call = std::get_if<TransferCall>(&p.thunks[i].work);
        call != nullptr && call->step == Step::begin_in) {
      EXPECT_GT(copies.at(call->number).end, last_end);
      last_end = copies.at(call->number).end;
    }
  // A copy in reads what the one out of the same value has written.
  for (const auto& [number, c] : copies) {
    if (!c.is_out) continue;
    const Copy& in = copies.at(number + 1);
    EXPECT_GT(in.begin, c.end);
    EXPECT_EQ(in.host_offset, c.host_offset);
    EXPECT_NE(in.storage, c.storage);
  }
}

TEST(Offload, what_does_not_help_changes_nothing) {
  const MachineRates rates{.call_ns = 1e5, .host_gigabytes = 100};
  LoweredProgram p = lowered(chain(12));
  const size_t thunks = p.thunks.size(), kernels = p.kernels.size();
  const int64_t whole = value_or_throw(plan_memory(p)).arena_bytes;
  EXPECT_FALSE(offload(p, whole, rates)) << "it is within already";
  EXPECT_FALSE(offload(p, 64, rates)) << "no call has so little";
  EXPECT_FALSE(offload(p, whole / 2, {.call_ns = 1e5})) << "there is no other memory";
  EXPECT_EQ(p.thunks.size(), thunks);
  EXPECT_EQ(p.kernels.size(), kernels);
}

}  // namespace
}  // namespace cleave
