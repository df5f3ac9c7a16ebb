#include "import/onnx/read_model.h"

#include "onnx/wire.h"

namespace cleave::onnx {
namespace {

// One message of a kind: the function is called for each field.
template <class F>
Status each_field(const Message& message, F&& take) {
  WireReader reader(message);
  while (!reader.done()) {
    CLEAVE_TRY(const Field field, reader.next());
    CLEAVE_CHECK(take(field));
  }
  return {};
}

template <class T, class Read>
Status read_into(T& to, const Field& field, Read&& read) {
  CLEAVE_TRY(to, read(field));
  return {};
}
template <class T, class Read>
Status append(std::vector<T>& to, const Field& field, Read&& read) {
  CLEAVE_TRY(T one, read(field));
  to.push_back(std::move(one));
  return {};
}

Status take_element(const Field& field, Element& to) {
  CLEAVE_TRY(const int64_t number, as_int(field));
  if (number < 0 || number > last_element)
    return unsupported("byte {}: the element type {} isn't known", field.at, number);
  to = static_cast<Element>(number);
  return {};
}

Status take_entry(const Field& field, int depth, std::map<std::string, std::string>& into) {
  CLEAVE_TRY(const Message message, Message::of(field, depth));
  std::string key, value;
  CLEAVE_CHECK(each_field(message, [&](const Field& f) -> Status {
    if (f.number == 1) return read_into(key, f, as_text);
    if (f.number == 2) return read_into(value, f, as_text);
    return {};
  }));
  into[std::move(key)] = std::move(value);
  return {};
}

Result<TensorProto> tensor_of(const Message& message) {
  TensorProto t;
  CLEAVE_CHECK(each_field(message, [&](const Field& f) -> Status {
    switch (f.number) {
      case 1: return append_ints(f, t.dims);
      case 2: return take_element(f, t.element);
      case 4: return append_floats(f, t.float_data);
      case 5:
      case 7:
      case 11: return append_ints(f, t.int_data);
      case 6: return append(t.string_data, f, as_text);
      case 8: return read_into(t.name, f, as_text);
      case 9:
        if (f.type != WireType::bytes) return user_error("byte {}: raw_data has no bytes", f.at);
        t.raw = f.bytes;
        t.has_raw = true;
        return {};
      case 10: return append_doubles(f, t.double_data);
      case 13: return take_entry(f, message.depth, t.external_data);
      case 14: {
        CLEAVE_TRY(const int64_t location, as_int(f));
        t.external = location == 1;
        return {};
      }
      default: return {};
    }
  }));
  return t;
}

Result<Dimension> dimension_of(const Message& message) {
  Dimension d;
  CLEAVE_CHECK(each_field(message, [&](const Field& f) -> Status {
    if (f.number == 1) return read_into(d.value, f, as_int);
    if (f.number == 2) return read_into(d.param, f, as_text);
    return {};
  }));
  return d;
}

Result<std::vector<Dimension>> shape_of(const Message& message) {
  std::vector<Dimension> shape;
  CLEAVE_CHECK(each_field(message, [&](const Field& f) -> Status {
    if (f.number != 1) return {};
    CLEAVE_TRY(const Message inner, Message::of(f, message.depth));
    CLEAVE_TRY(Dimension d, dimension_of(inner));
    shape.push_back(std::move(d));
    return {};
  }));
  return shape;
}

Result<TypeProto> type_of(const Message& message);

// TypeProto.Tensor, .Sequence, .Map, .Optional and .SparseTensor: an element type, and what it is
// of.
Status take_kind(const Field& field, int depth, TypeProto& t) {
  CLEAVE_TRY(const Message message, Message::of(field, depth));
  const bool holds_types =
      t.kind == TypeProto::Kind::sequence || t.kind == TypeProto::Kind::optional;
  return each_field(message, [&](const Field& f) -> Status {
    if (f.number == 1 && holds_types) {
      CLEAVE_TRY(const Message inner, Message::of(f, message.depth));
      CLEAVE_TRY(TypeProto type, type_of(inner));
      t.inner = std::make_shared<const TypeProto>(std::move(type));
      return {};
    }
    if (t.kind != TypeProto::Kind::tensor) return {};
    if (f.number == 1) return take_element(f, t.element);
    if (f.number != 2) return {};
    CLEAVE_TRY(const Message inner, Message::of(f, message.depth));
    CLEAVE_TRY(t.shape, shape_of(inner));
    return {};
  });
}

Result<TypeProto> type_of(const Message& message) {
  TypeProto t;
  CLEAVE_CHECK(each_field(message, [&](const Field& f) -> Status {
    switch (f.number) {
      case 1: t.kind = TypeProto::Kind::tensor; break;
      case 4: t.kind = TypeProto::Kind::sequence; break;
      case 5: t.kind = TypeProto::Kind::map; break;
      case 8: t.kind = TypeProto::Kind::sparse; break;
      case 9: t.kind = TypeProto::Kind::optional; break;
      default: return {};
    }
    return take_kind(f, message.depth, t);
  }));
  return t;
}

Result<ValueInfo> value_info_of(const Message& message) {
  ValueInfo v;
  CLEAVE_CHECK(each_field(message, [&](const Field& f) -> Status {
    if (f.number == 1) return read_into(v.name, f, as_text);
    if (f.number != 2) return {};
    CLEAVE_TRY(const Message inner, Message::of(f, message.depth));
    CLEAVE_TRY(v.type, type_of(inner));
    return {};
  }));
  return v;
}

Result<GraphProto> graph_of(const Message& message);

template <class T>
Status take_shared(std::shared_ptr<const T>& to, const Field& f, int depth,
                   Result<T> (*read)(const Message&)) {
  CLEAVE_TRY(const Message inner, Message::of(f, depth));
  CLEAVE_TRY(T value, read(inner));
  to = std::make_shared<const T>(std::move(value));
  return {};
}
template <class T>
Status append_message(std::vector<T>& to, const Field& f, int depth,
                      Result<T> (*read)(const Message&)) {
  CLEAVE_TRY(const Message inner, Message::of(f, depth));
  CLEAVE_TRY(T value, read(inner));
  to.push_back(std::move(value));
  return {};
}

Result<Attribute> attribute_of(const Message& message) {
  Attribute a;
  CLEAVE_CHECK(each_field(message, [&](const Field& f) -> Status {
    switch (f.number) {
      case 1: return read_into(a.name, f, as_text);
      case 2: return read_into(a.f, f, as_float);
      case 3: return read_into(a.i, f, as_int);
      case 4: return read_into(a.s, f, as_text);
      case 5: return take_shared(a.tensor, f, message.depth, tensor_of);
      case 6: return take_shared(a.graph, f, message.depth, graph_of);
      case 7: return append_floats(f, a.floats);
      case 8: return append_ints(f, a.ints);
      case 9: return append(a.strings, f, as_text);
      case 14: return take_shared(a.type_proto, f, message.depth, type_of);
      case 20: return read_into(a.type, f, as_int);
      case 21: return read_into(a.reference, f, as_text);
      default: return {};
    }
  }));
  return a;
}

Result<NodeProto> node_of(const Message& message) {
  NodeProto n;
  CLEAVE_CHECK(each_field(message, [&](const Field& f) -> Status {
    switch (f.number) {
      case 1: return append(n.inputs, f, as_text);
      case 2: return append(n.outputs, f, as_text);
      case 3: return read_into(n.name, f, as_text);
      case 4: return read_into(n.op, f, as_text);
      case 5: return append_message(n.attributes, f, message.depth, attribute_of);
      case 7: return read_into(n.domain, f, as_text);
      case 8: return read_into(n.overload, f, as_text);
      default: return {};
    }
  }));
  if (n.domain == "ai.onnx") n.domain.clear();
  return n;
}

Result<GraphProto> graph_of(const Message& message) {
  GraphProto g;
  CLEAVE_CHECK(each_field(message, [&](const Field& f) -> Status {
    switch (f.number) {
      case 1: return append_message(g.nodes, f, message.depth, node_of);
      case 2: return read_into(g.name, f, as_text);
      case 5: return append_message(g.initializers, f, message.depth, tensor_of);
      case 11: return append_message(g.inputs, f, message.depth, value_info_of);
      case 12: return append_message(g.outputs, f, message.depth, value_info_of);
      case 15: ++g.sparse_initializers; return {};
      default: return {};
    }
  }));
  return g;
}

Status take_opset(const Field& field, int depth, std::map<std::string, int64_t>& into) {
  CLEAVE_TRY(const Message message, Message::of(field, depth));
  std::string domain;
  int64_t version = 0;
  CLEAVE_CHECK(each_field(message, [&](const Field& f) -> Status {
    if (f.number == 1) return read_into(domain, f, as_text);
    if (f.number == 2) return read_into(version, f, as_int);
    return {};
  }));
  into[domain == "ai.onnx" ? "" : domain] = version;
  return {};
}

Result<FunctionProto> function_of(const Message& message) {
  FunctionProto fn;
  CLEAVE_CHECK(each_field(message, [&](const Field& f) -> Status {
    switch (f.number) {
      case 1: return read_into(fn.name, f, as_text);
      case 4: return append(fn.inputs, f, as_text);
      case 5: return append(fn.outputs, f, as_text);
      case 7: return append_message(fn.nodes, f, message.depth, node_of);
      case 9: return take_opset(f, message.depth, fn.opsets);
      case 10: return read_into(fn.domain, f, as_text);
      case 11: return append_message(fn.defaults, f, message.depth, attribute_of);
      case 13: return read_into(fn.overload, f, as_text);
      default: return {};
    }
  }));
  if (fn.domain == "ai.onnx") fn.domain.clear();
  return fn;
}

Result<ModelProto> model_of(const Message& message) {
  ModelProto m;
  CLEAVE_CHECK(each_field(message, [&](const Field& f) -> Status {
    switch (f.number) {
      case 1: return read_into(m.ir_version, f, as_int);
      case 2: return read_into(m.producer, f, as_text);
      case 7: {
        CLEAVE_TRY(const Message inner, Message::of(f, message.depth));
        CLEAVE_TRY(m.graph, graph_of(inner));
        return {};
      }
      case 8: return take_opset(f, message.depth, m.opsets);
      case 20: m.has_training_info = true; return {};
      case 25: return append_message(m.functions, f, message.depth, function_of);
      default: return {};
    }
  }));
  return m;
}

}  // namespace

Result<ModelProto> read_model(std::span<const std::byte> bytes) { return model_of({bytes, 0, 0}); }

Result<TensorProto> read_tensor(std::span<const std::byte> bytes) {
  return tensor_of({bytes, 0, 0});
}

}  // namespace cleave::onnx
