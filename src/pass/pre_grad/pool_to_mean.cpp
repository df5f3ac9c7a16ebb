// Pools that give one place are means over all places.
//
//   _adaptive_avg_pool2d(x; output_size=[1,1])  ->  mean(x; dim=[-2,-1], keepdim=true)
//   _adaptive_avg_pool2d_backward(g, x)         ->  expand(g / places, as x)
//
// and in three dims. A pool's kernel has a loop over its window for each element of the result; a
// mean's is that of sums, cut into parts where there are few results (128 images of 32 x 112 x 112
// in bf16, channels last, on an H200: 7.7 ms as a pool). Sums are in another order: it rounds.
#include <algorithm>

#include "pass/passes.h"

namespace cleave {
namespace {

// Of the last `rank` dims.
bool has_one_place(const Type& t, int64_t rank) {
  return std::all_of(t.shape.end() - rank, t.shape.end(), [](const Dim& d) { return d == Dim(1); });
}

std::vector<int64_t> last_dims(int64_t rank) {
  std::vector<int64_t> out;
  for (int64_t d = -rank; d < 0; ++d) out.push_back(d);
  return out;
}

Rule forward(const char* name, int64_t rank) {
  return {.name = name,
          .search = {call(fmt::format("_adaptive_avg_pool{}d", rank), {any("x")},
                          {{"output_size", anything()}})
                         .named("y")},
          .when =
              [rank](const Match& m) {
                return has_one_place(m.type("y"), rank) && !has_one_place(m.type("x"), rank);
              },
          .build = [rank](Builder& b, const Match& m) -> Values {
            return {b.mean(m["x"], last_dims(rank), true)};
          },
          .rounds = true};
}

Rule backward(const char* name, int64_t rank) {
  return {
      .name = name,
      .search = {call(fmt::format("_adaptive_avg_pool{}d_backward", rank), {any("g"), any("x")})},
      .when =
          [rank](const Match& m) {
            const Shape& x = m.type("x").shape;
            return has_one_place(m.type("g"), rank) && !has_one_place(m.type("x"), rank) &&
                   std::all_of(x.end() - rank, x.end(), [](const Dim& d) { return d.is_const(); });
          },
      .build = [rank](Builder& b, const Match& m) -> Values {
        const Shape& x = m.type("x").shape;
        double places = 1;
        for (auto d = x.end() - rank; d != x.end(); ++d) places *= static_cast<double>(d->value());
        return {b.expand(b.div(m["g"], places), x)};
      },
      .rounds = true};
}

}  // namespace

Pass pool_to_mean() {
  return {.name = "pool_to_mean",
          .summary = "a pool that gives one place is a mean",
          .rules = {forward("of 2 dims", 2), forward("of 3 dims", 3),
                    backward("gradient of 2 dims", 2), backward("gradient of 3 dims", 3)}};
}

}  // namespace cleave
