#include "test/sample/strided_graph.h"

#include <algorithm>
#include <numeric>
#include <random>

#include "interp/array_memory.h"
#include "interp/interpret.h"
#include "ir/strides.h"

namespace cleave::random {
namespace {

constexpr int64_t max_elements = 1 << 18;  // of memory; contents have at most 4096

enum class Overlap : uint8_t { never, may };

class Strides {
 public:
  explicit Strides(uint64_t seed) : rng_(seed) {}

  bool chance(double p) { return static_cast<double>(rng_() >> 11) * 0x1p-53 < p; }

  // Strides of a static type in which elements may overlap or not; none where none were found.
  std::optional<std::vector<Dim>> draw(Type t, Overlap overlap) {
    const std::vector<int64_t> shape = static_shape(t);
    for (int tries = 0; tries < 8; ++tries) {
      const std::vector<int64_t> strides = drawn(shape, overlap);
      t.strides = std::vector<Dim>(strides.begin(), strides.end());
      if (!check_type_limits(t).ok() || memory_elements(t) > max_elements) continue;
      if (overlap == Overlap::may || !overlaps_itself(t)) return t.strides;
    }
    return std::nullopt;
  }

 private:
  int64_t between(int64_t lo, int64_t hi) {
    return lo + static_cast<int64_t>(rng_() % static_cast<uint64_t>(hi - lo + 1));
  }

  std::vector<int64_t> drawn(const std::vector<int64_t>& shape, Overlap overlap) {
    std::vector<int64_t> out = chance(0.15) ? any(shape) : nested(shape);
    if (overlap == Overlap::may && !shape.empty() && chance(0.25)) {
      auto& folded = out[static_cast<size_t>(between(0, std::ssize(shape) - 1))];
      folded = chance(0.6) ? 0 : folded / 2;  // expanded, or windows over each other
    }
    constexpr int64_t odd[] = {0, 1, 7, 1000003, int64_t{1} << 60};
    const bool is_empty = std::ranges::find(shape, 0) != shape.end();
    for (size_t d = 0; d < shape.size(); ++d)
      if ((shape[d] == 1 || is_empty) && chance(0.5)) out[d] = odd[between(0, 4)];
    return out;
  }

  // In some order of the dims, each over the ones before: with gaps between elements or lines.
  std::vector<int64_t> nested(const std::vector<int64_t>& shape) {
    std::vector<size_t> order(shape.size());
    std::iota(order.rbegin(), order.rend(), size_t{0});  // the last dim first: row-major
    if (chance(0.6)) std::ranges::shuffle(order, rng_);
    std::vector<int64_t> out(shape.size());
    int64_t step = chance(0.25) ? between(2, 3) : 1;
    for (const size_t d : order) {
      out[d] = step;
      step *= std::max<int64_t>(shape[d], 1);
      if (chance(0.3)) step += between(1, 9);
    }
    return out;
  }

  std::vector<int64_t> any(const std::vector<int64_t>& shape) {
    std::vector<int64_t> out(shape.size());
    for (int64_t& s : out) s = between(0, 12);
    return out;
  }

  std::mt19937_64 rng_;
};

bool is_updated(const Graph& g, ValueId v) {
  return std::ranges::any_of(
      g.returns(), [&](const Return& r) { return r.kind == ReturnKind::update && r.target == v; });
}

// Each value with strides of its own, as the function gives them.
void set_strides(Graph& g, const std::function<std::optional<std::vector<Dim>>(ValueId)>& draw) {
  for (const Placeholder& p : g.placeholders())
    if (p.role != Role::symint) g.set_strides(p.value, draw(p.value));
  for (NodeId n = g.first_node(); n.valid(); n = g.next_node(n))
    for (uint32_t k = 0; k < g.node(n).output_count; ++k)
      if (const ValueId v = g.node(n).out(k); !g.type(v).is_none) g.set_strides(v, draw(v));
}

RandomGraph drawn(RandomGraph r, uint64_t seed, Overlap reads) {
  Strides strides(seed);
  std::vector<bool> returned(r.g.value_capacity());
  for (const Return& x : r.g.returns()) returned[x.value.v] = true;
  set_strides(r.g, [&](ValueId v) -> std::optional<std::vector<Dim>> {
    const bool is_placeholder = r.g.placeholder_of(v) != nullptr;
    const double part = is_placeholder ? 0.75 : returned[v.v] ? 0.5 : 0.05;
    if (!r.g.type(v).is_static() || !strides.chance(part)) return std::nullopt;
    // Integers may be indices that mean something at their own position alone.
    const Type& t = r.g.type(v);
    const bool is_read = is_placeholder && !is_updated(r.g, v) && is_floating(t.dtype);
    return strides.draw(t, is_read ? reads : Overlap::never);
  });
  for (size_t i = 0; i < r.inputs.size(); ++i)
    if (const Type& t = r.g.type(r.g.placeholders()[i].value); t.is_static())
      share_memory(r.inputs[i], t);
  return r;
}

bool runs(const RandomGraph& r) {
  std::vector<const Array*> inputs;
  for (const Array& a : r.inputs) inputs.push_back(&a);
  return interpret(r.g, inputs).ok();
}

}  // namespace

RandomGraph with_strides(RandomGraph r, uint64_t seed) {
  RandomGraph out = drawn(r, seed, Overlap::may);
  // Other values may make an index that is computed leave its range.
  return runs(out) ? out : drawn(std::move(r), seed, Overlap::never);
}

RandomGraph without_strides(RandomGraph r) {
  set_strides(r.g, [](ValueId) { return std::nullopt; });
  return r;
}

}  // namespace cleave::random
