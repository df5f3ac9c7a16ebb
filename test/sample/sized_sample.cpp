#include "test/sample/sized_sample.h"

#include <algorithm>
#include <map>
#include <set>

#include "test/sample/draw_size.h"

namespace cleave::random {
namespace {

using Sizes = std::map<int64_t, int64_t>;  // what each size becomes

int64_t changed(const Sizes& sizes, int64_t n) {
  const auto it = sizes.find(n);
  return it == sizes.end() ? n : it->second;
}

bool is_size(const std::string& name) {
  static const std::set<std::string> names = {
      "size", "shape", "normalized_shape", "sizes",       "end",         "num_weights", "N",
      "C",    "HxW",   "num_classes",      "output_size", "input_sizes", "self_size"};
  return names.contains(name);
}

AttrValue changed(const Sizes& sizes, const AttrValue& value) {
  if (const AttrList* list = value.get<AttrList>()) {
    AttrList out;
    for (const AttrValue& item : *list) out.push_back(changed(sizes, item));
    return out;
  }
  const Dim* d = value.get<Dim>();
  return d && d->is_const() ? AttrValue(Dim(changed(sizes, d->value()))) : value;
}

void change(const Sizes& sizes, SampleTensor& t) {
  if (t.type.is_none) return;
  for (Dim& d : t.type.shape)
    if (d.is_const()) d = Dim(changed(sizes, d.value()));
  if (is_floating(t.type.dtype) || t.type.dtype == DType::boolean) return;
  const auto bound = static_cast<int64_t>(t.hi);
  if (sizes.contains(bound) && t.lo == 0) t.hi = static_cast<double>(sizes.at(bound));
}

int64_t elements_of(const Type& t) {
  int64_t n = 1;
  for (const Dim& d : t.shape) n *= d.is_const() ? std::max<int64_t>(d.value(), 1) : 3;
  return n;
}

int64_t largest(const Sample& sample) {
  int64_t most = 0;
  for (const SampleOperand& operand : sample.operands)
    for (const SampleTensor& t : operand.tensors)
      if (!t.type.is_none) most = std::max(most, elements_of(t.type));
  return most;
}

Sample with_sizes(const OpDef& op, Sample sample, const Sizes& sizes, bool attributes) {
  for (size_t k = 0; k < sample.operands.size(); ++k)
    if (op.schema.args[op.schema.operands[k]].name != "rng")
      for (SampleTensor& t : sample.operands[k].tensors) change(sizes, t);
  for (auto& [name, value] : sample.attrs) {
    const int arg = op.schema.find(name);
    const bool is_graph =
        arg >= 0 && op.schema.args[static_cast<size_t>(arg)].kind == ArgKind::graph;
    if (!is_graph && attributes && is_size(name)) value = changed(sizes, value);
  }
  return sample;
}

}  // namespace

Sample resized(const OpDef& op, const Sample& sample, std::mt19937_64& rng, int64_t elements) {
  std::set<int64_t> all;
  for (const SampleOperand& operand : sample.operands)
    for (const SampleTensor& t : operand.tensors)
      if (!t.type.is_none)
        for (const Dim& d : t.type.shape)
          if (d.is_const() && d.value() > 1) all.insert(d.value());
  if (all.empty()) return sample;
  constexpr int tries = 6;
  for (int k = 0; k < tries; ++k) {
    Sizes sizes;
    const bool one = rng() % 2 == 0;
    const size_t only = rng() % all.size();
    size_t at = 0;
    for (const int64_t n : all)
      if (at++ == only || (!one && rng() % 2 == 0))
        sizes[n] = draw_size(rng, rng() % 16 == 0 ? 0 : 1, std::max<int64_t>(elements / 4, 8));
    Sizes products = sizes;
    for (const int64_t a : all)
      for (const int64_t b : all)
        products.try_emplace(a * b, changed(sizes, a) * changed(sizes, b));
    for (const int64_t n : all)  // a size of its own isn't also a product
      if (!sizes.contains(n)) products.erase(n);
    Sample out = with_sizes(op, sample, products, rng() % 8 != 0);
    if (largest(out) <= elements) return out;
  }
  return sample;
}

}  // namespace cleave::random
