// Graphs of nodes, as the schema has them.
#include "base/printable.h"
#include "import/exported/read_program.h"
#include "import/exported/source_line.h"

namespace cleave::exported {
namespace {

Result<std::vector<Argument>> read_arguments(Object o, std::string_view key) {
  CLEAVE_TRY(const Element list, member(o, key));
  CLEAVE_TRY(const Array items, array_of(list, key));
  std::vector<Argument> out;
  for (const Element item : items) {
    CLEAVE_TRY(Argument a, read_argument(item));
    out.push_back(std::move(a));
  }
  return out;
}

Result<NamedArgument> read_named(Element e) {
  CLEAVE_TRY(const Object o, object_of(e, "an input"));
  NamedArgument a;
  CLEAVE_TRY(const Element name, member(o, "name"));
  CLEAVE_TRY(a.name, text_of(name, "name"));
  CLEAVE_TRY(const Element arg, member(o, "arg"));
  Result<Argument> value = read_argument(arg);
  if (!value.ok()) return std::move(value).failure().within(printable(a.name));
  a.value = *std::move(value);
  return a;
}

Result<Node> read_node(Element e) {
  CLEAVE_TRY(const Object o, object_of(e, "a node"));
  Node n;
  CLEAVE_TRY(const Element target, member(o, "target"));
  CLEAVE_TRY(n.target, text_of(target, "target"));
  const std::string where = printable(n.target);
  CLEAVE_TRY(const Element inputs, member(o, "inputs"));
  CLEAVE_TRY(const Array items, array_of(inputs, "inputs"));
  for (const Element item : items) {
    Result<NamedArgument> a = read_named(item);
    if (!a.ok()) return std::move(a).failure().within(where);
    n.inputs.push_back(*std::move(a));
  }
  Result<std::vector<Argument>> outputs = read_arguments(o, "outputs");
  if (!outputs.ok()) return std::move(outputs).failure().within(where);
  n.outputs = *std::move(outputs);
  if (const auto metadata = maybe_member(o, "metadata")) {
    CLEAVE_TRY(const Object fields, object_of(*metadata, "metadata"));
    const auto text = [&](const char* key) {
      std::string_view value;
      return fields.at_key(key).get_string().get(value) == simdjson::SUCCESS ? value
                                                                             : std::string_view();
    };
    set_source_line(text("stack_trace"), n);
    n.was_detach = text("from_node").find("\"aten.detach") != std::string_view::npos ||
                   text("torch_fn").ends_with(".detach");
  }
  return n;
}

template <class T, class Read>
Status read_map(Object o, std::string_view key, Read read, std::map<std::string, T>& into) {
  const auto found = maybe_member(o, key);
  if (!found) return {};
  CLEAVE_TRY(const Object fields, object_of(*found, key));
  for (const simdjson::dom::key_value_pair field : fields) {
    Result<T> value = read(field.value);
    if (!value.ok())
      return std::move(value).failure().within(fmt::format("{} {}", key, printable(field.key)));
    if (!into.emplace(field.key, *std::move(value)).second)
      return user_error("{}: {} is there twice", key, printable(field.key));
  }
  return {};
}

}  // namespace

Result<Graph> read_graph(Element e) {
  CLEAVE_TRY(const Object o, object_of(e, "graph"));
  Graph g;
  CLEAVE_TRY(g.inputs, read_arguments(o, "inputs"));
  CLEAVE_TRY(g.outputs, read_arguments(o, "outputs"));
  CLEAVE_TRY(const Element nodes, member(o, "nodes"));
  CLEAVE_TRY(const Array items, array_of(nodes, "nodes"));
  for (const Element item : items) {
    Result<Node> n = read_node(item);
    if (!n.ok()) return std::move(n).failure().within(fmt::format("node {}", g.nodes.size()));
    g.nodes.push_back(*std::move(n));
  }
  CLEAVE_CHECK(read_map(o, "tensor_values", read_tensor_meta, g.tensors));
  for (const char* key : {"sym_int_values", "sym_bool_values", "sym_float_values"})
    CLEAVE_CHECK(read_map(o, key, read_sym, g.symbols));
  return g;
}

}  // namespace cleave::exported
