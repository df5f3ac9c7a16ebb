#include "lower/value_storages.h"

#include "lower/pitch_rows.h"

namespace cleave {

using namespace cleave::loop;

size_t add_storage(LoweredProgram& program, const std::string& name, DType dtype,
                   int64_t elements) {
  Storage s;
  s.name = name;
  s.dtype = dtype;
  s.elements = elements;
  s.bytes = elements * size_of(dtype);
  program.storages.push_back(std::move(s));
  return program.storages.size() - 1;
}

MemRef add_dense(LoweredProgram& program, const std::string& name, const Type& type) {
  Layout layout = Layout::contiguous(static_shape(type));
  return {add_storage(program, name, type.dtype, layout.numel()), layout};
}

ValueStorages::ValueStorages(const Graph& graph, LoweredProgram& program, int64_t row_bytes)
    : graph_(graph), program_(program), places_(place_values(graph)),
      returned_(graph.value_capacity()) {
  pitch_rows(graph, row_bytes, places_);
  for (const Return& r : graph.returns()) returned_[r.value.v] = true;
}

const MemRef& ValueStorages::at(ValueId v) const {
  const auto it = at_.find(v.v);
  if (it == at_.end()) throw_bug("lower: %{} is read where nothing has made it", graph_.name(v));
  return it->second;
}

MemRef& ValueStorages::make(ValueId v) {
  if (const auto given = given_.find(v.v); given != given_.end()) return put(v, given->second);
  const auto place = places_.find(v.v);
  if (place == places_.end()) return make_dense(v);
  const auto& [whole, layout] = place->second;
  if (whole == v && !wholes_.contains(v.v)) {  // none of its parts has been made
    const int64_t elements = layout.offset + extent_of(layout.shape, layout.strides);
    return put(v, {add_storage(program_, graph_.name(v), graph_.type(v).dtype, elements), layout});
  }
  const auto [it, is_new] = wholes_.try_emplace(whole.v);
  if (is_new) it->second = add_dense(program_, graph_.name(whole), graph_.type(whole)).storage;
  const int64_t bytes = layout.numel() * size_of(graph_.type(v).dtype);
  program_.storages[it->second].parts.push_back({v, bytes});
  return put(v, {it->second, layout});
}

std::optional<MemRef> ValueStorages::begun(ValueId v) const {
  const auto place = places_.find(v.v);
  const bool is_part = place != places_.end();
  const auto whole = wholes_.find(is_part ? place->second.whole.v : v.v);
  if (whole == wholes_.end()) return std::nullopt;
  return MemRef{whole->second,
                is_part ? place->second.layout : Layout::contiguous(static_shape(graph_.type(v)))};
}

}  // namespace cleave
