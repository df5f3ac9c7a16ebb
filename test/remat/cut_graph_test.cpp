// Tags that contradict each other, and the explanation of each value in an exact cut.
// tests: explain_cut.cpp
#include "remat/cut_graph.h"

#include "remat/explain_cut.h"
#include "test/cut/halves.h"

namespace cleave {
namespace {

using test::joint_of;

// %m must run again, but saving the view %v means saving %m.
const char* const contradiction =
    "graph @main(%x: input f32[4,4] grad, %w: param f32[4,4] grad) {\n"
    "  %m = mm(%x, %w) !recompute(must_recompute, ac=1)\n"
    "  %v = view(%m; size=[4,4]) !recompute(must_save)\n  %s = mm(%v, %w)\n  return %s\n}\n";

TEST(CutGraph, contradictory_tags_name_the_path) {
  const Graph joint = joint_of(contradiction);
  const JointView view = value_or_throw(JointView::make(joint));
  const std::vector<ConstrainedValue> path = CutGraph::conflict(view);
  ASSERT_EQ(path.size(), 3u);
  EXPECT_EQ(path[0].name, "m");
  EXPECT_EQ(path[0].constraint, "tagged must_recompute");
  EXPECT_EQ(path[1].name, "v");
  EXPECT_EQ(path[1].constraint, "a view: its base is saved instead");
  const auto graph = CutGraph::make(view, {});
  ASSERT_FALSE(graph.ok());
  EXPECT_EQ(graph.failure().kind, ErrorKind::user);
  for (const ConstrainedValue& v : path)
    EXPECT_NE(graph.failure().message.find("\n  %" + v.name + ": " + v.constraint),
              std::string::npos)
        << graph.failure().message;
}

TEST(CutGraph, tags_that_agree_have_no_conflict) {
  const Graph joint = joint_of(
      "graph @main(%x: input f32[4] grad) {\n  %a = cos(%x) !recompute(must_recompute)\n"
      "  %b = sin(%a) !recompute(must_save)\n  return %b\n}\n");
  EXPECT_TRUE(CutGraph::conflict(value_or_throw(JointView::make(joint))).empty());
}

class Explained {
 public:
  Explained(const std::string& text, size_t point) : joint_(joint_of(text)) {
    view_ = std::make_unique<JointView>(value_or_throw(JointView::make(joint_)));
    exact_ = std::make_unique<ExactCut>(
        value_or_throw(ExactCut::make(value_or_throw(CutGraph::make(*view_, {})))));
    point = std::min(point, exact_->points().size() - 1);
    cut_ = value_or_throw(exact_->partition_at(point));
    explanations_ = explain_cut(*exact_, cut_);
  }
  const ExactCut& exact() const { return *exact_; }
  const Partition& cut() const { return cut_; }
  const std::vector<ValueExplanation>& explanations() const { return explanations_; }
  const ValueExplanation& of(const std::string& name) const {
    return *std::find_if(explanations_.begin(), explanations_.end(),
                         [&](const ValueExplanation& s) { return s.name == name; });
  }

 private:
  Graph joint_;
  std::unique_ptr<JointView> view_;
  std::unique_ptr<ExactCut> exact_;
  Partition cut_;
  std::vector<ValueExplanation> explanations_;
};

const char* const products =
    "graph @main(%x: input f32[64,64] grad, %w: param f32[64,64] grad) {\n"
    "  %c = cos(%x)\n  %m = mm(%c, %w)\n  %e = sin(%m) !recompute(must_save)\n"
    "  %n = mm(%e, %w)\n  %t = tanh(%n)\n  return %t\n}\n";

// Each value's fate is that of the cut, and its corner is where the frontier decides otherwise.
TEST(ExplainCut, agrees_with_the_cut_at_every_point) {
  size_t changes = 0;
  const size_t count = Explained(products, 0).exact().points().size();
  ASSERT_GT(count, 1u);
  for (size_t point = 0; point < count; ++point) {
    const Explained e(products, point);
    size_t saved = 0, recomputed = 0;
    for (const ValueExplanation& s : e.explanations()) {
      saved += s.fate == Fate::saved;
      recomputed += s.fate == Fate::recomputed;
      EXPECT_FALSE(s.reason.empty()) << s.name;
      if (!s.corner) continue;
      ++changes;
      const auto& flow = e.exact().graph();
      const ValueId v = flow.joint().graph().find(s.name);
      const auto call = static_cast<size_t>(flow.call(flow.joint().graph().value(v).def));
      EXPECT_EQ(e.exact().frontier().recompute_at(*s.corner)[call] != 0, s.fate == Fate::saved)
          << s.name;
    }
    EXPECT_EQ(saved, e.cut().saved.size());
    EXPECT_EQ(recomputed, e.cut().recomputed.size());
  }
  EXPECT_GT(changes, 0u);
}

TEST(ExplainCut, reasons) {
  const Explained all(products, 0), least(products, 1000);
  EXPECT_EQ(all.of("x").reason, "a placeholder, in memory anyway");
  EXPECT_EQ(all.of("e").reason, "tagged must_save");
  EXPECT_EQ(least.of("e").fate, Fate::saved);
  EXPECT_EQ(all.of("t").reason, "returned, in memory anyway");
  EXPECT_EQ(all.of("c").fate, Fate::saved);
  EXPECT_EQ(least.of("c").fate, Fate::recomputed);
  EXPECT_NE(least.of("c").reason.find("price"), std::string::npos) << least.of("c").reason;
  EXPECT_GT(all.of("m").recompute_ns, all.of("c").recompute_ns / 100);
}

}  // namespace
}  // namespace cleave
