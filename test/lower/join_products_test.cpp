// Which neighbouring products are one job, and the memory that they need together.
// tests: join_products.cpp run_early.cpp plan_memory.cpp
#include "lower/join_products.h"

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "lower/add_workspace.h"
#include "lower/plan_memory.h"
#include "lower/save_memory.h"
#include "lower/thunk_uses.h"
#include "runtime/library.h"
#include "test/lower/lowered.h"

namespace cleave {
namespace {

using Names = std::vector<std::string>;

LoweredProgram linked(const std::string& placeholders, const std::string& body) {
  LoweredProgram p = test::lowered("graph @g(" + placeholders + ") {\n" + body + "}\n");
  runtime::LibraryCache library(Target::here());
  for (size_t i = 0; i < p.thunks.size(); ++i)
    if (auto* call = std::get_if<LibraryCall>(&p.thunks[i].work)) {
      call->function = value_or_throw(library.get(call->spec));
      call->workspace = add_workspace(p, p.thunks[i].name, call->function->scratch_bytes());
    }
  return p;
}

// The calls of each job by name: "a b", "c d".
Names jobs_of(const LoweredProgram& p, const std::vector<JoinedCalls>& joined) {
  Names out;
  for (const JoinedCalls& job : joined) {
    out.emplace_back();
    for (size_t i = job.begin; i < job.end; ++i)
      out.back() += (i > job.begin ? " " : "") + p.thunks[i].name;
  }
  return out;
}
Names joinable(const LoweredProgram& p) { return jobs_of(p, joinable_calls(p)); }

bool overlap(const PlannedProgram& p, size_t a, size_t b) {
  const auto& storages = p.lowered.storages;
  return p.offsets[a] < p.offsets[b] + storages[b].bytes &&
         p.offsets[b] < p.offsets[a] + storages[a].bytes;
}

// What the calls of a job touch lies apart, unless all of them read it.
void expect_apart(const PlannedProgram& p) {
  const ThunkProgram& program = p.lowered;
  for (const JoinedCalls& job : program.joined) {
    std::vector<size_t> touched;
    for (size_t i = job.begin; i < job.end; ++i)
      for (const size_t s : storages_of(program.thunks[i]))
        if (program.storages[s].placeholder < 0 && program.storages[s].bytes > 0)
          touched.push_back(s);
    for (const size_t a : touched)
      for (const size_t b : touched)
        EXPECT_TRUE(a == b || !overlap(p, a, b))
            << program.storages[a].name << " and " << program.storages[b].name;
    std::map<size_t, size_t> writers;
    for (size_t i = job.begin; i < job.end; ++i)
      each_use(p.lowered, program.thunks[i], [&](size_t s, bool is_written) {
        EXPECT_TRUE(!is_written || writers.try_emplace(s, i).second);
      });
    for (size_t i = job.begin; i < job.end; ++i)
      for (const size_t s : storages_of(program.thunks[i]))
        EXPECT_TRUE(!writers.contains(s) || writers[s] == i) << program.storages[s].name;
  }
}

constexpr const char* operands =
    "%x: input f32[64,48], %y: input f32[20,48], %v: input f32[48,32], %w: input f32[48,70], "
    "%z: input f32[200,200]";

TEST(JoinProducts, neighbours_of_any_shapes_are_one_job) {
  const LoweredProgram p = linked(operands,
                                  "  %a = mm(%x, %v)\n  %b = mm(%y, %w)\n"
                                  "  %c = mm(%x, %w)\n  return %a, %b, %c\n");
  EXPECT_EQ(joinable(p), (Names{"a b c"}));
}

TEST(JoinProducts, what_comes_between_separates) {
  const LoweredProgram p = linked(operands,
                                  "  %a = mm(%x, %v)\n  %s = sum(%a)\n"
                                  "  %b = mm(%y, %w)\n  %c = mm(%x, %w)\n"
                                  "  return %s, %b, %c\n");
  EXPECT_EQ(joinable(p), (Names{"b c"}));
}

TEST(JoinProducts, a_product_of_a_result_is_not_in_its_job) {
  const LoweredProgram p = linked("%x: input f32[40,40]",
                                  "  %a = mm(%x, %x)\n  %b = mm(%a, %x)\n  %c = mm(%a, %a)\n"
                                  "  %d = mm(%b, %c)\n  return %a, %d\n");
  EXPECT_EQ(joinable(p), (Names{"b c"}));
}

TEST(JoinProducts, what_one_writes_no_other_touches) {
  LoweredProgram p = linked(operands, "  %a = mm(%x, %v)\n  %b = mm(%y, %w)\n  return %a, %b\n");
  ASSERT_EQ(joinable(p), (Names{"a b"}));
  LoweredProgram shared = p;
  auto& b = std::get<LibraryCall>(shared.thunks[1].work);
  b.workspace = std::get<LibraryCall>(shared.thunks[0].work).workspace;
  EXPECT_EQ(joinable(shared), Names());
  // %b writes what %a reads.
  auto& c = std::get<LibraryCall>(p.thunks[1].work);
  for (LibraryCall::Operand& o : c.operands)
    if (o.access == LibraryAccess::write)
      o.storage = std::get<LibraryCall>(p.thunks[0].work).operands[0].storage;
  ASSERT_EQ(std::get<LibraryCall>(p.thunks[0].work).operands[0].access, LibraryAccess::read);
  EXPECT_EQ(joinable(p), Names());
}

TEST(JoinProducts, large_products_and_other_calls_stay_alone) {
  const std::string large = "%x: input f32[40,40], %y: input f32[1024,1024]";
  EXPECT_EQ(joinable(linked(large,
                            "  %a = mm(%y, %y)\n  %b = mm(%x, %x)\n  %c = mm(%x, %x)\n"
                            "  return %a, %b, %c\n")),
            (Names{"b c"}));
  LoweredProgram unlinked = test::lowered(
      "graph @g(%x: input f32[4,4]) {\n  %a = mm(%x, %x)\n  %b = mm(%x, %x)\n  return %a, %b\n}\n");
  EXPECT_EQ(joinable(unlinked), Names());
}

TEST(JoinProducts, a_job_has_at_most_so_many_calls) {
  std::string body, results;
  for (size_t k = 0; k < max_joined_calls + 3; ++k) {
    body += fmt::format("  %a{} = mm(%x, %v)\n", k);
    results += fmt::format("{}%a{}", k ? ", " : "", k);
  }
  const LoweredProgram p = linked(operands, body + "  return " + results + "\n");
  const std::vector<JoinedCalls> jobs = joinable_calls(p);
  ASSERT_EQ(jobs.size(), 2u);
  EXPECT_EQ(jobs[0].end - jobs[0].begin, max_joined_calls);
  EXPECT_EQ(jobs[1].end - jobs[1].begin, 3u);
}

TEST(JoinProducts, no_jump_leads_into_a_job) {
  for (const size_t target : {1, 2, 3}) {
    LoweredProgram p = linked(operands, "  %a = mm(%x, %v)\n  %b = mm(%y, %w)\n  return %a, %b\n");
    p.thunks.insert(p.thunks.begin(), {"skip", JumpCall{std::nullopt, target}});
    EXPECT_EQ(joinable(p), target == 2 ? Names() : (Names{"a b"})) << target;
  }
}

// %a and %b have 8 KB each, and what they read and their workspaces.
constexpr const char* two =
    "  %p = exp(%x)\n  %q = exp(%y)\n  %a = mm(%p, %v)\n"
    "  %b = mm(%q, %w)\n";

TEST(JoinProducts, jobs_raise_no_bound) {
  const LoweredProgram tight = linked(operands, std::string(two) + "  return %a, %b\n");
  ASSERT_EQ(joinable(tight), (Names{"a b"}));
  const PlannedProgram alone = value_or_throw(plan_joined(tight));
  EXPECT_TRUE(alone.lowered.joined.empty());
  EXPECT_EQ(alone.arena_bytes, value_or_throw(plan_memory(tight)).arena_bytes);

  const LoweredProgram wide = linked(operands, std::string(two) +
                                                   "  %r = sin(%z)\n  %s = cumsum(%r; dim=0)\n"
                                                   "  return %a, %b, %s\n");
  const PlannedProgram planned = value_or_throw(plan_joined(wide));
  EXPECT_EQ(jobs_of(planned.lowered, planned.lowered.joined), (Names{"a b"}));
  EXPECT_EQ(planned.arena_bytes, value_or_throw(plan_memory(wide)).arena_bytes);
  expect_apart(planned);
}

TEST(JoinProducts, a_job_without_room_leaves_others_alone) {
  const LoweredProgram p = linked(std::string(operands) + ", %i: input f32[4,4]",
                                  std::string(two) +
                                      "  %s = sum(%a)\n  %t = sum(%b)\n  %e = mm(%i, %i)\n"
                                      "  %f = mm(%i, %i)\n  return %s, %t, %e, %f\n");
  ASSERT_EQ(joinable(p), (Names{"a b", "e f"}));
  const PlannedProgram planned = value_or_throw(plan_joined(p));
  EXPECT_EQ(jobs_of(planned.lowered, planned.lowered.joined), (Names{"e f"}));
}

// Sums free what they read, and would run early: each behind its product.
TEST(JoinProducts, what_runs_early_runs_behind_the_job) {
  const std::string body =
      "  %a = mm(%x, %v)\n  %b = mm(%y, %w)\n  %c = mm(%x, %w)\n"
      "  %s = sum(%a)\n  %t = sum(%b)\n  %u = sum(%c)\n"
      "  %r = sin(%z)\n  %k = cumsum(%r; dim=0)\n  return %s, %t, %u, %k\n";
  LoweredProgram p = linked(operands, body);
  ASSERT_TRUE(save_memory(p).ok());
  const PlannedProgram planned = value_or_throw(plan_joined(std::move(p)));
  EXPECT_EQ(jobs_of(planned.lowered, planned.lowered.joined), (Names{"a b c"}));
  expect_apart(planned);
}

// Where the products are the peak, they run one by one.
TEST(JoinProducts, what_runs_early_separates_products_at_the_peak) {
  LoweredProgram p = linked(operands,
                            "  %a = mm(%x, %v)\n  %b = mm(%y, %w)\n  %c = mm(%x, %w)\n"
                            "  %s = sum(%a)\n  %t = sum(%b)\n  %u = sum(%c)\n"
                            "  return %s, %t, %u\n");
  ASSERT_TRUE(save_memory(p).ok());
  const PlannedProgram planned = value_or_throw(plan_joined(std::move(p)));
  EXPECT_TRUE(planned.lowered.joined.empty());
}

TEST(JoinProducts, random_programs) {
  size_t jobs = 0;
  for (uint32_t seed = 0; seed < 200; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    std::mt19937 rng(seed);
    Names values = {"x", "y"};
    std::string body, results;
    for (int k = 0; k < 20; ++k) {
      const auto any = [&] { return values[rng() % values.size()]; };
      const std::string name = fmt::format("v{}", k);
      if (rng() % 4 == 0)
        body += fmt::format("  %{} = sin(%{})\n", name, any());
      else
        body += fmt::format("  %{} = mm(%{}, %{})\n", name, any(), any());
      if (rng() % 2) values.push_back(name);
      if (rng() % 4 == 0 || k == 19) results += (results.empty() ? "%" : ", %") + name;
    }
    LoweredProgram p =
        linked("%x: input f32[30,30], %y: input f32[30,30]", body + "  return " + results + "\n");
    ASSERT_TRUE(save_memory(p).ok());
    const PlannedProgram alone = value_or_throw(plan_memory(p));
    const PlannedProgram planned = value_or_throw(plan_joined(std::move(p)));
    EXPECT_LE(planned.arena_bytes, alone.arena_bytes);
    expect_apart(planned);
    jobs += planned.lowered.joined.size();
  }
  EXPECT_GT(jobs, 50u);
}

}  // namespace
}  // namespace cleave
