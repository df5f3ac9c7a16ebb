// The program around the graph: version, signature, ranges, trees; and the lists of weights.
#include "import/exported/read_program.h"

#include "base/printable.h"

namespace cleave::exported {
namespace {

constexpr int64_t schema_major = 8;

Status check_version(Object root) {
  CLEAVE_TRY(const Element e, member(root, "schema_version"));
  CLEAVE_TRY(const Object version, object_of(e, "schema_version"));
  CLEAVE_TRY(const Element number, member(version, "major"));
  CLEAVE_TRY(const int64_t major, integer_of(number, "major"));
  CLEAVE_TRY(const Element minor_number, member(version, "minor"));
  CLEAVE_TRY(const int64_t minor, integer_of(minor_number, "minor"));
  if (major == schema_major) return {};
  return unsupported("schema_version {}.{}: expected {}.*, of PyTorch 2.6 to 2.13", major, minor,
                     schema_major);
}

Result<std::string> text_member(Object o, std::string_view key) {
  CLEAVE_TRY(const Element e, member(o, key));
  return text_of(e, key);
}

// {"name": "p_weight"}, or an argument with its tag: {"as_tensor": {"name": "x"}}.
Result<Argument> read_spec_argument(Object o) {
  CLEAVE_TRY(const Element arg, member(o, "arg"));
  CLEAVE_TRY(const Object fields, object_of(arg, "arg"));
  const auto name = maybe_member(fields, "name");
  if (!name) return read_argument(arg);
  Argument a;
  a.kind = Argument::Kind::tensor;
  CLEAVE_TRY(a.text, text_of(*name, "name"));
  return a;
}

Result<InputSpec> read_input(Element e) {
  CLEAVE_TRY(const Case c, case_of(e, "an input of the signature"));
  CLEAVE_TRY(const Object o, object_of(c.value, c.tag));
  InputSpec spec;
  const char* target = nullptr;
  if (c.tag == "parameter") {
    spec.kind = InputSpec::Kind::parameter;
    target = "parameter_name";
  } else if (c.tag == "buffer") {
    spec.kind = InputSpec::Kind::buffer;
    target = "buffer_name";
  } else if (c.tag == "tensor_constant") {
    spec.kind = InputSpec::Kind::constant;
    target = "tensor_constant_name";
  } else if (c.tag == "constant_input") {
    spec.kind = InputSpec::Kind::constant_input;
    CLEAVE_TRY(spec.target, text_member(o, "name"));
    return spec;
  } else if (c.tag == "custom_obj") {
    CLEAVE_TRY(const std::string name, text_member(o, "custom_obj_name"));
    return unsupported("the custom object {}: cleave runs tensors alone", printable(name));
  } else if (c.tag == "token") {
    spec.kind = InputSpec::Kind::token;
  } else if (c.tag != "user_input") {
    return unsupported("an input of kind {}", printable(c.tag));
  }
  CLEAVE_TRY(spec.arg, read_spec_argument(o));
  if (target) { CLEAVE_TRY(spec.target, text_member(o, target)); }
  return spec;
}

Result<OutputSpec> read_output(Element e) {
  CLEAVE_TRY(const Case c, case_of(e, "an output of the signature"));
  CLEAVE_TRY(const Object o, object_of(c.value, c.tag));
  OutputSpec spec;
  const char* target = nullptr;
  using Kind = OutputSpec::Kind;
  if (c.tag == "buffer_mutation") {
    spec.kind = Kind::mutation;
    target = "buffer_name";
  } else if (c.tag == "parameter_mutation") {
    spec.kind = Kind::mutation;
    target = "parameter_name";
  } else if (c.tag == "user_input_mutation") {
    spec.kind = Kind::mutation;
    target = "user_input_name";
  } else if (c.tag == "gradient_to_parameter") {
    spec.kind = Kind::gradient;
    target = "parameter_name";
  } else if (c.tag == "gradient_to_user_input") {
    spec.kind = Kind::gradient;
    target = "user_input_name";
  } else if (c.tag == "loss_output") {
    spec.kind = Kind::loss;
  } else if (c.tag == "token") {
    spec.kind = Kind::token;
  } else if (c.tag != "user_output") {
    return unsupported("an output of kind {}", printable(c.tag));
  }
  CLEAVE_TRY(spec.arg, read_spec_argument(o));
  if (target) {
    CLEAVE_TRY(spec.target, text_member(o, target));
    spec.of_user_input = target == std::string_view("user_input_name");
  }
  return spec;
}

template <class T, class Read>
Status read_list(Object o, std::string_view key, Read read, std::vector<T>& into) {
  CLEAVE_TRY(const Element e, member(o, key));
  CLEAVE_TRY(const Array items, array_of(e, key));
  for (const Element item : items) {
    Result<T> value = read(item);
    if (!value.ok())
      return std::move(value).failure().within(fmt::format("{} {}", key, into.size()));
    into.push_back(*std::move(value));
  }
  return {};
}

// The trees of arguments and results, of the entry for the whole model.
Status read_trees(Object module, Program& p) {
  const auto calls = maybe_member(module, "module_call_graph");
  if (!calls) return {};
  CLEAVE_TRY(const Array entries, array_of(*calls, "module_call_graph"));
  for (const Element entry : entries) {
    CLEAVE_TRY(const Object o, object_of(entry, "module_call_graph"));
    CLEAVE_TRY(const std::string fqn, text_member(o, "fqn"));
    const auto signature = maybe_member(o, "signature");
    if (!fqn.empty() || !signature) continue;
    CLEAVE_TRY(const Object s, object_of(*signature, "signature"));
    CLEAVE_TRY(p.in_spec, text_member(s, "in_spec"));
    CLEAVE_TRY(p.out_spec, text_member(s, "out_spec"));
    if (maybe_member(s, "forward_arg_names"))
      CLEAVE_CHECK(read_list(
          s, "forward_arg_names", [](Element e) { return text_of(e, "forward_arg_names"); },
          p.argument_names));
    return {};
  }
  return {};
}

Status read_ranges(Object root, Program& p) {
  const auto found = maybe_member(root, "range_constraints");
  if (!found) return {};
  CLEAVE_TRY(const Object ranges, object_of(*found, "range_constraints"));
  for (const simdjson::dom::key_value_pair field : ranges) {
    CLEAVE_TRY(const Object o, object_of(field.value, "range_constraints"));
    Range r;
    if (const auto least = maybe_member(o, "min_val")) {
      CLEAVE_TRY(r.least, integer_of(*least, "min_val"));
    }
    if (const auto largest = maybe_member(o, "max_val")) {
      CLEAVE_TRY(r.largest, integer_of(*largest, "max_val"));
    }
    p.ranges[std::string(field.key)] = r;
  }
  return {};
}

Result<Payload> read_payload(Element e, const std::string& folder,
                             std::vector<std::string>& pickles, std::string_view name) {
  CLEAVE_TRY(const Object o, object_of(e, "a weight"));
  Payload p;
  CLEAVE_TRY(const std::string file, text_member(o, "path_name"));
  if (file.empty() || file.find('/') != file.npos)
    return user_error("path_name {}: expected the name of a file", printable(file));
  p.file = folder + file;
  CLEAVE_TRY(const Element is_param, member(o, "is_param"));
  CLEAVE_TRY(p.is_param, boolean_of(is_param, "is_param"));
  CLEAVE_TRY(const Element use_pickle, member(o, "use_pickle"));
  CLEAVE_TRY(const bool pickle, boolean_of(use_pickle, "use_pickle"));
  const auto meta = maybe_member(o, "tensor_meta");
  if (pickle || !meta) {
    pickles.push_back(printable(name));
    return p;
  }
  CLEAVE_TRY(p.meta, read_tensor_meta(*meta));
  return p;
}

}  // namespace

Result<Program> read_program(std::string_view json) {
  simdjson::dom::parser parser;
  CLEAVE_TRY(const Element e, parse_json(parser, json));
  CLEAVE_TRY(const Object root, object_of(e, "the program"));
  CLEAVE_CHECK(check_version(root));
  Program p;
  if (const auto version = maybe_member(root, "torch_version")) {
    CLEAVE_TRY(p.torch_version, text_of(*version, "torch_version"));
  }
  CLEAVE_TRY(const Element module_value, member(root, "graph_module"));
  CLEAVE_TRY(const Object module, object_of(module_value, "graph_module"));
  CLEAVE_TRY(const Element signature_value, member(module, "signature"));
  CLEAVE_TRY(const Object signature, object_of(signature_value, "signature"));
  CLEAVE_CHECK(read_list(signature, "input_specs", read_input, p.inputs));
  CLEAVE_CHECK(read_list(signature, "output_specs", read_output, p.outputs));
  CLEAVE_TRY(const Element graph, member(module, "graph"));
  CLEAVE_TRY(p.graph, read_graph(graph));
  CLEAVE_CHECK(read_trees(module, p));
  CLEAVE_CHECK(read_ranges(root, p));
  return p;
}

Result<Payloads> read_payloads(std::string_view json, const std::string& folder) {
  simdjson::dom::parser parser;
  CLEAVE_TRY(const Element e, parse_json(parser, json));
  CLEAVE_TRY(const Object root, object_of(e, "the list"));
  CLEAVE_TRY(const Element config, member(root, "config"));
  CLEAVE_TRY(const Object entries, object_of(config, "config"));
  Payloads out;
  std::vector<std::string> pickles;
  for (const simdjson::dom::key_value_pair field : entries) {
    Result<Payload> p = read_payload(field.value, folder, pickles, field.key);
    if (!p.ok()) return std::move(p).failure().within(printable(field.key));
    if (!out.emplace(field.key, *std::move(p)).second)
      return user_error("{} is there twice", printable(field.key));
  }
  if (!pickles.empty())
    return unsupported(
        "held as pickles, which can run any code when they are read: {}; custom "
        "objects and subclasses of Tensor are not covered",
        fmt::join(pickles, ", "));
  return out;
}

}  // namespace cleave::exported
