#include "test/sample/peer_file.h"

#include <cmath>

#include "interp/array_memory.h"

namespace cleave::law {

Json json_of(const AttrValue& v) {
  if (v.is_none()) return nullptr;
  if (auto* b = v.get<bool>()) return *b;
  if (auto* d = v.get<Dim>()) return d->is_const() ? Json(d->value()) : Json(d->text());
  if (auto* f = v.get<double>())
    return std::isfinite(*f) ? Json(*f) : Json{{"float", double_text(*f)}};
  if (auto* s = v.get<std::string>()) return *s;
  if (auto* t = v.get<DType>()) return {{"dtype", name_of(*t)}};
  if (auto* m = v.get<MemoryFormat>()) return {{"memory_format", name_of(*m)}};
  Json list = Json::array();
  if (auto* l = v.get<AttrList>())
    for (const AttrValue& item : *l) list.push_back(json_of(item));
  return list;
}

Json arguments_of(const Graph& g, NodeId n) {
  const Node& node = g.node(n);
  const Schema& schema = node.op->schema;
  Json out = Json::array();
  size_t flat = 0;
  for (size_t k = 0; k < schema.args.size(); ++k) {
    const ArgDef& arg = schema.args[k];
    const AttrValue* given = node.attrs.find(static_cast<uint16_t>(k));
    if (arg.is_operand()) {
      const size_t items = arg.list ? node.list_size : 1;
      Json tensors = Json::array();
      for (size_t i = 0; i < items; ++i, ++flat) {
        const ValueId v = node.inputs[flat];
        tensors.push_back(v.valid() ? Json(g.name(v)) : Json());
      }
      if (arg.list)
        out.push_back({arg.name, {{"tensors", tensors}}});
      else if (given)
        out.push_back({arg.name, {{"value", json_of(*given)}}});
      else if (!tensors[0].is_null())
        out.push_back({arg.name, {{"tensor", tensors[0]}}});
    } else if (given) {
      out.push_back({arg.name, {{"value", json_of(*given)}}});
    }
  }
  return out;
}

void TensorFile::add(const std::string& name, const Array& a) {
  memory_.push_back(to_memory(a));
  entries_.push_back({name, a.dtype, a.shape, memory_.back()});
}

}  // namespace cleave::law
