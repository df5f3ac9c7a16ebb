#include "compilers/model_operands.h"

#include "ir/specialize.h"

namespace cleave {
namespace {

HostTensor number(int64_t v) {
  HostTensor t(DType::i64, {});
  *t.data<int64_t>() = v;
  return t;
}

}  // namespace

Result<HostTensors> model_operands(const Graph& g, const NamedTensors& weights,
                                   const HostTensors& inputs, int64_t seed) {
  HostTensors out;
  std::vector<std::optional<std::vector<int64_t>>> shapes;
  size_t next = 0;
  for (const Placeholder& p : g.placeholders()) {
    const std::string& name = g.name(p.value);
    HostTensor t;
    if (const auto weight = weights.find(name); weight != weights.end()) {
      t = weight->second;
    } else if (p.role == Role::symint) {
      t = number(0);
    } else if (p.role == Role::rng_state) {
      t = HostTensor::from<int64_t>({seed, 0});
    } else {
      if (next == inputs.size())
        return user_error("operands: {} inputs, and {} is one more", inputs.size(), name);
      t = inputs[next++];
      if (t.dtype() != g.type(p.value).dtype || t.rank() != g.type(p.value).rank())
        return user_error("operands: {} is {}, the graph has {}", name, t.type_text(),
                          g.type(p.value).text());
    }
    shapes.emplace_back();
    if (p.role != Role::symint) shapes.back() = t.shape();
    out.push_back(std::move(t));
  }
  if (next < inputs.size())
    return user_error("operands: {} inputs, the model has {}", inputs.size(), next);
  CLEAVE_TRY(const SymbolValues symbols, bind_symbols(g, shapes));
  for (size_t k = 0; k < out.size(); ++k)
    if (g.placeholders()[k].role == Role::symint)
      out[k] = number(symbols.at(g.name(g.placeholders()[k].value)));
  return out;
}

}  // namespace cleave
