// Long chains of views between calls that are computed where they are read: correct, and the text
// doesn't double with each of them.
#include <gtest/gtest.h>

#include <numeric>
#include <random>

#include "compile/plan_program.h"
#include "lower/lower_graph.h"
#include "test/prepared.h"
#include "test/random_inputs.h"
#include "test/sample/check_graph.h"

namespace cleave::random {
namespace {

using test::core;
using Shape = std::vector<int64_t>;

// A graph of one chain: permuted, reshaped, flipped, rolled, at times added to an earlier value.
class Chain {
 public:
  explicit Chain(uint64_t seed) : random_(static_cast<std::mt19937::result_type>(seed)) {}

  std::string graph(int depth) {
    text_ = "graph @g(%x: input f32[6,8,10] grad) {\n";
    value_ = "x", shape_ = {6, 8, 10};
    for (int k = 0; k < depth; ++k) {
      switch (below(7)) {
        case 0: permute(); break;
        case 1: reshape(); break;
        case 2: flip(); break;
        case 3: roll(); break;
        case 4: centre(); break;
        case 5: add_first(); break;
        default: permute(), reshape();
      }
      set(fmt::format("sin(%{})", value_));
    }
    return text_ + fmt::format("  return %{}\n}}\n", value_);
  }

 private:
  int64_t below(int64_t n) { return static_cast<int64_t>(random_() % static_cast<uint64_t>(n)); }
  int64_t any_dim() { return below(static_cast<int64_t>(shape_.size())); }
  std::string line(const std::string& call) {
    const std::string name = fmt::format("v{}", next_++);
    text_ += fmt::format("  %{} = {}\n", name, call);
    return name;
  }
  void set(const std::string& call) { value_ = line(call); }

  void permute() {
    Shape dims(shape_.size()), permuted;
    std::iota(dims.begin(), dims.end(), 0);
    std::shuffle(dims.begin(), dims.end(), random_);
    for (const int64_t d : dims) permuted.push_back(shape_[static_cast<size_t>(d)]);
    set(fmt::format("permute(%{}; dims=[{}])", value_, fmt::join(dims, ",")));
    shape_ = permuted;
  }
  void reshape() {
    std::vector<int64_t> factors = {2, 2, 2, 2, 2, 3, 5};  // of 480
    std::shuffle(factors.begin(), factors.end(), random_);
    Shape anew(static_cast<size_t>(2 + below(3)), 1);
    for (const int64_t f : factors) anew[static_cast<size_t>(below(std::ssize(anew)))] *= f;
    set(fmt::format("reshape(%{}; shape=[{}])", value_, fmt::join(anew, ",")));
    shape_ = anew;
  }
  void flip() { set(fmt::format("flip(%{}; dims=[{}])", value_, any_dim())); }
  void roll() {
    const int64_t d = any_dim(), n = shape_[static_cast<size_t>(d)];
    if (n < 2) return;
    const int64_t at = 1 + below(n - 1);
    const std::string tail =
        line(fmt::format("slice(%{}; dim={}, start={}, end={})", value_, d, at, n));
    const std::string head =
        line(fmt::format("slice(%{}; dim={}, start=0, end={})", value_, d, at));
    set(fmt::format("cat([%{}, %{}]; dim={})", tail, head, d));
  }
  void centre() {
    const std::string m = line(fmt::format("mean(%{}; dim=[{}], keepdim=true)", value_, any_dim()));
    set(fmt::format("sub(%{}, %{})", value_, m));
  }
  void add_first() {
    const std::string r = line(fmt::format("reshape(%x; shape=[{}])", fmt::join(shape_, ",")));
    set(fmt::format("add(%{}, %{})", value_, r));
  }

  std::mt19937 random_;
  std::string text_, value_;
  Shape shape_;
  int next_ = 0;
};

RandomGraph random_chain(uint64_t seed, int depth) {
  RandomGraph r{test::parsed(Chain(seed).graph(depth)), {}};
  for (const Placeholder& p : r.g.placeholders())
    r.inputs.push_back(law::random_weights(r.g.type(p.value), seed++));
  return r;
}

TEST(DeepIndex, chains_of_views_compute_what_they_say) {
  for (uint64_t seed = 0; seed < 30; ++seed) {
    const RandomGraph r = random_chain(seed, static_cast<int>(4 + seed));
    for (const RandomGraph& g : {r, value_or_throw(with_gradients(r, core(), seed))}) {
      const Verdict v = value_or_throw(check_graph(g, core(), CompilerChoice::none));
      EXPECT_EQ(v.difference, "") << "seed " << seed << "\n" << print(g.g);
    }
  }
}

// The same call after the same views, over and over: the text grows by as much each time, about a
// thousand characters.
TEST(DeepIndex, text_grows_with_the_chain) {
  const auto characters = [](int links) {
    std::string text = "graph @g(%v0: input f32[4,8,16]) {\n";
    for (int k = 0; k < links; ++k)
      text += fmt::format(
          "  %p{0} = permute(%v{0}; dims=[2,0,1])\n  %r{0} = reshape(%p{0}; shape=[4,8,16])\n"
          "  %f{0} = flip(%r{0}; dims=[1])\n  %v{1} = sin(%f{0})\n",
          k, k + 1);
    Graph g = test::parsed(text + fmt::format("  return %v{}\n}}\n", links));
    value_or_throw(test::prepare(g, true, {.passes_off = {"all"}}));
    size_t size = 0;
    for (const loop::Kernel& k : value_or_throw(lower_graph(g)).kernels)
      size += loop::print(k).size();
    return size;
  };
  EXPECT_LT(characters(24), 3 * characters(12));
  EXPECT_LT(characters(48), 3 * characters(24));
  EXPECT_LT(characters(48), 48 * 2000u);
}

}  // namespace
}  // namespace cleave::random
