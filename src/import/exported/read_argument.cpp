// Arguments of nodes, and the types of tensors.
#include <array>

#include "base/printable.h"
#include "import/exported/read_program.h"

namespace cleave::exported {
namespace {

// PyTorch's codes of schema 8: ScalarType.
struct KnownDtype {
  int64_t code;
  DType dtype;
};
constexpr std::array<KnownDtype, 10> known_dtypes = {{{1, DType::u8},
                                                      {2, DType::i8},
                                                      {3, DType::i16},
                                                      {4, DType::i32},
                                                      {5, DType::i64},
                                                      {6, DType::f16},
                                                      {7, DType::f32},
                                                      {8, DType::f64},
                                                      {12, DType::boolean},
                                                      {13, DType::bf16}}};

std::string foreign_name(int64_t code) {
  switch (code) {
    case 9: return "complex32";
    case 28: return "uint16";
    case 29: return "float8_e4m3fn";
    case 30: return "float8_e5m2";
    case 31: return "float8_e4m3fnuz";
    case 32: return "float8_e5m2fnuz";
    case 33: return "float8_e8m0fnu";
    case 34: return "uint32";
    case 35: return "uint64";
    default: return fmt::format("dtype code {}", code);
  }
}

Argument of_kind(Argument::Kind kind, std::string text = {}) {
  Argument a;
  a.kind = kind;
  a.text = std::move(text);
  return a;
}

Result<Argument> read_name(Element e, Argument::Kind kind) {
  CLEAVE_TRY(const Object o, object_of(e, "an argument"));
  CLEAVE_TRY(const Element name, member(o, "name"));
  CLEAVE_TRY(std::string text, text_of(name, "name"));
  return of_kind(kind, std::move(text));
}

Result<std::string> read_device(Element e) {
  CLEAVE_TRY(const Object o, object_of(e, "a device"));
  CLEAVE_TRY(const Element type, member(o, "type"));
  CLEAVE_TRY(std::string text, text_of(type, "type"));
  if (const auto index = maybe_member(o, "index")) {
    CLEAVE_TRY(const int64_t k, integer_of(*index, "index"));
    text += fmt::format(":{}", k);
  }
  return text;
}

Result<Argument> read_number(Element e, Argument::Kind kind) {
  Argument a = of_kind(kind);
  switch (kind) {
    case Argument::Kind::floating: {
      CLEAVE_TRY(a.floating, floating_of(e, "a number"));
      break;
    }
    case Argument::Kind::boolean: {
      CLEAVE_TRY(const bool on, boolean_of(e, "a flag"));
      a.number = on;
      break;
    }
    case Argument::Kind::complex: {
      CLEAVE_TRY(const Object o, object_of(e, "a complex number"));
      CLEAVE_TRY(const Element real, member(o, "real"));
      CLEAVE_TRY(const Element imaginary, member(o, "imag"));
      CLEAVE_TRY(a.floating, floating_of(real, "real"));
      CLEAVE_TRY(a.imaginary, floating_of(imaginary, "imag"));
      break;
    }
    default: CLEAVE_TRY(a.number, integer_of(e, "an integer"));
  }
  return a;
}

// {"as_name": "s0"} or {"as_int": 3}; of sizes, numbers and flags of the run.
Result<Argument> read_symbol(Element e) {
  CLEAVE_TRY(const Case c, case_of(e, "a symbolic argument"));
  if (c.tag == "as_int") return read_number(c.value, Argument::Kind::integer);
  if (c.tag == "as_float") return read_number(c.value, Argument::Kind::floating);
  if (c.tag == "as_bool") return read_number(c.value, Argument::Kind::boolean);
  if (c.tag != "as_name") return user_error("a symbolic argument: {} is none", printable(c.tag));
  CLEAVE_TRY(std::string name, text_of(c.value, "as_name"));
  return of_kind(Argument::Kind::symbol, std::move(name));
}

Result<Argument> read_optional_tensor(Element e) {
  CLEAVE_TRY(const Case c, case_of(e, "an optional tensor"));
  if (c.tag == "as_none") return Argument();
  if (c.tag != "as_tensor") return user_error("an optional tensor: {} is none", printable(c.tag));
  return read_name(c.value, Argument::Kind::tensor);
}

Result<Argument> read_subgraph(Element e) {
  CLEAVE_TRY(Argument a, read_name(e, Argument::Kind::graph));
  CLEAVE_TRY(const Object o, object_of(e, "a graph"));
  CLEAVE_TRY(const Element body, member(o, "graph"));
  CLEAVE_TRY(Graph graph, read_graph(body));
  a.graph = std::make_shared<const Graph>(std::move(graph));
  return a;
}

using Kind = Argument::Kind;
using Read = Result<Argument> (*)(Element);

// How each tag of the schema's Argument is read, and how the items of a list are.
struct Row {
  std::string_view tag;
  Read read;
  bool is_list = false;
};
constexpr std::array rows = {
    Row{"as_none", [](Element) -> Result<Argument> { return Argument(); }},
    Row{"as_tensor", [](Element e) { return read_name(e, Kind::tensor); }},
    Row{"as_tensors", [](Element e) { return read_name(e, Kind::tensor); }, true},
    Row{"as_int", [](Element e) { return read_number(e, Kind::integer); }},
    Row{"as_ints", [](Element e) { return read_number(e, Kind::integer); }, true},
    Row{"as_float", [](Element e) { return read_number(e, Kind::floating); }},
    Row{"as_floats", [](Element e) { return read_number(e, Kind::floating); }, true},
    Row{"as_complex", [](Element e) { return read_number(e, Kind::complex); }},
    Row{"as_bool", [](Element e) { return read_number(e, Kind::boolean); }},
    Row{"as_bools", [](Element e) { return read_number(e, Kind::boolean); }, true},
    Row{"as_sym_int", read_symbol},
    Row{"as_sym_ints", read_symbol, true},
    Row{"as_sym_bool", read_symbol},
    Row{"as_sym_bools", read_symbol, true},
    Row{"as_sym_float", read_symbol},
    Row{"as_sym_floats", read_symbol, true},
    Row{"as_scalar_type", [](Element e) { return read_number(e, Kind::dtype); }},
    Row{"as_memory_format", [](Element e) { return read_number(e, Kind::memory_format); }},
    Row{"as_layout", [](Element e) { return read_number(e, Kind::layout); }},
    Row{"as_optional_tensor", read_optional_tensor},
    Row{"as_optional_tensors", read_optional_tensor, true},
    Row{"as_graph", read_subgraph},
    Row{"as_string",
        [](Element e) -> Result<Argument> {
          CLEAVE_TRY(std::string text, text_of(e, "a text"));
          return of_kind(Kind::text, std::move(text));
        }},
    Row{"as_operator",
        [](Element e) -> Result<Argument> {
          CLEAVE_TRY(std::string text, text_of(e, "an operator"));
          return of_kind(Kind::text, std::move(text));
        }},
    Row{"as_device",
        [](Element e) -> Result<Argument> {
          CLEAVE_TRY(std::string text, read_device(e));
          return of_kind(Kind::device, std::move(text));
        }},
    Row{"as_custom_obj",
        [](Element e) -> Result<Argument> {
          CLEAVE_TRY(const Argument a, read_name(e, Kind::refused));
          return of_kind(Kind::refused, fmt::format("the custom object {}", printable(a.text)));
        }},
};

}  // namespace

std::optional<DType> dtype_of_code(int64_t code) {
  const auto* known = std::ranges::find(known_dtypes, code, &KnownDtype::code);
  if (known == known_dtypes.end()) return std::nullopt;
  return known->dtype;
}

std::optional<DType> parts_of_code(int64_t code) {
  switch (code) {
    case 10: return DType::f32;
    case 11: return DType::f64;
    default: return std::nullopt;
  }
}

Result<SymValue> read_sym(Element e) {
  CLEAVE_TRY(const Case c, case_of(e, "a size"));
  SymValue v;
  if (c.tag == "as_int") {
    CLEAVE_TRY(v.number, integer_of(c.value, "as_int"));
    return v;
  }
  if (c.tag == "as_bool") {
    CLEAVE_TRY(const bool on, boolean_of(c.value, "as_bool"));
    v.number = on;
    return v;
  }
  if (c.tag != "as_expr") {
    v.expression = std::string(c.tag) + "()";  // a floating number: refused where it is used
    return v;
  }
  CLEAVE_TRY(const Object o, object_of(c.value, "as_expr"));
  CLEAVE_TRY(const Element text, member(o, "expr_str"));
  CLEAVE_TRY(v.expression, text_of(text, "expr_str"));
  if (const auto hint = maybe_member(o, "hint")) {
    CLEAVE_TRY(const Case h, case_of(*hint, "hint"));
    if (h.tag == "as_int") { CLEAVE_TRY(v.hint, integer_of(h.value, "as_int")); }
  }
  return v;
}

Result<TensorMeta> read_tensor_meta(Element e) {
  CLEAVE_TRY(const Object o, object_of(e, "a tensor's meta"));
  TensorMeta meta;
  CLEAVE_TRY(const Element dtype, member(o, "dtype"));
  CLEAVE_TRY(const int64_t code, integer_of(dtype, "dtype"));
  const std::optional<DType> parts = parts_of_code(code);
  meta.is_complex = parts.has_value();
  if (const auto known = parts ? parts : dtype_of_code(code))
    meta.dtype = *known;
  else
    meta.foreign_dtype = foreign_name(code);
  for (const auto& [key, into] :
       {std::pair{"sizes", &meta.sizes}, std::pair{"strides", &meta.strides}}) {
    CLEAVE_TRY(const Element list, member(o, key));
    CLEAVE_TRY(const Array items, array_of(list, key));
    for (const Element item : items) {
      CLEAVE_TRY(SymValue v, read_sym(item));
      into->push_back(std::move(v));
    }
  }
  CLEAVE_TRY(const Element offset, member(o, "storage_offset"));
  CLEAVE_TRY(meta.offset, read_sym(offset));
  CLEAVE_TRY(const Element grad, member(o, "requires_grad"));
  CLEAVE_TRY(meta.requires_grad, boolean_of(grad, "requires_grad"));
  CLEAVE_TRY(const Element device, member(o, "device"));
  CLEAVE_TRY(meta.device, read_device(device));
  CLEAVE_TRY(const Element layout, member(o, "layout"));
  CLEAVE_TRY(const int64_t layout_code, integer_of(layout, "layout"));
  meta.is_strided = layout_code == 7;
  return meta;
}

Result<Argument> read_argument(Element e) {
  CLEAVE_TRY(const Case c, case_of(e, "an argument"));
  const auto* row = std::ranges::find(rows, c.tag, &Row::tag);
  if (row == rows.end()) return of_kind(Kind::refused, printable(c.tag));
  if (!row->is_list) return row->read(c.value);
  Argument list = of_kind(Kind::list);
  CLEAVE_TRY(const Array items, array_of(c.value, c.tag));
  for (const Element item : items) {
    CLEAVE_TRY(Argument a, row->read(item));
    list.items.push_back(std::move(a));
  }
  return list;
}

}  // namespace cleave::exported
