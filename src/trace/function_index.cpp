// Indexing; constants; conversions; calls of any operator by name.
#include <fmt/format.h>

#include "trace/record.h"
#include "trace/tracing.h"

namespace cleave {

using trace::attr_of;
using trace::record1;
using trace::require_defined;

Tensor gather(const Tensor& self, int64_t dim, const Tensor& index, Location at) {
  require_defined("gather", "self", self, at);
  require_defined("gather", "index", index, at);
  return record1("gather", {self, index}, {{"dim", dim}}, at);
}

Tensor index_select(const Tensor& self, int64_t dim, const Tensor& index, Location at) {
  require_defined("index_select", "self", self, at);
  require_defined("index_select", "index", index, at);
  return record1("index_select", {self, index}, {{"dim", dim}}, at);
}

Tensor scatter(const Tensor& self, int64_t dim, const Tensor& index, const Operand& src,
               Location at) {
  require_defined("scatter", "self", self, at);
  require_defined("scatter", "index", index, at);
  if (src.is_number())
    return record1("scatter", {self, index}, {{"dim", dim}, {"value", attr_of(src.number())}}, at);
  return record1("scatter", {self, index, src}, {{"dim", dim}}, at);
}

Tensor scatter_add(const Tensor& self, int64_t dim, const Tensor& index, const Tensor& src,
                   Location at) {
  require_defined("scatter_add", "self", self, at);
  require_defined("scatter_add", "index", index, at);
  require_defined("scatter_add", "src", src, at);
  return record1("scatter_add", {self, index, src}, {{"dim", dim}}, at);
}

Tensor index(const Tensor& self, const Tensors& indices, Location at) {
  require_defined("index", "self", self, at);
  return record1("index", {self, indices}, {}, at);
}

Tensor one_hot(const Tensor& self, int64_t num_classes, Location at) {
  require_defined("one_hot", "self", self, at);
  if (is_floating(self.dtype()) || self.dtype() == DType::boolean)
    trace::refuse(at, "one_hot: self is {}, expected an integer dtype", self.type_text());
  if (num_classes < 1)
    trace::refuse(at, "one_hot: num_classes is {}, expected at least 1", num_classes);
  constexpr int64_t ignored = std::numeric_limits<int64_t>::min();  // no index
  const Tensor index = trace::record1(
      "class_index", {self},
      {{"classes", num_classes}, {"ignore_index", ignored}, {"what", std::string("one_hot")}}, at);
  const Tensor classes = arange(0, num_classes, 1, DType::i64, at);
  return to(eq(unsqueeze(index, -1, at), classes, at), DType::i64, at);
}

Tensor full(const Sizes& size, const Number& fill_value, DType dtype, Location at) {
  return trace::record_constant(
      "full", {{"size", size}, {"fill_value", attr_of(fill_value)}, {"dtype", dtype}}, at);
}
Tensor zeros(const Sizes& size, DType dtype, Location at) { return full(size, 0, dtype, at); }
Tensor ones(const Sizes& size, DType dtype, Location at) { return full(size, 1, dtype, at); }

Tensor full_like(const Tensor& self, const Number& fill_value, Location at) {
  require_defined("full_like", "self", self, at);
  return full(self.sizes(), fill_value, self.dtype(), at);
}
Tensor zeros_like(const Tensor& self, Location at) { return full_like(self, 0, at); }
Tensor ones_like(const Tensor& self, Location at) { return full_like(self, 1, at); }

Tensor arange(const Number& start, const Number& end, const Number& step,
              std::optional<DType> dtype, Location at) {
  NamedAttrs attrs{{"start", attr_of(start)}, {"end", attr_of(end)}, {"step", attr_of(step)}};
  if (dtype) attrs.emplace_back("dtype", *dtype);
  return trace::record_constant("arange", std::move(attrs), at);
}

Tensor constant(const HostTensor& value, Location) {
  return Variable("constant", value, VariableKind::constant);
}

Tensor to(const Tensor& self, DType dtype, Location at) {
  require_defined("to", "self", self, at);
  if (self.dtype() == dtype) return self;
  return record1("_to_copy", {self}, {{"dtype", dtype}}, at);
}

Tensor detach(const Tensor& self, Location at) {
  require_defined("detach", "self", self, at);
  return record1("detach", {self}, {}, at);
}

namespace {

// The program that `next` is recorded in, whose outermost function is to assign `target`.
trace::RecordingPtr assigning(const std::string& target, const Tensor& next, Location at) {
  require_defined("assign", "next", next, at);
  trace::RecordingPtr r = trace::common_recording("assign", {next}, at);
  if (r->is_free()) {  // made only of numbers and Variables: the program is the one being traced
    if (trace::tracing().program == nullptr)
      trace::refuse(at, "assign: no function is being traced; Variable::set() sets %{} at once",
                    target);
    r = trace::tracing().program->innermost();
  }
  if (r->is_subgraph())
    trace::refuse(at, "assign: %{} is assigned in {}; return the value, and assign it after",
                  target, r->what());
  return r;
}

void require_assigned_type(const std::string& target, DType dtype, const Sizes& shape,
                           const std::string& type, const Tensor& next, Location at) {
  if (dtype != next.dtype() || shape != next.sizes())
    trace::refuse(at, "assign: got {} for %{}, expected {}", next.type_text(), target, type);
}

}  // namespace

void assign(const Variable& target, const Tensor& next, Location at) {
  const trace::RecordingPtr r = assigning(target.name(), next, at);
  if (target.kind() == VariableKind::constant)
    trace::refuse(at, "assign: %{} is a constant, which no program changes; make it a buffer",
                  target.name());
  require_assigned_type(target.name(), target.dtype(), target.shape(),
                        trace::Access::host(target).type_text(), next, at);
  r->leaf(target, at);
  r->update(target, r->value_of(next, at));
}

void assign(const Tensor& target, const Tensor& next, Location at) {
  require_defined("assign", "target", target, at);
  if (const Variable& v = trace::Access::leaf(target); v.defined()) return assign(v, next, at);
  const trace::RecordingPtr& of = trace::Access::recording(target);
  const ValueId input = trace::Access::value(target);
  const std::string name = of->open() ? of->graph().name(input) : "target";
  const trace::RecordingPtr r = assigning(name, next, at);
  if (of != r)
    trace::refuse(at, "assign: %{} belongs to {}, not to {}", name, of->what(), r->what());
  if (r->graph().placeholder_of(input) == nullptr)
    trace::refuse(at, "assign: %{} is no input, but computed by the function", name);
  if (!r->may_update(input))
    trace::refuse(at, "assign: %{} is an input that is only read; set InputSpec::is_updated", name);
  require_assigned_type(name, target.dtype(), target.sizes(), target.type_text(), next, at);
  r->update(input, r->value_of(next, at));
}

namespace {

AttrValue attr_of(const Attribute& a) {
  if (const auto* n = std::get_if<Number>(&a.value())) return trace::attr_of(*n);
  if (const auto* s = std::get_if<std::string>(&a.value())) return {*s};
  if (const auto* d = std::get_if<DType>(&a.value())) return {*d};
  return {std::get<Sizes>(a.value())};
}

}  // namespace

Tensors call(const std::string& op, const std::vector<Operand>& operands,
             const Attributes& attributes, Location at) {
  std::vector<trace::Arg> args;
  for (const Operand& o : operands)  // an empty Tensor is an operand that isn't given
    o.is_number() ? args.emplace_back(o) : args.emplace_back(o.tensor());
  trace::RecordingPtr r = trace::common_recording(op, args, at);
  const OpDef* def = r->ops().find(op);
  // Of numbers and Variables alone: the program is the one being traced.
  if (def == nullptr && r->is_free() && trace::tracing().program != nullptr) {
    r = trace::tracing().program->innermost();
    def = r->ops().find(op);
  }
  if (def == nullptr) {
    const std::string nearest = r->ops().nearest(op);
    trace::refuse(
        at, "call: there is no operator {}{}; one of your own is given with CompileOptions::ops",
        op, nearest.empty() ? "" : fmt::format("; the nearest name is {}", nearest));
  }
  if (operands.size() > def->schema.operands.size())
    trace::refuse(at, "call: {} takes {} operand{}, got {}", op, def->schema.operands.size(),
                  def->schema.operands.size() == 1 ? "" : "s", operands.size());
  NamedAttrs attrs;
  for (const auto& [name, value] : attributes) {
    const int arg = def->schema.find(name);
    if (arg < 0 || def->schema.args[arg].is_operand())
      trace::refuse(at, "call: {} has no attribute {}: {}", op, name, def->signature);
    attrs.emplace_back(name, attr_of(value));
  }
  return trace::record_in(r, op, args, std::move(attrs), at);
}

}  // namespace cleave
