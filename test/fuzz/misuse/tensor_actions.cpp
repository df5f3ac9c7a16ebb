#include "test/fuzz/misuse/world.h"

namespace cleave::misuse {
namespace {

Tensor pick(World& w, const Tensors& known) {
  if (!known.empty() && !w.maybe(12)) return known[w.rng() % known.size()];
  return w.maybe(3) ? Tensor(w.variable()) : w.tensor();
}

Operand operand(World& w, const Tensors& known) {
  return w.maybe(4) ? Operand(w.real()) : Operand(pick(w, known));
}

Attribute attribute(World& w) {
  switch (w.below(6)) {
    case 0: return w.number();
    case 1: return w.real();
    case 2: return w.maybe(2);
    case 3: return w.name();
    case 4: return w.dtype();
    default: return w.shape();
  }
}

Tensor call_by_name(World& w, const Tensors& known) {
  static const std::vector<std::string> names = Operators().names();
  std::vector<Operand> operands;
  for (int64_t k = w.below(4); k > 0; --k) operands.push_back(operand(w, known));
  Attributes attributes;
  for (int64_t k = w.below(3); k > 0; --k)
    attributes.emplace_back(w.one_of<const char*>({"dim", "size", "dtype", "alpha", "p", "keepdim",
                                                   "value", "other", "index", "dims"}),
                            attribute(w));
  const Tensors out =
      call(w.maybe(8) ? w.name() : names[w.rng() % names.size()], operands, attributes);
  return out.empty() ? Tensor() : out[w.rng() % out.size()];
}

}  // namespace

Tensor random_call(World& w, Tensors& known) {
  const Tensor x = pick(w, known);
  Tensor y;
  switch (w.below(40)) {
    case 0: y = operand(w, known) + x; break;
    case 1: y = operand(w, known) * x; break;
    case 2: y = x - operand(w, known); break;
    case 3: y = x / operand(w, known); break;
    case 4: y = x.view(w.shape()); break;
    case 5: y = x.permute({w.number(), w.number()}); break;
    case 6: y = x.transpose(w.number(), w.number()); break;
    case 7: y = x.flatten(w.number(), w.number()); break;
    case 8: y = x.unsqueeze(w.number()); break;
    case 9: y = x.squeeze(w.number()); break;
    case 10: y = x.expand(w.shape()); break;
    case 11: y = x[w.number()]; break;
    case 12: y = x.slice(w.number(), w.number(), w.number(), w.number()); break;
    case 13: y = x.sum({w.number()}, w.maybe(2)); break;
    case 14: y = x.mean(); break;
    case 15: y = tanh(x); break;
    case 16: y = exp(x); break;
    case 17: y = log(x); break;
    case 18: y = x.softmax(w.number()); break;
    case 19: y = x.matmul(pick(w, known).transpose(0, 1)); break;
    case 20: y = x.to(w.dtype()); break;
    case 21: y = x.masked_fill(pick(w, known) > 0, w.real()); break;
    case 22: {
      const auto parts = x.split(w.number(), w.number());
      y = parts.empty() ? Tensor() : parts.back();
      break;
    }
    case 23: {
      const auto parts = x.chunk(w.number(), w.number());
      y = parts.empty() ? Tensor() : parts.back();
      break;
    }
    case 24: y = mse_loss(x, pick(w, known)); break;
    case 25: y = cross_entropy(x, pick(w, known), {.label_smoothing = w.real()}); break;
    case 26: y = call_by_name(w, known); break;
    case 27: y = x.named(w.name()); break;
    case 28: y = relu(x); break;
    case 29: y = dropout(x, w.real()); break;
    case 30: y = where(x > 0, operand(w, known), operand(w, known)); break;
    case 31: y = cat({x, pick(w, known)}, w.number()); break;
    case 32: y = full(w.shape(), w.real(), w.dtype()); break;
    case 33: y = arange(w.below(9), w.below(50), w.number()); break;
    case 34: y = x == pick(w, known); break;
    case 35: y = sqrt(x); break;
    case 36: y = embedding(pick(w, known), x); break;
    case 37: y = optim::global_norm({x, pick(w, known)}); break;
    case 38:
      y = scaled_dot_product_attention(x, pick(w, known), pick(w, known),
                                       {.is_causal = w.maybe(2)});
      break;
    default: {
      const auto& layer = w.layers.any(w.rng);
      y = layer ? layer(x) : x;
    }
  }
  known.push_back(y);
  return y;
}

namespace {

void free_call(World& w) {
  Tensors known;
  for (int64_t k = w.below(3); k >= 0; --k) w.tensors.add(random_call(w, known));
}
void of_variable(World& w) { w.tensors.add(Tensor(w.variable())); }
void ask(World& w) {
  const Tensor& t = w.tensor();
  switch (w.below(7)) {
    case 0: t.dtype(); break;
    case 1: t.dim(); break;
    case 2: t.size(w.number()); break;
    case 3: t.sizes(); break;
    case 4: t.numel(); break;
    case 5: t.type_text(); break;
    default: w.tensors.add(t.named(w.name()));
  }
}
void change(World& w) {
  Tensor& t = w.tensor();
  if (w.maybe(2)) t += Operand(w.tensor());
  if (w.maybe(2)) t *= w.real();
  if (w.maybe(4)) t = Tensor(w.tensor());
}
void move_away(World& w) {
  const Tensor moved = std::move(w.tensor());
  if (w.maybe(2)) w.tensors.add(moved);
}
void assign_outside(World& w) { assign(w.variable(), w.tensor()); }

}  // namespace

const std::vector<NamedAction>& tensor_actions() {
  static const std::vector<NamedAction> all = {
      {"tensor.call", free_call}, {"tensor.variable", of_variable},
      {"tensor.ask", ask},        {"tensor.change", change},
      {"tensor.move", move_away}, {"tensor.assign", assign_outside},
  };
  return all;
}

}  // namespace cleave::misuse
