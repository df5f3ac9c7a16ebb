#include "tool/run_inputs.h"

#include <cmath>
#include <random>

#include "interp/array_memory.h"

namespace cleave::tool {
namespace {

// Standard normal for floating dtypes; 0 or 1 for integers (so mostly valid as indices) and bool.
Array random_array(DType dtype, const std::vector<int64_t>& shape, std::mt19937_64& bits) {
  Array a(dtype, shape);
  auto uniform = [&] { return static_cast<double>(bits() >> 11) * 0x1p-53; };
  for (int64_t k = 0; k < a.numel(); ++k) {
    if (a.floating()) {
      const double radius = std::sqrt(-2 * std::log(1 - uniform()));
      a.f[k] = round_to(dtype, radius * std::cos(6.283185307179586 * uniform()));
    } else {
      a.i[k] = static_cast<int64_t>(bits() & 1);
    }
  }
  return a;
}

Array filled(const Type& t, double value) {
  Array a(t.dtype, static_shape(t));
  for (int64_t k = 0; k < a.numel(); ++k) a.set(k, value);
  return a;
}

// "tangent.3" to "cotangent.3"; other names are unchanged.
std::string name_in_file(const std::string& name) {
  return name.starts_with("tangent.") ? "co" + name : name;
}

Result<Array> matching(const Array& given, const std::string& name, const Type& want,
                       bool convert) {
  if (given.shape != static_shape(want))
    return user_error("input {}: its shape is {}, the graph has {}", name,
                      shape_text(Shape(given.shape.begin(), given.shape.end())), want.text());
  if (given.dtype == want.dtype) return given;
  if (!convert || !given.floating() || !is_floating(want.dtype))
    return user_error("input {}: it is {}, the graph has {}", name, name_of(given.dtype),
                      want.text());
  Array out(want.dtype, given.shape);
  for (int64_t k = 0; k < out.numel(); ++k) out.f[k] = round_to(want.dtype, given.f[k]);
  return out;
}

}  // namespace

Result<Arrays> complete_inputs(const Graph& g, const std::map<std::string, Array>& given,
                               const InputOptions& options) {
  std::mt19937_64 bits(static_cast<uint64_t>(options.seed));
  Arrays out;
  std::map<std::string, bool> used;
  for (const Placeholder& p : g.placeholders()) {
    const std::string& name = g.name(p.value);
    const Type& type = g.type(p.value);
    const bool tangent = p.role == Role::tangent;
    auto at = given.find(name);
    if (at == given.end() && tangent) at = given.find(name_in_file(name));
    if (at != given.end()) {
      used[at->first] = true;
      CLEAVE_TRY(Array a, matching(at->second, at->first, type, tangent));
      if (std::string why = conflict_in_memory(a, type); !why.empty())
        return user_error("input {}: {}; expected one value for both", at->first, why);
      out.push_back(std::move(a));
    } else if (tangent) {
      out.push_back(filled(type, 1));
    } else if (p.role == Role::rng_state) {
      Array state(DType::i64, {2});
      state.i[0] = options.seed;
      out.push_back(std::move(state));
    } else if (p.role == Role::symint) {
      out.push_back(filled(type, static_cast<double>(p.sym.range.lo)));
    } else if (options.random) {
      out.push_back(random_array(type.dtype, static_shape(type), bits));
      share_memory(out.back(), type);
    } else {
      return user_error(
          "input {}: {} {} is not among the inputs; give it with --in, or use --random", name,
          name_of(p.role), type.text());
    }
  }
  for (const auto& [name, array] : given)
    if (!used.contains(name) && !name.starts_with("cotangent."))
      return user_error("input {}: the graph has no placeholder of that name", name);
  return out;
}

std::map<std::string, Array> named_inputs(const Graph& g, const Arrays& inputs) {
  std::map<std::string, Array> out;
  for (size_t k = 0; k < inputs.size(); ++k) out[g.name(g.placeholders()[k].value)] = inputs[k];
  return out;
}

}  // namespace cleave::tool
