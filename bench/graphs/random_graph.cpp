#include "bench/graphs/random_graph.h"

#include <initializer_list>

namespace cleave::bench {
namespace {

using flow::ForwardGraph;

constexpr int64_t f32 = 4;

class Writer {
 public:
  Writer(int32_t calls, int32_t placeholders, uint64_t seed) : random(seed), calls_(calls) {
    g.placeholders = placeholders;
    g.result_begin = {placeholders};
    for (int32_t v = 0; v < placeholders; ++v) add_value(0);
  }

  bool full() const { return g.calls() >= calls_; }

  // The first result of a new call, or any value once all calls are there.
  int32_t call(std::initializer_list<int32_t> reads, int64_t cost,
               std::initializer_list<int64_t> result_bytes) {
    return call(std::vector<int32_t>(reads), cost, result_bytes);
  }
  int32_t call(const std::vector<int32_t>& reads, int64_t cost,
               std::initializer_list<int64_t> result_bytes) {
    if (full()) return 0;
    const int32_t first = g.values();
    g.operand.insert(g.operand.end(), reads.begin(), reads.end());
    g.operand_begin.push_back(static_cast<int32_t>(g.operand.size()));
    g.cost.push_back(cost == 0 ? 0 : cost * random.between(90, 110) / 100 + 1);
    g.pinned.push_back(0);
    for (int64_t bytes : result_bytes) add_value(bytes);
    g.result_begin.push_back(g.values());
    return first;
  }
  int32_t view(int32_t base, int64_t bytes) {
    const int32_t v = call({base}, 0, {bytes});
    if (v > 0) g.unsavable[static_cast<size_t>(v)] = 1;
    return v;
  }
  void need(std::initializer_list<int32_t> values) {
    for (int32_t v : values)
      if (v < g.values()) g.needed[static_cast<size_t>(v)] = 1;
  }

  ForwardGraph g;
  Random random;

 private:
  void add_value(int64_t bytes) {
    g.bytes.push_back(bytes);
    g.needed.push_back(0);
    g.unsavable.push_back(0);
  }
  int32_t calls_;
};

constexpr int32_t block_calls = 20, block_parameters = 11;

// One block from the residual stream x; its parameters start at w.
int32_t add_block(Writer& out, int32_t x, int32_t w) {
  const int64_t tokens = 64 * out.random.between(4, 64), width = 64 * out.random.between(4, 24);
  const int64_t stream = tokens * width * f32, rows = tokens * f32;
  auto product = [&](int64_t columns, int64_t inner) { return 2 * tokens * columns * inner / 200; };
  auto pointwise = [](int64_t bytes) { return bytes / 30; };

  const int32_t y = out.call({x, w, w + 1}, pointwise(2 * stream), {stream, rows, rows});
  const int32_t qkv = out.call({y, w + 2}, product(3 * width, width), {3 * stream});
  const int32_t biased = out.call({qkv, w + 3}, pointwise(6 * stream), {3 * stream});
  const int32_t q = out.view(biased, stream), k = out.view(biased, stream),
                v = out.view(biased, stream);
  const int32_t attended = out.call({q, k, v}, product(2 * width, tokens), {stream, rows});
  const int32_t flat = out.view(attended, stream);
  const int32_t projected = out.call({flat, w + 4}, product(width, width), {stream});
  const int32_t shifted = out.call({projected, w + 5}, pointwise(2 * stream), {stream});
  const int32_t dropped = out.call({shifted}, pointwise(2 * stream), {stream, stream / f32});
  const int32_t x2 = out.call({x, dropped}, pointwise(3 * stream), {stream});
  out.need({x, y, y + 1, y + 2, q, k, v, attended, attended + 1, flat, dropped + 1});

  const int32_t y2 = out.call({x2, w + 6, w + 7}, pointwise(2 * stream), {stream, rows, rows});
  const int32_t wide = out.call({y2, w + 8}, product(4 * width, width), {4 * stream});
  const int32_t wide_shifted = out.call({wide, w + 9}, pointwise(8 * stream), {4 * stream});
  const int32_t gelu = out.call({wide_shifted}, pointwise(10 * stream), {4 * stream});
  const int32_t narrow = out.call({gelu, w + 10}, product(width, 4 * width), {stream});
  const int32_t dropped2 = out.call({narrow}, pointwise(2 * stream), {stream, stream / f32});
  const int32_t x3 = out.call({x2, dropped2}, pointwise(3 * stream), {stream});
  out.need({x2, y2, y2 + 1, y2 + 2, wide_shifted, gelu, dropped2 + 1});
  return out.call({x3}, pointwise(2 * stream), {stream});
}

ForwardGraph transformer(int32_t calls, uint64_t seed) {
  const int32_t blocks = (calls + block_calls - 1) / block_calls;
  Writer out(calls, 1 + blocks * block_parameters, seed);
  int32_t x = 0;
  for (int32_t b = 0; b < blocks; ++b) x = add_block(out, x, 1 + b * block_parameters);
  return std::move(out.g);
}

int32_t add_random_call(Writer& out, int32_t from, int32_t max_reads) {
  std::vector<int32_t> reads;
  for (int64_t k = out.random.between(1, max_reads); k > 0; --k)
    reads.push_back(static_cast<int32_t>(out.random.between(from, out.g.values() - 1)));
  const int64_t bytes = 64 * out.random.between(1, 1 << 14);
  const int32_t v = out.call(reads, out.random.between(100, 50000), {bytes});
  if (out.random.between(0, 1)) out.need({v});
  return v;
}

ForwardGraph layered(int32_t calls, uint64_t seed) {
  Writer out(calls, 10, seed);
  for (int32_t before = 0, layer = 10; !out.full();) {
    const int32_t from = before;
    before = layer;
    layer = out.g.values();
    // A call may also read values of its own layer: such edges are few.
    for (int64_t k = out.random.between(10, 30); k > 0 && !out.full(); --k)
      add_random_call(out, from, 4);
  }
  return std::move(out.g);
}

ForwardGraph wide(int32_t calls, uint64_t seed) {
  Writer out(calls, 10, seed);
  while (!out.full()) add_random_call(out, 0, 3);
  return std::move(out.g);
}

}  // namespace

const char* name_of(GraphKind kind) {
  switch (kind) {
    case GraphKind::transformer: return "transformer";
    case GraphKind::layered: return "layered";
    case GraphKind::wide: return "wide";
  }
  return "";
}

uint64_t Random::next() {
  uint64_t z = state_ += 0x9e3779b97f4a7c15;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

flow::ForwardGraph random_graph(GraphKind kind, int32_t calls, uint64_t seed) {
  switch (kind) {
    case GraphKind::transformer: return transformer(calls, seed);
    case GraphKind::layered: return layered(calls, seed);
    case GraphKind::wide: return wide(calls, seed);
  }
  return {};
}

}  // namespace cleave::bench
