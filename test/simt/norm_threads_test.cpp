// Group norms of images whose channels lie last, forwards and backwards, for a GPU: each kernel
// reads them in the order of memory, and its threads compute what its loops say.
#include <gtest/gtest.h>

#include <array>

#include "backend/make_backend.h"
#include "compile/stages.h"
#include "ir/text.h"
#include "loop/print.h"
#include "loop/replace.h"
#include "simt/map_threads.h"
#include "test/random_inputs.h"
#include "test/sample/check_threads.h"

namespace cleave {
namespace {

using test::core;

std::string norm_of(int64_t n, int64_t c, int64_t side, int64_t group) {
  const std::string sizes = fmt::format("N={}, C={}, HxW={}, group={}", n, c, side * side, group);
  const std::string image = fmt::format("input bf16[{},{},{},{}]", n, side, side, c);
  const std::string channels = fmt::format("param f32[{}]", c);
  return "graph @main(%x: " + image + ", %g: " + image + ", %w: " + channels + ", %b: " + channels +
         ") {\n  %p = permute(%x; dims=[0,3,1,2])\n"
         "  %y, %m, %r = native_group_norm(%p, %w, %b; " +
         sizes +
         ", eps=1e-05)\n"
         "  %s = silu(%y)\n  %z = permute(%s; dims=[0,2,3,1])\n"
         "  %q = permute(%g; dims=[0,3,1,2])\n  %d = silu_backward(%q, %y)\n"
         "  %dx, %dw, %db = native_group_norm_backward(%d, %p, %m, %r, %w; " +
         sizes +
         ", output_mask=[true,true,true])\n  %h = permute(%dx; dims=[0,2,3,1])\n"
         "  return %z, %h, %dw, %db\n}\n";
}

std::vector<loop::Kernel> kernels_of(const std::string& text,
                                     std::vector<std::string> passes_on = {}) {
  StageOptions options;
  options.passes_on = std::move(passes_on);
  options.target = Target::named("sm_90");
  options.compiler = CompilerChoice::none;
  return value_or_throw(
      scheduled_kernels(test::parsed(text), core(), options, backend_for(options)));
}

TEST(NormThreads, compute_what_their_loops_say) {
  const std::vector<std::string> small = {"turn_folds:least_elements:1",
                                          "join_statistics:least_rows:300",
                                          "split_folds:least_elements:1:most_elements:360"};
  // Groups that are folded in two steps, channels, and groups that are rows in pieces.
  for (const auto& [n, c, side, group] :
       {std::array<int64_t, 4>{2, 12, 11, 4}, {2, 40, 7, 40}, {2, 32, 9, 8}}) {
    const std::string text = norm_of(n, c, side, group);
    const std::vector<loop::Kernel> kernels = kernels_of(text, small);
    EXPECT_FALSE(kernels.empty());
    const random::ThreadsVerdict v = random::check_threads(kernels, 7);
    EXPECT_EQ(v.wrong, "") << text << v.text;
  }
}

// How often the statements of a phase access the buffer element by element, and 16 bytes at a time.
struct Accesses {
  int64_t single = 0, wide = 0;
};
void count(const loop::Expr& e, int64_t buffer, Accesses& out) {
  loop::for_each_part(e, [&](const loop::Expr& part) {
    out.single += part->op == loop::Op::load && part->buffer() == buffer;
  });
}
void count(const simt::Block& block, int64_t buffer, Accesses& out) {
  for (const simt::Stmt& s : block) {
    if (auto* f = std::get_if<simt::For>(&s.node)) count(f->body, buffer, out);
    if (auto* i = std::get_if<simt::If>(&s.node))
      count(i->then, buffer, out), count(i->otherwise, buffer, out);
    if (auto* l = std::get_if<simt::Let>(&s.node)) count(l->value, buffer, out);
    if (auto* a = std::get_if<simt::Assign>(&s.node)) count(a->value, buffer, out);
    if (auto* t = std::get_if<simt::Store>(&s.node)) {
      out.single += t->buffer == buffer;
      count(t->value, buffer, out);
    }
    if (auto* c = std::get_if<simt::CopyIn>(&s.node)) out.wide += c->from == buffer;
    if (auto* c = std::get_if<simt::CopyOut>(&s.node)) out.wide += c->to == buffer;
  }
}

TEST(NormThreads, read_images_along_memory) {
  const int64_t elements = int64_t{4} * 64 * 64 * 64;
  int64_t images = 0;
  for (const loop::Kernel& k : kernels_of(norm_of(4, 64, 64, 16))) {
    const simt::Kernel threads = simt::map_threads(k);
    for (size_t b = 0; b < k.buffers.size(); ++b) {
      if (k.buffers[b].elements != elements) continue;
      Accesses found;
      for (const simt::Phase& p : threads.phases) count(p.body, static_cast<int64_t>(b), found);
      EXPECT_EQ(found.single, 0) << k.buffers[b].name << "\n" << loop::print(k);
      EXPECT_GT(found.wide, 0) << k.buffers[b].name;
      EXPECT_GE(threads.phases[0].blocks * threads.phases[0].threads, 1 << 13);
      ++images;
    }
  }
  // Statistics read one; sums and the result read two and write one, and so does the gradient.
  EXPECT_EQ(images, 1 + 3 + 3);
}

}  // namespace
}  // namespace cleave
