// Graphs from text and inputs for them, for tests of whole graphs.
#pragma once
#include <cmath>
#include <map>
#include <string>

#include "interp/interpret.h"
#include "ir/text.h"
#include "op/registry.h"

namespace cleave::test {

inline const OpRegistry& core() {
  static const OpRegistry all = value_or_throw(core_ops());
  return all;
}

inline Graph parsed(const std::string& text) {
  return value_or_throw(parse(text, "test", core())).main;
}

inline Array floats(DType t, std::vector<int64_t> shape, std::vector<double> values) {
  Array a(t, std::move(shape));
  a.f = std::move(values);
  return a;
}

inline Array ints(DType t, std::vector<int64_t> shape, std::vector<int64_t> values) {
  Array a(t, std::move(shape));
  a.i = std::move(values);
  return a;
}

// Floating contents in (-1, 1), integers in [0, 4): the same for the same name and shape. Symbols
// in shapes take `symbols`, and a symint that it names is an input too.
inline std::map<std::string, Array> random_inputs(
    const Graph& g, const std::map<std::string, int64_t>& symbols = {}) {
  std::map<std::string, Array> inputs;
  for (const Placeholder& p : g.placeholders()) {
    if (p.role == Role::symint) {
      if (const auto it = symbols.find(g.name(p.value)); it != symbols.end()) {
        Array a(DType::i64, {});
        a.set(0, static_cast<double>(it->second));
        inputs[it->first] = std::move(a);
      }
      continue;
    }
    const Type& t = g.type(p.value);
    std::vector<int64_t> shape;
    for (const Dim& d : t.shape)
      shape.push_back(
          *d.eval([&](const std::string& s) -> std::optional<int64_t> { return symbols.at(s); }));
    Array a(t.dtype, shape);
    uint32_t state = 12345;
    for (char c : g.name(p.value)) state = state * 31 + static_cast<unsigned char>(c);
    for (int64_t k = 0; k < a.numel(); ++k) {
      state = state * 1664525 + 1013904223;
      const double u = (state >> 8) * 0x1p-24;
      a.set(k, a.floating() ? 2 * u - 1 : std::floor(4 * u));
    }
    inputs[g.name(p.value)] = std::move(a);
  }
  return inputs;
}

// "" when all elements agree within tolerance * max(1, max |want|).
inline std::string mismatch(const Array& got, const Array& want, double tolerance) {
  if (got.dtype != want.dtype || got.shape != want.shape) return "another type";
  double scale = 1;
  for (double x : want.f) scale = std::max(scale, std::fabs(x));
  for (int64_t k = 0; k < want.numel(); ++k) {
    const double a = got.number(k), b = want.number(k);
    if (std::isnan(a) && std::isnan(b)) continue;
    if (!(a == b || std::fabs(a - b) <= tolerance * scale))
      return fmt::format("element {} is {}, expected {}", k, a, b);
  }
  return "";
}

}  // namespace cleave::test
