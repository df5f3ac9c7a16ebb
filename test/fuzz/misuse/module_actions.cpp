#include "test/fuzz/misuse/world.h"

namespace cleave::misuse {
namespace {

template <class M>
void keep(World& w, const M& m) {
  w.modules.add(m);
  w.layers.add([m](const Tensor& x) { return m(x); });
}

void linear(World& w) {
  Generator g(w.rng());
  keep(w,
       w.maybe(2) ? nn::Linear(3, 3, g) : nn::Linear(w.size(), w.size(), g, {.dtype = w.dtype()}));
}
void others(World& w) {
  Generator g(w.rng());
  switch (w.below(10)) {
    case 0: keep(w, nn::Dropout(w.real())); break;
    case 1: keep(w, nn::BatchNorm1d(w.maybe(2) ? 3 : w.size())); break;
    case 2: keep(w, nn::LayerNorm({w.maybe(2) ? 3 : w.size()})); break;
    case 3: keep(w, nn::Embedding(w.size(), w.size(), g, {.padding_idx = w.number()})); break;
    case 4: keep(w, nn::GELU(w.name())); break;
    case 5: keep(w, nn::Softmax(w.number())); break;
    case 6: keep(w, nn::Flatten(w.number(), w.number())); break;
    case 7: keep(w, nn::GroupNorm(w.size(), w.size())); break;
    case 8: keep(w, nn::Conv1d(w.size(), w.size(), w.size(), g)); break;
    default: nn::MultiheadAttention(w.size(), w.size(), g);
  }
}
void sequence(World& w) {
  nn::Sequential s;
  for (int64_t k = w.below(3); k >= 0; --k) {
    Generator g(w.rng());
    s.push_back(nn::Linear(3, 3, g));
    if (w.maybe(2)) s.push_back(nn::Tanh());
    if (w.maybe(4)) s.push_back([](const Tensor& x) { return x * 2.0; });
  }
  keep(w, s);
  nn::ModuleList<nn::Dropout> list;
  for (int64_t k = w.below(3); k > 0; --k) list.push_back(nn::Dropout(0.1));
  (void)list[static_cast<size_t>(w.number())];
}
// Cycles included.
void nest(World& w) { w.module().add_module(w.name(), w.module()); }
void parameter(World& w) {
  w.variables.add(w.module().add_parameter(w.name(), HostTensor(w.array())));
}
void buffer(World& w) {
  w.variables.add(w.module().add_buffer(w.name(), HostTensor(w.array()), w.maybe(2)));
}
void share(World& w) { w.module().share(w.name(), w.variable()); }
void look(World& w) {
  const nn::Module& m = w.module();
  for (const auto& [name, v] : m.named_parameters()) w.texts.add(name), w.variables.add(v);
  for (const auto& [name, v] : m.named_buffers()) w.variables.add(v);
  m.parameter_count();
  w.stores.add(m.store());
  w.variables.add(m.parameter(w.name()));
}
void mode(World& w) {
  nn::Module& m = w.module();
  m.train(w.maybe(2));
  if (w.maybe(3)) m.set_requires_grad(!w.maybe(3));
  if (w.maybe(4)) m.eval();
}
void copy(World& w) {
  if (w.maybe(2)) {
    w.modules.add(nn::clone(w.module()));
  } else if (w.maybe(2)) {
    Generator g(w.rng());
    const nn::Sequential s(nn::Linear(3, 3, g), nn::BatchNorm1d(3));
    keep(w, nn::clone(s));
  } else {
    w.module().copy_from(w.module(), w.maybe(2) ? 1 : w.real());
  }
}
void move_away(World& w) {
  const nn::Module moved = std::move(w.module());
  (void)moved.is_training();
}

void variable(World& w) {
  w.variables.add(Variable(w.name(), HostTensor(w.array()), static_cast<VariableKind>(w.below(5))));
}
void use_variable(World& w) {
  Variable& v = w.variable();
  switch (w.below(8)) {
    case 0: v.set(w.array()); break;
    case 1: v.bind(HostTensor(w.array()), Contents::of_variable); break;
    case 2:
      v.bind(HostTensor(v.value()), w.maybe(2) ? Contents::of_memory : Contents::of_variable);
      break;
    case 3: v.set_requires_grad(w.maybe(2)); break;
    case 4: v.data<float>(); break;
    case 5: v.data<int64_t>()[0] = w.number(); break;
    case 6: w.arrays.add(v.value()); break;
    default:
      v.name();
      v.kind();
      v.shape();
      (void)v.requires_grad();
  }
}
void move_variable(World& w) {
  Variable moved = std::move(w.variable());
  if (w.maybe(2)) w.variables.add(moved);
}
void store(World& w) {
  Store s;
  s.add(w.name(), w.variable());
  w.stores.add(s);
}
void use_store(World& w) {
  Store& s = w.store();
  switch (w.below(5)) {
    case 0: s.add(w.name(), w.variable()); break;
    case 1: w.variables.add(s.at(w.name())); break;
    case 2: w.variables.add(s.find(w.name())); break;
    case 3: s.bytes(); break;
    default:
      for (const auto& [name, v] : s.entries()) w.texts.add(name), w.variables.add(v);
  }
}
void move_store(World& w) {
  const Store moved = std::move(w.store());
  (void)moved.bytes();
}

}  // namespace

const std::vector<NamedAction>& module_actions() {
  static const std::vector<NamedAction> all = {
      {"module.linear", linear},       {"module.others", others},
      {"module.sequence", sequence},   {"module.nest", nest},
      {"module.parameter", parameter}, {"module.buffer", buffer},
      {"module.share", share},         {"module.look", look},
      {"module.mode", mode},           {"module.copy", copy},
      {"module.move", move_away},      {"variable.make", variable},
      {"variable.use", use_variable},  {"variable.move", move_variable},
      {"store.make", store},           {"store.use", use_store},
      {"store.move", move_store},
  };
  return all;
}

}  // namespace cleave::misuse
