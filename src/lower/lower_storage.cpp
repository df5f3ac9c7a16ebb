// Storages: made, bound to buffers, copied into; and joins, whose operands may lie there already.
#include <algorithm>

#include "lower/lower_node.h"
#include "lower/undo_view.h"

namespace cleave {

using namespace cleave::loop;

size_t Lowering::new_storage(const std::string& name, DType dtype, int64_t elements) {
  Storage s;
  s.name = name;
  s.dtype = dtype;
  s.elements = elements;
  s.bytes = elements * size_of(dtype);
  out_.storages.push_back(std::move(s));
  return out_.storages.size() - 1;
}

Location Lowering::new_dense(const std::string& name, const Type& type) {
  Layout layout = Layout::contiguous(static_shape(type));
  return {new_storage(name, type.dtype, layout.numel()), layout};
}

Location Lowering::new_result(ValueId v) {
  const auto place = places_.find(v.v);
  if (place == places_.end()) return new_dense(graph_.name(v), graph_.type(v));
  const auto& [whole, layout] = place->second;
  const auto [it, is_new] = wholes_.try_emplace(whole.v);
  if (is_new) it->second = new_dense(graph_.name(whole), graph_.type(whole)).storage;
  const int64_t bytes = layout.numel() * size_of(graph_.type(v).dtype);
  out_.storages[it->second].parts.push_back({v, bytes});
  return {it->second, layout};
}

bool Lowering::joined(NodeId n, const OpView& op, const KernelRule& rule) {
  const Node& node = graph_.node(n);
  const ValueId y = node.out(0);
  const auto place = places_.find(y.v);
  const auto whole = wholes_.find(place == places_.end() ? y.v : place->second.whole.v);
  if (whole == wholes_.end()) return false;
  const Location to{whole->second, place == places_.end()
                                       ? Layout::contiguous(static_shape(op.out_type(0)))
                                       : place->second.layout};
  const std::vector<Layout> layouts = rule.parts(op, to.layout);
  std::vector<Copy> copies;
  size_t parts = 0;
  for (size_t k = 0; k < node.inputs.size(); ++k) {
    const Location part{to.storage, layouts[k]};
    if (part.layout.numel() == 0) continue;
    const Location& is = location(node.inputs[k]);
    ++parts;
    if (is.storage != part.storage || !same_elements(is.layout, part.layout))
      copies.push_back({is, part});
  }
  if (copies.size() == parts) return false;
  at_[y.v] = to;
  if (copies.empty()) return true;
  const DType dtype = graph_.type(y).dtype;
  int64_t copied = 0;
  for (const Copy& c : copies) copied += c.to.layout.numel() * size_of(dtype);
  out_.storages[to.storage].parts.push_back({y, copied});
  copy_all(copies, dtype, graph_.name(y));
  return true;
}

void Lowering::joined_apart(NodeId n, const OpView& op, const KernelRule& rule) {
  const Node& node = graph_.node(n);
  const ValueId y = node.out(0);
  if (!is_wanted(y)) return;
  const Location& to = at_[y.v] = new_result(y);
  const std::vector<Layout> layouts = rule.parts(op, to.layout);
  std::vector<Copy> copies;
  for (size_t k = 0; k < node.inputs.size(); ++k)
    if (layouts[k].numel() > 0)
      copies.push_back(
          {location(node.inputs[k]), {to.storage, layouts[k]}, graph_.type(node.inputs[k]).dtype});
  copy_all(copies, graph_.type(y).dtype, graph_.name(y));
}

// The buffer of a storage in a kernel; one buffer for all operands and results that share it.
Bound Lowering::bind(Kernel& kernel, KernelCall& call, const Location& at, DType dtype,
                     bool written) {
  size_t b = 0;
  while (b < call.storages.size() && call.storages[b] != at.storage) ++b;
  const Access access = written ? Access::write : Access::read;
  if (b == call.storages.size()) {
    call.storages.push_back(at.storage);
    const Storage& s = out_.storages[at.storage];
    kernel.buffers.push_back({s.name, dtype, s.elements, access});
  } else if (kernel.buffers[b].access != access) {
    kernel.buffers[b].access = Access::update;
  }
  return {static_cast<int64_t>(b), dtype, at.layout};
}

const Location& Lowering::location(ValueId v) const {
  const auto it = at_.find(v.v);
  if (it == at_.end())
    throw_failure(bug("lower: %{} is read where nothing has made it", graph_.name(v)));
  return it->second;
}

Location Lowering::dense(ValueId v) {
  const Location& l = location(v);
  return l.layout.is_contiguous() ? l : dense_copy(l, graph_.type(v).dtype, graph_.name(v));
}

Location Lowering::dense_copy(const Location& from, DType dtype, const std::string& name) {
  Layout layout = Layout::contiguous(from.layout.shape);
  Location to{new_storage(name, dtype, layout.numel()), layout};
  copy(from, to, dtype, name);
  return to;
}

}  // namespace cleave
