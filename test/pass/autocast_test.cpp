// Which calls autocast casts: cases as text, the graph before and after.
// tests: autocast_policy.cpp
#include "pass/autocast.h"

#include <gtest/gtest.h>

#include <fstream>

#include "grad/grad.h"
#include "pass/autocast_policy.h"
#include "pass/pipeline.h"
#include "test/random_inputs.h"
#include "test/sample/random_graph.h"

namespace cleave {
namespace {

using test::core;
using test::parsed;

std::string cast(const std::string& text, DType dtype = DType::bf16) {
  Graph g = parsed(text);
  value_or_throw(autocast(g, core(), dtype));
  value_or_throw(verify(g));
  return print(g);
}

std::string error(const std::string& text, DType dtype) {
  Graph g = parsed(text);
  const Status s = autocast(g, core(), dtype);
  return s.ok() ? "no error" : s.failure().message;
}

struct Case {
  std::string title, before, after;  // after: empty where nothing changes
};

// "# title", a file of graphs, and after "# becomes" what it is turned into, or "# unchanged".
std::vector<Case> cases() {
  std::ifstream file(CLEAVE_SOURCE_DIR "/test/pass/autocast_cases.clv");
  std::vector<Case> out;
  std::string* into = nullptr;
  for (std::string line; std::getline(file, line);) {
    if (line == "# becomes") {
      into = &out.back().after;
    } else if (line == "# unchanged") {
      into = nullptr;
    } else if (line.starts_with("# ")) {
      out.push_back({line.substr(2), "", ""});
      into = &out.back().before;
    } else if (into && !line.empty()) {
      *into += line + "\n";
    }
  }
  return out;
}

TEST(Autocast, becomes_or_stays_as_the_cases_say) {
  const std::vector<Case> all = cases();
  ASSERT_GE(all.size(), 12);
  for (const Case& c : all) {
    SCOPED_TRACE(c.title);
    EXPECT_EQ(cast(c.before), print(parsed(c.after.empty() ? c.before : c.after)));
  }
}

TEST(Autocast, twice_is_once) {
  for (const Case& c : cases()) {
    SCOPED_TRACE(c.title);
    const std::string once = cast(c.before);
    EXPECT_EQ(cast(once), once);
  }
}

// Nor after the passes that follow it, which move casts.
TEST(Autocast, of_a_graph_that_was_cast_changes_nothing) {
  int cast = 0;
  for (uint64_t seed = 0; seed < 150; ++seed) {
    SCOPED_TRACE(seed);
    Graph g = value_or_throw(random::random_graph(core(), seed, {})).g;
    const DType dtype = seed % 2 == 0 ? DType::bf16 : DType::f16;
    const std::string given = print(g);
    value_or_throw(autocast(g, core(), dtype));
    cast += print(g) != given;
    for (const bool rewritten : {false, true}) {
      if (rewritten) value_or_throw(run_stage(PassStage::pre_grad, g, core(), {}));
      const std::string once = print(g);
      value_or_throw(autocast(g, core(), dtype));
      EXPECT_EQ(print(g), once) << rewritten;
    }
  }
  EXPECT_GT(cast, 30);  // others hold no products, or are of other dtypes
}

TEST(Autocast, f16_by_the_same_lists) {
  for (const Case& c : cases()) {
    if (c.before.find("bf16") != std::string::npos) continue;
    SCOPED_TRACE(c.title);
    std::string want = cast(c.before);
    for (size_t at; (at = want.find("bf16")) != std::string::npos;) want.erase(at, 1);
    EXPECT_EQ(cast(c.before, DType::f16), print(parsed(want)));
  }
}

TEST(Autocast, refuses_other_dtypes_and_joint_graphs) {
  const std::string text = "graph @main(%x: input f32[2] grad) {\n  %y = exp(%x)\n  return %y\n}\n";
  EXPECT_EQ(error(text, DType::f32), "autocast: f32: expected bf16 or f16");
  EXPECT_EQ(error(text, DType::i64), "autocast: i64: expected bf16 or f16");
  const Graph joint = value_or_throw(make_joint(parsed(text), core()));
  EXPECT_EQ(error(print(joint), DType::bf16),
            "@main: has tangents or gradients already, autocast comes before them");
}

// A policy for a name that no operator has would never be seen to be missing.
TEST(Autocast, lists_name_operators_that_exist) {
  for (const CastRow& row : cast_rows()) EXPECT_NE(core().find(row.op), nullptr) << row.op;
}

// Their code may read f32, whatever their infer accepts.
TEST(Autocast, operators_of_the_host_program_get_the_dtypes_that_it_gave_them) {
  OpRegistry ops = core();
  OpDef mine = *core().find("exp");
  mine.name = "my_exp";
  mine.file.clear();
  value_or_throw(ops.add(std::move(mine)));
  const auto read = [&](const std::string& text) {
    return value_or_throw(parse(text, "test", ops)).main;
  };
  const std::string head = "graph @main(%x: input f32[4,4], %w: param f32[4,4] grad) {\n";
  Graph g = read(head + "  %y = mm(%x, %w)\n  %z = my_exp(%y)\n  return %z\n}\n");
  value_or_throw(autocast(g, ops, DType::bf16));
  EXPECT_EQ(print(g), print(read(head + "  %x.bf16 = _to_copy(%x; dtype=bf16)\n"
                                        "  %w.bf16 = _to_copy(%w; dtype=bf16)\n"
                                        "  %y = mm(%x.bf16, %w.bf16)\n"
                                        "  %y.f32 = _to_copy(%y; dtype=f32)\n"
                                        "  %z = my_exp(%y.f32)\n  return %z\n}\n")));
}

TEST(Autocast, gradients_of_parameters_are_f32_through_bf16) {
  Graph g = parsed(
      "graph @main(%x: input f32[4,3], %w: param f32[3,2] grad, %b: param f32[2] grad) {\n"
      "  %y = addmm(%b, %x, %w)\n"
      "  %l = sum(%y)\n"
      "  return %l\n}\n");
  value_or_throw(autocast(g, core(), DType::bf16));
  const Graph joint = value_or_throw(make_joint(g, core()));
  int gradients = 0, products = 0;
  for (const Return& r : joint.returns())
    if (r.kind == ReturnKind::grad) {
      EXPECT_EQ(joint.type(r.value).dtype, DType::f32);
      ++gradients;
    }
  for (NodeId n = joint.first_node(); n.valid(); n = joint.next_node(n)) {
    const std::string& name = joint.node(n).op->name;
    if (name != "mm" && name != "addmm") continue;
    EXPECT_EQ(joint.type(joint.node(n).out(0)).dtype, DType::bf16);
    ++products;
  }
  EXPECT_EQ(gradients, 2);
  EXPECT_EQ(products, 2);  // forward, and the weight's gradient
}

}  // namespace
}  // namespace cleave
