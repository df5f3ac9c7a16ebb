#include <sstream>

#include "test/fuzz/misuse/world.h"

namespace cleave::misuse {
namespace {

void make(World& w) { w.arrays.add(HostTensor(w.dtype(), w.shape())); }
void lay(World& w) {
  const std::vector<int64_t> shape = w.shape();
  HostTensor t(w.dtype(), shape, w.strides(shape));
  if (t.numel() <= 1 << 16)
    for (int64_t k = 0; k < t.numel(); ++k) t.set_number(k, w.real());
  w.arrays.add(std::move(t));
}
void fill(World& w) {
  HostTensor& t = w.array();
  if (t.numel() > 1 << 16) return;
  for (int64_t k = 0; k < t.numel(); ++k) t.set_number(k, w.real());
}
void from(World& w) {
  w.arrays.add(
      HostTensor::from(std::vector<float>(static_cast<size_t>(w.below(13)), 1), w.shape()));
}
void scalar(World& w) { w.arrays.add(HostTensor::scalar(w.real(), w.dtype())); }
void draw(World& w) {
  Generator g(w.rng());
  if (w.maybe(2)) w.arrays.add(g.normal(w.maybe(2) ? std::vector<int64_t>{4, 3} : w.shape()));
  if (w.maybe(3)) w.arrays.add(g.uniform(w.shape(), w.real(), w.real()));
  if (w.maybe(3)) w.arrays.add(g.integers(w.shape(), w.number(), w.number()));
  if (w.maybe(3)) g.integer(w.number());
}
void read(World& w) {
  HostTensor& t = w.array();
  switch (w.below(11)) {
    case 0: t.number(w.number()); break;
    case 1: t.set_number(w.number(), w.real()); break;
    case 2: t.item(); break;
    case 3: t.at<float>({w.number(), w.number()}); break;
    case 4: t.data<double>(); break;
    case 5: t.span<uint16_t>(); break;
    case 6: t.at<int64_t>({w.number()}) = 1; break;
    case 7: t.stride(w.number()); break;
    case 8: w.arrays.add(t.contiguous()); break;
    case 9: (void)t.extent_bytes(); break;
    default: t.type_text();
  }
}
void convert(World& w) {
  const HostTensor& t = w.array();
  if (w.maybe(2)) w.arrays.add(t.to(w.dtype()));
  w.arrays.add(t.reshaped(w.shape()));
}
void copy(World& w) { w.array().copy_from(w.array()); }
void same(World& w) { (void)w.array().same_bits(w.array()); }
void move_away(World& w) {
  HostTensor moved = std::move(w.array());
  if (w.maybe(2)) w.arrays.add(std::move(moved));
}
void assign(World& w) {
  if (w.maybe(2))
    w.array() = w.array();
  else
    w.array() = HostTensor(w.array());
}
void print(World& w) {
  std::ostringstream out;
  out << w.array() << w.tensor();
}
void score(World& w) { accuracy(w.array(), w.array(), w.number()); }
void figures(World& w) {
  RunningMean mean;
  mean.add(w.real(), w.real());
  EarlyStopping stopping({.patience = w.number(), .min_delta = w.real()});
  for (int i = 0; i < 3; ++i) stopping.should_stop(w.real());
  ProgressLine line(w.number(), w.number());
  line.show(w.number(), w.name());
  clock_text(w.real());
  optim::cosine(w.number(), w.real(), w.number(), w.number(), w.real());
  optim::linear(w.number(), w.real(), w.number(), w.number());
  optim::constant(w.number(), w.real(), w.number());
}

}  // namespace

const std::vector<NamedAction>& array_actions() {
  static const std::vector<NamedAction> all = {
      {"array.make", make},   {"array.lay", lay},         {"array.fill", fill},
      {"array.from", from},   {"array.scalar", scalar},   {"array.draw", draw},
      {"array.read", read},   {"array.convert", convert}, {"array.copy", copy},
      {"array.same", same},   {"array.move", move_away},  {"array.assign", assign},
      {"array.print", print}, {"array.score", score},     {"array.figures", figures},
  };
  return all;
}

}  // namespace cleave::misuse
