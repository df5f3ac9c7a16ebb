// Orders of thunks that need less memory, and what may not change places.
// tests: order_thunks.cpp
#include "lower/order_thunks.h"

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <random>

#include "lower/add_workspace.h"
#include "lower/plan_memory.h"
#include "lower/thunk_uses.h"
#include "lower/update_in_place.h"
#include "test/lower/lowered.h"

namespace cleave {
namespace {

using test::lowered;

using Names = std::vector<std::string>;

constexpr int64_t matrix = 64 * 64 * 4;

struct Ordered {
  LoweredProgram before, after;
  int64_t bytes_before = 0, bytes_after = 0;

  Names names() const {
    Names out;
    for (const Thunk& t : after.thunks) out.push_back(t.name);
    return out;
  }
};

Ordered ordered(const std::string& placeholders, const std::string& body,
                const std::function<void(LoweredProgram&)>& change = {}) {
  LoweredProgram p = lowered("graph @g(" + placeholders + ") {\n" + body + "}\n");
  update_in_place(p);
  if (change) change(p);
  Ordered out{.before = p};
  EXPECT_TRUE(order_thunks(p).ok());
  out.after = std::move(p);
  out.bytes_before = measure_memory(out.before).arena;
  out.bytes_after = measure_memory(out.after).arena;
  return out;
}

constexpr const char* two_matrices = "%x: input f32[64,64], %y: input f32[64,64]";

TEST(OrderThunks, a_sum_runs_before_the_next_product) {
  const Ordered o = ordered(two_matrices,
                            "  %a = mm(%x, %y)\n  %b = mm(%y, %x)\n  %c = mm(%x, %x)\n"
                            "  %s = sum(%a)\n  %t = sum(%b)\n  %u = sum(%c)\n"
                            "  return %s, %t, %u\n");
  EXPECT_EQ(o.names(), (Names{"a", "s", "b", "t", "c", "u"}));
  EXPECT_EQ(o.bytes_before, 3 * matrix + 64);
  EXPECT_EQ(o.bytes_after, matrix + 3 * 64);
}

TEST(OrderThunks, what_gains_little_stays) {
  const std::string placeholders = "%x: input f32[64,64], %v: input f32[32], %w: input f32[32]";
  const std::string body =
      "  %a = sin(%v)\n  %b = sin(%w)\n  %s = sum(%a)\n  %t = sum(%b)\n  %m = mm(%x, %x)\n"
      "  return %m, %s, %t\n";
  EXPECT_EQ(ordered(placeholders, body).names(), (Names{"a", "b", "s", "t", "m"}));
}

TEST(OrderThunks, a_placeholder_is_written_after_the_last_thunk_that_may_fail) {
  const std::string placeholders =
      "%u: param f32[64,64], %x: input f32[64,64], %w: param f32[64,64], %i: input i64[3]";
  const std::string body =
      "  %a = mm(%x, %x)\n  %b = mm(%x, %w)\n  %e = embedding(%b, %i)\n  %n = sub(%u, %a)\n"
      "  return %e, %n -> %u\n";
  const Ordered o = ordered(placeholders, body);
  EXPECT_EQ(o.names(), (Names{"b", "e", "a", "n"}));  // the check first, then what waits for it
  EXPECT_LT(o.bytes_after, o.bytes_before);
}

TEST(OrderThunks, a_placeholder_is_written_after_its_readers) {
  const std::string body =
      "  %a = mm(%x, %x)\n  %b = mm(%u, %x)\n  %s = sum(%b)\n  %n = sub(%u, %a)\n"
      "  return %s, %n -> %u\n";
  EXPECT_EQ(ordered("%u: param f32[64,64], %x: input f32[64,64]", body).names(),
            (Names{"b", "s", "a", "n"}));
}

// A call of the host program for a sum.
void call_host(LoweredProgram& p, const std::string& name) {
  for (Thunk& t : p.thunks) {
    if (t.name != name) continue;
    const std::vector<size_t> storages = std::get<KernelCall>(t.work).storages;
    ForeignCall call;
    call.operands = {storages.front()};
    call.results = {storages.back()};
    t.work = std::move(call);
  }
}

TEST(OrderThunks, calls_of_the_host_program_keep_their_order) {
  const std::string body =
      "  %a = mm(%x, %y)\n  %b = mm(%y, %x)\n  %c = mm(%x, %x)\n"
      "  %u = sum(%c)\n  %t = sum(%b)\n  %s = sum(%a)\n  return %s, %t, %u\n";
  const Ordered o = ordered(two_matrices, body, [](LoweredProgram& p) {
    for (const char* name : {"s", "t", "u"}) call_host(p, name);
  });
  EXPECT_EQ(o.names(), (Names{"c", "u", "b", "t", "a", "s"}));
}

// %b needs its workspace while %a is alive.
TEST(OrderThunks, workspaces_count) {
  const std::string placeholders = "%x: input f32[64,64], %v: input f32[1,64], %w: input f32[64,1]";
  const std::string body =
      "  %c = mm(%x, %x)\n  %d = mm(%c, %c)\n  %t = sum(%d)\n"
      "  %a = sin(%x)\n  %b = mm(%v, %w)\n  %s = sum(%a)\n  return %b, %s, %t\n";
  const Ordered o = ordered(placeholders, body, [](LoweredProgram& p) {
    for (Thunk& t : p.thunks)
      if (t.name == "b")
        std::get<LibraryCall>(t.work).workspace = add_workspace(p, "b", 4 * matrix);
  });
  EXPECT_EQ(o.bytes_before, 5 * matrix + 2 * 64);
  EXPECT_LT(o.bytes_after, 4 * matrix + 4 * 64);
}

TEST(OrderThunks, jumps_keep_their_places) {
  const std::string arms =
      "graph @then(%x: input f32[64,64]) {\n  %p = sin(%x)\n  return %p\n}\n"
      "graph @otherwise(%x: input f32[64,64]) {\n  %p = cos(%x)\n  return %p\n}\n";
  LoweredProgram p = lowered(
      arms +
      "graph @g(%c: input bool[], %x: input f32[64,64]) {\n  %a = mm(%x, %x)\n  %b = mm(%a, %x)\n"
      "  %d = cond(%c, [%x]; then=@then, otherwise=@otherwise)\n  %s = sum(%a)\n"
      "  %t = sum(%b)\n  return %s, %t, %d\n}\n");
  Names before, after;
  for (const Thunk& t : p.thunks) before.push_back(t.name);
  ASSERT_TRUE(order_thunks(p).ok());
  for (const Thunk& t : p.thunks) after.push_back(t.name);
  EXPECT_EQ(after, before);
}

// A program of products, sums, checked reads and updates of placeholders.
std::string random_body(std::mt19937& rng, const Names& parameters) {
  Names values = parameters, results;
  std::string body;
  const auto any = [&] { return values[rng() % values.size()]; };
  for (int k = 0; k < 24; ++k) {
    const std::string name = fmt::format("v{}", k);
    switch (rng() % 4) {
      case 0: body += fmt::format("  %{} = mm(%{}, %{})\n", name, any(), any()); break;
      case 1: body += fmt::format("  %{} = sub(%{}, %{})\n", name, any(), any()); break;
      case 2: body += fmt::format("  %{} = embedding(%{}, %i)\n", name, any()); break;
      default:
        body += fmt::format("  %{} = sum(%{})\n", name, any());
        results.push_back("%" + name);
        continue;
    }
    values.push_back(name);
  }
  for (const std::string& p : parameters)
    if (rng() % 2) {
      results.push_back(fmt::format("%{} -> %{}", values.back(), p));
      values.pop_back();
    }
  body += "  return ";
  for (size_t k = 0; k < results.size(); ++k) body += (k ? ", " : "") + results[k];
  return body + (results.empty() ? "%v0\n" : "\n");
}

struct StorageUse {
  size_t storage = 0;
  bool is_written = false;
};

std::vector<StorageUse> uses_of(const LoweredProgram& p, const Thunk& thunk) {
  std::vector<StorageUse> out;
  each_use(p, thunk, [&](size_t s, bool is_written) { out.push_back({s, is_written}); });
  return out;
}

// Checks by pairs of thunks, unlike the code, which remembers the last writer and reader.
void expect_kept(const Ordered& o) {
  std::map<std::string, size_t> at;
  for (size_t i = 0; i < o.after.thunks.size(); ++i) at[o.after.thunks[i].name] = i;
  const auto& thunks = o.before.thunks;
  ASSERT_EQ(at.size(), thunks.size());
  for (size_t j = 0; j < thunks.size(); ++j)
    for (size_t i = 0; i < j; ++i) {
      bool is_fixed = false;
      for (const StorageUse& a : uses_of(o.before, thunks[i]))
        for (const StorageUse& b : uses_of(o.before, thunks[j])) {
          is_fixed |= a.storage == b.storage && (a.is_written || b.is_written);
          is_fixed |=
              thunks[i].may_fail && b.is_written && o.before.storages[b.storage].placeholder >= 0;
        }
      EXPECT_TRUE(!is_fixed || at[thunks[i].name] < at[thunks[j].name])
          << thunks[i].name << " before " << thunks[j].name;
    }
}

TEST(OrderThunks, random_programs_keep_what_must_be) {
  int gains = 0, updates = 0;
  for (uint32_t seed = 0; seed < 300; ++seed) {
    std::mt19937 rng(seed);
    SCOPED_TRACE(fmt::format("seed {}", seed));
    const Ordered o = ordered(
        "%p: param f32[64,64], %q: param f32[64,64], %r: param f32[64,64], %i: input i64[64]",
        random_body(rng, {"p", "q", "r"}));
    expect_kept(o);
    EXPECT_LE(o.bytes_after, o.bytes_before);
    gains += o.bytes_after < o.bytes_before;
    for (const Thunk& t : o.before.thunks)
      for (const StorageUse& u : uses_of(o.before, t))
        updates += u.is_written && o.before.storages[u.storage].placeholder >= 0;
  }
  EXPECT_GT(gains, 100);
  EXPECT_GT(updates, 100);
}

}  // namespace
}  // namespace cleave
