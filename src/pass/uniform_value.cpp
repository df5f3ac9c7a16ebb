#include "pass/uniform_value.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <unordered_set>

#include "ir/op_view.h"
#include "op/pointwise_reference.h"
#include "pass/index_form.h"

namespace cleave {
namespace {

using Number = std::optional<AttrValue>;

constexpr std::array views = {
    "view",  "_unsafe_view", "reshape", "permute", "t",     "transpose",        "expand",
    "alias", "detach",       "clone",   "squeeze", "slice", "lift_fresh_copy",  "unsqueeze",
    "flip",  "diagonal",     "repeat",  "select",  "split", "split_with_sizes", "chunk",
    "unbind"};
constexpr std::array arithmetic = {
    "add",         "sub",         "rsub",        "mul",         "div",         "neg",
    "abs",         "sign",        "relu",        "ceil",        "floor",       "trunc",
    "maximum",     "minimum",     "clamp",       "where",       "eq",          "ne",
    "lt",          "le",          "gt",          "ge",          "isnan",       "isinf",
    "logical_and", "logical_or",  "logical_xor", "logical_not", "bitwise_and", "bitwise_or",
    "bitwise_xor", "bitwise_not", "masked_fill", "_to_copy"};

constexpr std::array comparisons = {"lt", "le", "gt", "ge"};

bool is_one_of(const auto& names, const std::string& name) {
  return std::ranges::find(names, std::string_view(name)) != names.end();
}

// Element 0, as a kernel represents it.
Number number_of(const Array& a) {
  if (a.dtype == DType::boolean) return AttrValue(a.i[0] != 0);
  if (!a.floating()) {
    if (std::abs(a.i[0]) >= int64_t{1} << 62 || a.i[0] == INT64_MIN) return {};
    return AttrValue(a.i[0]);
  }
  if (a.dtype == DType::f64) return AttrValue(a.f[0]);
  return AttrValue(round_to(a.dtype, round_to(DType::f32, a.f[0])));
}

// Whether f32 holds the number up to rounding, which `full` repeats: a finite number must not
// become infinite, nor a nonzero one 0.
bool is_written_in_f32(double x) {
  const double y = round_to(DType::f32, x);
  return std::isfinite(y) && (y != 0 || x == 0);
}

// A constructor's number in its dtype; for f32 as it was written, if possible.
Number as_dtype(const AttrValue& v, DType t) {
  const Dim* d = v.get<Dim>();
  if (!v.is_number() || (d && !d->is_const()) || t == DType::c64) return {};
  if (is_integer(t) && v.get<double>() && !(std::abs(v.as_double()) < 0x1p31)) return {};
  if (t == DType::f32 && is_written_in_f32(v.as_double())) return AttrValue(v.as_double());
  Array a(t, {1});
  set_number(a, 0, v);
  return number_of(a);
}

Number constructed(const OpView& call) {
  const std::string& name = call.name();
  const DType t = call.out_type(0).dtype;
  if (name == "zeros" || name == "zeros_like") return as_dtype(0, t);
  if (name == "ones" || name == "ones_like") return as_dtype(1, t);
  if (name == "full" || name == "full_like") return as_dtype(call.attr("fill_value"), t);
  if (name == "scalar_tensor") return as_dtype(call.attr("s"), t);
  if (name == "fill" && call.is_number(1)) return as_dtype(call.number(1), t);
  return {};
}

Array one_element(const Type& t, const AttrValue& v) {
  Array a(t.dtype, t.rank() == 0 ? std::vector<int64_t>{} : std::vector<int64_t>{1});
  set_number(a, 0, v);
  if (t.dtype == DType::f32) a.f[0] = round_to(DType::f32, a.f[0]);
  return a;
}

// sum + alpha * x rounds twice; truncated quotients are corrected in other ways.
bool rounds_otherwise(const OpView& call) {
  const auto is_given = [&](const char* name) {
    return call.def().schema.find(name) >= 0 && call.given(name);
  };
  if (is_given("rounding_mode")) return true;
  return is_given("alpha") && is_floating(call.out_type(0).dtype) && call.float_attr("alpha") != 1;
}

// Whether the call converts to f32, which keeps the number as it was written.
bool stays_as_written(const OpView& call, const AttrValue& number) {
  return call.name() == "_to_copy" && call.out_type(0).dtype == DType::f32 &&
         is_floating(call.in_type(0).dtype) && is_written_in_f32(number.as_double());
}

// Of an arange of integers that ascends. Its end may be a symbol.
std::optional<DimRange> range_of_positions(const OpView& call) {
  const auto whole = [&](const char* name) { return call.attr(name).get<Dim>(); };
  const Dim *start = whole("start"), *end = whole("end"), *step = whole("step");
  if (!start || !end || !step || !step->is_const() || step->value() <= 0) return {};
  return DimRange{call.env().range_of(*start).lo, call.env().range_of(*end).hi - 1};
}

// The calls that a value is computed by, each after those whose results it uses; none if they are
// too many for a mask.
std::vector<NodeId> calls_behind(const Graph& g, ValueId of) {
  constexpr size_t most = 256;
  std::vector<NodeId> calls;
  std::unordered_set<uint32_t> seen;
  const auto collect = [&](auto&& self, ValueId v) -> void {
    const NodeId n = v.valid() ? g.value(v).def : NodeId{};
    if (!n.valid() || seen.size() > most || !seen.insert(n.v).second) return;
    for (const ValueId in : g.node(n).inputs) self(self, in);
    calls.push_back(n);
  };
  collect(collect, of);
  return seen.size() > most ? std::vector<NodeId>() : calls;
}

// Whether sums of the number are exact in f32, in any order.
bool sums_exactly(const AttrValue& v, double count) {
  const double x = v.as_double();
  return x == std::trunc(x) && std::abs(x) * count <= 0x1p24;
}

}  // namespace

UniformValues::UniformValues(const Graph& graph) : graph_(graph) {
  for (NodeId n = graph.first_node(); n.valid(); n = graph.next_node(n)) visit(n);
}

UniformValues::UniformValues(const Graph& graph, ValueId of) : graph_(graph) {
  for (const NodeId n : calls_behind(graph, of)) visit(n);
}

const AttrValue* UniformValues::find(ValueId v) const {
  const auto found = v.valid() ? numbers_.find(v.v) : numbers_.end();
  return found == numbers_.end() ? nullptr : &found->second;
}

std::optional<Layout> UniformValues::form(ValueId v) const {
  if (const AttrValue* number = find(v)) return uniform_form(graph_.type(v), *number);
  const auto found = v.valid() ? forms_.find(v.v) : forms_.end();
  return found == forms_.end() ? std::nullopt : std::optional(found->second);
}

void UniformValues::visit(NodeId n) {
  const Node& node = graph_.node(n);
  if (node.output_count == 0 || has(node.op->traits, Trait::effect)) return;
  for (const ValueId v : node.inputs)
    if (v.valid())
      if (const NodeId def = graph_.value(v).def; def.valid() && graph_.node(def).tag != node.tag)
        return;
  const OpView call = graph_.view(n);
  const Number number = result_of(call);
  const std::optional<DimRange> range = number ? std::nullopt : range_of(call);
  for (uint32_t k = 0; k < node.output_count; ++k) {
    const uint32_t v = node.out(k).v;
    if (number)
      numbers_.emplace(v, *number);
    else
      note_form(call, static_cast<int>(k), v);
    if (range) ranges_.emplace(v, *range);
  }
}

void UniformValues::note_form(const OpView& call, int k, uint32_t v) {
  const auto is_known = [&](ValueId x) {
    return x.valid() && (numbers_.contains(x.v) || forms_.contains(x.v));
  };
  if (!call.inputs().empty() && std::ranges::none_of(call.inputs(), is_known)) return;
  const auto of_operand = [&](int flat) { return form(call.inputs()[static_cast<size_t>(flat)]); };
  const std::optional<Layout> made = index_form(call, k, of_operand);
  if (!made) return;
  if (const Number number = uniform_number(*made, call.out_type(k).dtype))
    numbers_.emplace(v, *number);
  else
    forms_.emplace(v, *made);
}

Number UniformValues::result_of(const OpView& call) const {
  if (Number made = constructed(call)) return made;
  if (is_zero_product(call)) return as_dtype(0, call.out_type(0).dtype);
  if (call.inputs().empty() || !find(call.inputs()[0])) {
    if (Number decided = compared(call)) return decided;
    const bool may_begin_otherwise = is_one_of(arithmetic, call.name());
    return may_begin_otherwise ? computed(call) : Number();
  }
  const AttrValue& first = *find(call.inputs()[0]);
  if (is_one_of(views, call.name()) || stays_as_written(call, first)) return first;
  if (Number decided = compared(call)) return decided;
  if (is_one_of(arithmetic, call.name())) return computed(call);
  if (call.name() == "cat" || call.name() == "stack" || call.name() == "constant_pad_nd")
    return joined(call);
  if (call.name() == "mm" || call.name() == "bmm") return product(call);
  return reduced(call);
}

Number UniformValues::joined(const OpView& call) const {
  const AttrValue& first = *find(call.inputs()[0]);
  const DType t = call.out_type(0).dtype;
  for (size_t k = 0; k < call.inputs().size(); ++k) {
    const AttrValue* part = find(call.inputs()[k]);
    if (!part || !(*part == first) || call.types()[k]->dtype != t) return {};
  }
  if (call.name() == "constant_pad_nd" && as_dtype(call.attr("value"), t) != Number(first))
    return {};
  return first;
}

Number UniformValues::reduced(const OpView& call) const {
  const std::string& name = call.name();
  const AttrValue& v = *find(call.inputs()[0]);
  const Type &x = call.in_type(0), &y = call.out_type(0);
  const bool has_elements = call.env().range_of(x.numel()).lo >= 1;
  if (name == "amax" || name == "amin") return has_elements ? Number(v) : Number();
  if (name == "any" || name == "all") return has_elements ? Number(v.as_double() != 0) : Number();
  if ((name != "sum" && name != "mean") || !has_elements || !x.is_static()) return {};
  const int64_t terms = x.numel().value() / y.numel().value();
  const auto count = static_cast<double>(terms);
  if (is_floating(x.dtype) != is_floating(y.dtype) || !sums_exactly(v, count)) return {};
  const Number sum = as_dtype(name == "sum" ? v.as_double() * count : v.as_double(), y.dtype);
  const bool is_exact = sum && (name == "mean" || sum->as_double() == v.as_double() * count);
  return is_exact ? sum : Number();
}

// Of matrices; exact, in whatever order it is summed.
Number UniformValues::product(const OpView& call) const {
  const AttrValue* second = find(call.inputs()[1]);
  const Type& x = call.in_type(0);
  if (!second || !x.is_static()) return {};
  const double term = find(call.inputs()[0])->as_double() * second->as_double();
  const auto terms = static_cast<double>(x.shape.back().value());
  if (!sums_exactly(term, terms)) return {};
  const double exact = term * terms + 0.0;  // 0, not -0: sums begin with 0
  const Number sum = as_dtype(exact, call.out_type(0).dtype);
  return sum && sum->as_double() == exact ? sum : Number();
}

bool UniformValues::is_zero_product(const OpView& call) const {
  if (call.name() != "mul" || !is_integer(call.out_type(0).dtype)) return false;
  for (int k = 0; k < 2; ++k) {
    const AttrValue* v = call.is_number(k) ? &call.number(k) : find(call.in(k));
    if (v && v->as_double() == 0) return true;
  }
  return false;
}

// Where the elements of an i64 lie, if they are those of an arange.
std::optional<DimRange> UniformValues::range_of(const OpView& call) const {
  if (call.out_type(0).dtype != DType::i64 || call.out_type(0).is_static()) return {};
  if (call.name() == "arange") return range_of_positions(call);
  if (!is_one_of(views, call.name()) || call.inputs().empty()) return {};
  return known_range(call.inputs()[0]);
}

std::optional<DimRange> UniformValues::known_range(ValueId v) const {
  const auto found = v.valid() ? ranges_.find(v.v) : ranges_.end();
  return found == ranges_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<DimRange> UniformValues::range_of_operand(const OpView& call, int operand) const {
  const AttrValue* number = call.is_number(operand) ? &call.number(operand) : nullptr;
  if (!number && call.in_type(operand).dtype != DType::i64) return {};
  if (!number) number = find(call.in(operand));
  if (!number) return known_range(call.in(operand));
  const Dim* whole = number->get<Dim>();
  return whole && whole->is_const() ? std::optional(DimRange{whole->value(), whole->value()})
                                    : std::nullopt;
}

// Whether one operand is below the other in every place.
Number UniformValues::compared(const OpView& call) const {
  if (!is_one_of(comparisons, call.name())) return {};
  std::optional<DimRange> a = range_of_operand(call, 0), b = range_of_operand(call, 1);
  if (!a || !b) return {};
  const bool is_less = call.name() == "lt" || call.name() == "ge";  // a < b, or its negation
  const bool is_negated = call.name() == "ge" || call.name() == "gt";
  const bool holds = is_less ? a->hi < b->lo : a->hi <= b->lo;
  const bool fails = is_less ? a->lo >= b->hi : a->lo > b->hi;
  if (!holds && !fails) return {};
  return AttrValue(holds != is_negated);
}

// Evaluates the call on tensors of one element with the reference rule.
Number UniformValues::computed(const OpView& call) const {
  const Type& y = call.out_type(0);
  if (y.dtype == DType::c64 || !call.def().reference.present()) return {};
  if (rounds_otherwise(call)) return {};
  Graph g;
  NodeSpec spec;
  spec.op = &call.def();
  spec.attrs = call.attrs();
  std::vector<Array> arrays;
  bool is_double = y.dtype == DType::f64;
  for (size_t k = 0; k < call.inputs().size(); ++k) {
    const ValueId v = call.inputs()[k];
    spec.inputs.push_back(v);
    arrays.emplace_back();
    if (!v.valid()) continue;
    const AttrValue* number = find(v);
    const Type& t = *call.types()[k];
    if (!number || t.dtype == DType::c64) return {};
    const bool widens = !is_floating(t.dtype) && is_floating(y.dtype);
    if (widens && std::abs(number->as_double()) > 0x1p24) return {};
    // Kernels may convert numbers out of range differently from the reference.
    if (is_floating(t.dtype) && is_integer(y.dtype) && !(std::abs(number->as_double()) < 0x1p31))
      return {};
    is_double |= t.dtype == DType::f64;
    arrays.back() = one_element(t, *number);
    Result<ValueId> x = g.add_placeholder(Role::input, fmt::format("x{}", k),
                                          Type(t.dtype, t.rank() == 0 ? Shape{} : Shape{1}));
    if (!x.ok()) return {};
    spec.inputs.back() = *x;
  }
  // A kernel computes with f32 numbers unless an operand is f64.
  for (const auto& [arg, value] : call.attrs().given())
    if (const double* d = value.get<double>(); d && !is_double && round_to(DType::f32, *d) != *d)
      return {};
  const Result<NodeId> n = g.add_node(spec);
  if (!n.ok() || g.type(g.node(*n).out(0)).dtype != y.dtype) return {};
  std::vector<const Array*> in;
  for (size_t k = 0; k < arrays.size(); ++k)
    in.push_back(spec.inputs[k].valid() ? &arrays[k] : nullptr);
  const Result<Arrays> out = (*call.def().reference)(RunView(g.view(*n)), in);
  if (!out.ok() || out->empty() || (*out)[0].numel() != 1) return {};
  return number_of((*out)[0]);
}

}  // namespace cleave
