// Calls by module, line and operator.
// tests: program_phases.cpp
#include "inspect/call_groups.h"

#include <set>

#include "inspect/program_phases.h"
#include "test/cut/halves.h"

namespace cleave {
namespace {

using test::joint_of;
using test::parsed;

const char* const blocks = R"(
graph @main(%wte.weight: param f32[50,8] grad, %h.0.ln.weight: param f32[8] grad,
  %h.0.ln.bias: param f32[8] grad, %h.0.fc.weight: param f32[8,8] grad,
  %h.1.fc.weight: param f32[8,8] grad, %i: input i64[4]) {
  %e = embedding(%wte.weight, %i)
  %n, %m, %r = native_layer_norm(%e, %h.0.ln.weight, %h.0.ln.bias; normalized_shape=[8], eps=1e-05)
  %t0 = permute(%h.0.fc.weight; dims=[1,0])
  %h = mm(%n, %t0)
  %g = gelu(%h)
  %x = add(%e, %g)
  %t1 = permute(%h.1.fc.weight; dims=[1,0])
  %k = mm(%x, %t1)
  %z = add(%x, %k)
  return %z
})";

std::map<std::string, std::string> group_of(const Graph& g, const CallGroups& all) {
  std::map<std::string, std::string> out;
  for (const CallGroup& group : all.groups)
    for (const NodeId n : group.calls) out[g.name(g.node(n).out(0))] = group.name;
  return out;
}

TEST(CallGroups, a_call_belongs_to_the_module_whose_parameter_it_reads) {
  const Graph g = parsed(blocks);
  EXPECT_EQ(best_grouping(g), GroupBy::module);
  const CallGroups all = group_calls(g, GroupBy::module);
  const std::map<std::string, std::string> expected = {
      {"e", "wte"}, {"n", "h.0.ln"},  {"t0", "h.0.fc"}, {"h", "h.0.fc"}, {"g", "h.0"},
      {"x", "h.0"}, {"t1", "h.1.fc"}, {"k", "h.1.fc"},  {"z", "h.1"}};
  EXPECT_EQ(group_of(g, all), expected);
  EXPECT_EQ(all.groups[0].parameter_bytes, 50 * 8 * 4);
  EXPECT_EQ(all.groups[1].parameter_bytes, 2 * 8 * 4);
}

TEST(CallGroups, a_view_stays_with_its_operand) {
  const Graph g = parsed(R"(
graph @main(%a.fc.weight: param f32[8,8], %x: input f32[4,8]) {
  %h = mm(%x, %a.fc.weight)
  %v = view(%h; size=[2,16])
  %t = tanh(%v)
  return %t
})");
  const auto group = group_of(g, group_calls(g, GroupBy::module));
  EXPECT_EQ(group.at("v"), "a.fc");
  EXPECT_EQ(group.at("t"), "a");
}

TEST(CallGroups, segments_are_what_no_path_leaves_and_comes_back_to) {
  const Graph g = parsed(blocks);
  const CallGroups all = group_calls(g, GroupBy::module, 3);  // wte, h.0, h.1
  const Graph tied = parsed(R"(
graph @main(%wte.weight: param f32[50,8], %fc.weight: param f32[8,8], %i: input i64[4]) {
  %e = embedding(%wte.weight, %i)
  %e2 = embedding(%wte.weight, %i)
  %h = mm(%e, %fc.weight)
  %t = permute(%wte.weight; dims=[1,0])
  %y = mm(%h, %t)
  return %y, %e2
})");
  const std::vector<GroupSegment> chain = forward_segments(g, all);
  ASSERT_EQ(chain.size(), 3U);
  EXPECT_EQ(chain[2].reads, (std::vector<size_t>{1}));
  const CallGroups groups = group_calls(tied, GroupBy::module);
  const std::vector<GroupSegment> segments = forward_segments(tied, groups);
  ASSERT_EQ(segments.size(), 3U);
  EXPECT_EQ(segments[0].calls.size(), 3U);  // both embeddings, and the permuted weight
  EXPECT_EQ(segments[2].group, segments[0].group);
  EXPECT_EQ(segments[2].calls.size(), 1U);  // the head
  EXPECT_EQ(segments[2].reads, (std::vector<size_t>{0, 1}));
  const Graph joint = joint_of(blocks);
  size_t calls = 0;
  for (const GroupSegment& s : forward_segments(joint, group_calls(joint, GroupBy::module)))
    calls += s.calls.size();
  const std::vector<bool> late = late_calls(joint);
  EXPECT_EQ(calls, joint.node_count() - static_cast<size_t>(std::ranges::count(late, true)));
}

TEST(CallGroups, gradients_belong_to_the_module_of_their_parameter) {
  const Graph g = joint_of(blocks);
  const CallGroups all = group_calls(g, GroupBy::module);
  std::map<std::string, std::string> group = group_of(g, all);
  size_t gradients = 0;
  for (const Return& r : g.returns()) {
    if (r.kind != ReturnKind::grad || !g.value(r.value).def.valid()) continue;
    const std::string parameter = g.name(r.target);
    const std::string of = group[g.name(g.node(g.value(r.value).def).out(0))];
    EXPECT_EQ(of, parameter.substr(0, parameter.rfind('.'))) << parameter;
    ++gradients;
  }
  EXPECT_EQ(gradients, 5U);
  int64_t late = 0, calls = 0;
  for (const CallGroup& c : all.groups) late += c.late, calls += std::ssize(c.calls);
  EXPECT_EQ(calls, static_cast<int64_t>(g.node_count()));
  const std::vector<bool> all_late = late_calls(g);
  EXPECT_EQ(late, std::ranges::count(all_late, true));
  EXPECT_GT(late, 9);
}

TEST(CallGroups, paths_are_shortened_until_there_are_few_enough) {
  const Graph g = parsed(blocks);
  const CallGroups few = group_calls(g, GroupBy::module, 3);
  std::set<std::string> names;
  for (const CallGroup& c : few.groups) names.insert(c.name);
  EXPECT_EQ(names, (std::set<std::string>{"wte", "h.0", "h.1"}));
  const CallGroups one = group_calls(g, GroupBy::module, 1);
  ASSERT_EQ(one.groups.size(), 1U);
  EXPECT_EQ(one.groups[0].calls.size(), g.node_count());
  EXPECT_EQ(one.groups[0].name, "");
  // All parameters are in it.
  EXPECT_EQ(few.groups[0].parameter_bytes, 50 * 8 * 4);
}

TEST(CallGroups, without_paths_calls_come_by_line_or_operator) {
  const Graph lines = parsed(
      "graph @main(%w: param f32[4], %x: input f32[4]) {\n  %a = mul(%x, %w)  # n.cpp:3\n"
      "  %b = tanh(%a)  # n.cpp:4\n  %c = mul(%b, %w)  # n.cpp:3\n  return %c\n}");
  EXPECT_EQ(best_grouping(lines), GroupBy::line);
  const CallGroups by_line = group_calls(lines, GroupBy::line);
  ASSERT_EQ(by_line.groups.size(), 2U);
  EXPECT_EQ(by_line.groups[0].name, "n.cpp:3");
  EXPECT_EQ(by_line.groups[0].calls.size(), 2U);
  const Graph bare = parsed(
      "graph @main(%x: input f32[4]) {\n  %a = tanh(%x)\n  %b = cos(%a)\n  %c = cos(%b)\n"
      "  %d = sin(%c)\n  return %d\n}");
  EXPECT_EQ(best_grouping(bare), GroupBy::op);
  const CallGroups two = group_calls(bare, GroupBy::op, 2);
  ASSERT_EQ(two.groups.size(), 2U);
  EXPECT_EQ(two.groups[0].name, "others");
  EXPECT_EQ(two.groups[1].name, "cos");
}

TEST(ProgramPhases, a_training_step_ends_its_forward_at_the_loss) {
  const Graph step = parsed(
      "graph @main(%w: param f32[4], %x: input f32[4]) {\n  %a = mul(%x, %w)\n"
      "  %loss = sum(%a; dim=[])\n  %d = mul(%x; other=0.1)\n  %n = sub(%w, %d)\n"
      "  return %loss, %n -> %w\n}");
  EXPECT_EQ(kind_of(step), ProgramKind::step);
  std::vector<bool> late;
  for (const NodeId n : step.order()) late.push_back(late_calls(step)[n.v]);
  EXPECT_EQ(late, (std::vector<bool>{false, false, true, true}));
  const Graph running = parsed(
      "graph @main(%m: buffer f32[4], %x: input f32[4]) {\n  %a = add(%x, %m)\n"
      "  return %a, %a -> %m\n}");
  EXPECT_EQ(kind_of(running), ProgramKind::forward);
  EXPECT_EQ(kind_of(joint_of(blocks)), ProgramKind::joint);
}

}  // namespace
}  // namespace cleave
