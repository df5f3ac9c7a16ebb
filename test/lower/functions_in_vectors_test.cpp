// Functions of elements run in vectors, whatever order the elements are read in and whatever reads
// the results: one by one each of them is a call, which takes ten times as long.
#include "schedule/schedule.h"

#include <gtest/gtest.h>

#include "lower/fuse.h"
#include "schedule/short_folds.h"
#include "test/lower/lowered.h"

namespace cleave {
namespace {

// The loops of elements outside of vectors that take functions, as their first lines.
class ScalarLoops {
 public:
  std::vector<std::string> found;

  void block(const loop::Block& b) {
    for (const loop::Stmt& s : b) {
      if (auto* f = std::get_if<loop::For>(&s.node)) {
        if (f->vectors.any()) continue;
        if (f->kind != loop::ForKind::parallel) look(s, f->body, {});
        block(f->body);
      } else if (auto* r = std::get_if<loop::Reduce>(&s.node)) {
        if (r->vectors.any()) continue;
        look(s, r->body, r->folds);
        block(r->body);
      } else if (auto* i = std::get_if<loop::If>(&s.node)) {
        block(i->then);
      }
    }
  }

 private:
  void look(const loop::Stmt& s, const loop::Block& body, std::span<const loop::Fold> folds) {
    if (!schedule::takes_functions(body, folds)) return;
    const auto* f = std::get_if<loop::For>(&s.node);
    found.push_back((f ? f->loop : std::get<loop::Reduce>(s.node).loops.back()).var->name());
  }
};

std::vector<std::string> scalar_loops(const std::string& text) {
  Graph g = test::decomposed(text);
  value_or_throw(fuse_calls(g, core(), FuseCosts::of({})));
  const LoweredProgram lowered = value_or_throw(lower_graph(g));
  ScalarLoops loops;
  for (const loop::Kernel& k : lowered.kernels) loops.block(schedule::schedule(k).body);
  return loops.found;
}

// %e, of [4,48,96], from memory in which its elements lie otherwise.
constexpr const char* sources[] = {
    "%e = relu(%x)",
    "%e = transpose(%y; dim0=1, dim1=2)",
    "%e = cat([%a, %b]; dim=2)",
    "%s = transpose(%c; dim0=1, dim1=2)\n  %t = transpose(%d; dim0=1, dim1=2)\n"
    "  %e = cat([%s, %t]; dim=2)",
    "%e = constant_pad_nd(%a; pad=[30,26])",
    "%e = slice(%w; dim=2, start=3, end=195, step=2)",
    "%e = flip(%x; dims=[2])",
    "%v = view(%h; size=[4,3,48,32])\n  %p = permute(%v; dims=[0,2,1,3])\n"
    "  %k = clone(%p; memory_format=contiguous)\n  %e = view(%k; size=[4,48,96])",
    "%e = index_select(%w, %i; dim=2)",
};
// What reads %f, its functions.
constexpr const char* readers[] = {
    "%r = neg(%f)",
    "%r = sum(%f; dim=[2])",
    "%r = sum(%f; dim=[0,1])",
    "%r = sum(%f)",
    "%r, %m, %n = native_layer_norm(%f, none, none; normalized_shape=[96], eps=1e-05)",
    "%r = _softmax(%f; dim=2, half_to_float=false)",
    "%r = _softmax(%f; dim=1, half_to_float=false)",
    "%t2 = transpose(%f; dim0=1, dim1=2)\n  %r = add(%t2, %y)",
};

TEST(FunctionsInVectors, whatever_order_elements_are_read_in) {
  for (const std::string source : sources)
    for (const std::string reader : readers)
      for (const auto& [also, dtype] :
           {std::pair("", "f32"), std::pair(", %f", "f32"), std::pair(", %f", "bf16")}) {
        std::string text =
            "graph @g(%x: input f32[4,48,96], %y: input f32[4,96,48], %a: input f32[4,48,40], "
            "%b: input f32[4,48,56], %c: input f32[4,40,48], %d: input f32[4,56,48], "
            "%w: input f32[4,48,200], %h: input f32[4,144,32], %i: input i64[96]) {\n  " +
            source + "\n  %f = gelu(%e)\n  " + reader + "\n  return %r" + also + "\n}\n";
        for (size_t at; (at = text.find("f32")) != text.npos && dtype != std::string("f32");)
          text.replace(at, 3, dtype);
        EXPECT_EQ(scalar_loops(text), std::vector<std::string>()) << text;
      }
}

}  // namespace
}  // namespace cleave
