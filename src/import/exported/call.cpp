#include "import/exported/call.h"

#include <algorithm>
#include <set>

#include "base/printable.h"

namespace cleave::exported {

using Kind = Argument::Kind;

namespace {

// As large as a dim may be, so that sums of a few don't overflow.
constexpr int64_t largest_integer = int64_t{1} << 47;

// Arguments that mean nothing here: where memory lies, and what only another value of would change.
bool is_ignored(const NamedArgument& a) {
  static const std::set<std::string_view> names = {
      "layout",        "device",    "pin_memory", "non_blocking", "generator",
      "cudnn_enabled", "benchmark", "sparse",     "sparse_grad",  "scale_grad_by_freq"};
  if (!names.contains(a.name)) return false;
  const bool must_be_off = a.name == "scale_grad_by_freq";
  return !must_be_off || a.value.number == 0;
}

bool is_small(const Dim& d) {
  return d.is_const() && d.value() >= -largest_integer && d.value() <= largest_integer;
}

}  // namespace

const Argument* Call::find(std::string_view name) const {
  for (const NamedArgument& a : node_.inputs)
    if (a.name == name) return &a.value;
  return nullptr;
}

bool Call::has(std::string_view name) const {
  const Argument* a = find(name);
  return a && a->kind != Kind::none;
}

bool Call::has_tensor(std::string_view name) const {
  const Argument* a = find(name);
  return a && a->kind == Kind::tensor;
}

ValueId Call::maybe_tensor(std::string_view name) {
  if (!has(name) || !ok()) return ValueId::none();
  const Argument* a = find(name);
  if (a->kind != Kind::tensor) return fail("the argument {} is no tensor", name);
  return tensor_named(a->text);
}

// None and an error if the file has no such value.
ValueId Call::tensor_named(const std::string& name) {
  Result<ValueId> v = context_.tensor(name);
  if (!v.ok()) {
    b_.fail(std::move(v).failure());
    return ValueId::none();
  }
  const DType t = type(*v).dtype;
  const bool is_narrow = t == DType::f16 || t == DType::bf16;
  return in_f32_ && is_narrow ? to(*v, DType::f32) : *v;
}

ValueId Call::tensor(const Argument& a) {
  if (a.kind != Kind::tensor) return fail("an argument that is no tensor");
  return ok() ? tensor_named(a.text) : ValueId::none();
}

ValueId Call::tensor(std::string_view name) {
  if (!has(name)) return fail("the argument {} is missing", name);
  return maybe_tensor(name);
}

Values Call::tensors(std::string_view name) {
  Values out;
  const Argument* a = find(name);
  if (!a || a->kind != Kind::list) {
    fail("the argument {} is no list of tensors", name);
    return out;
  }
  for (const Argument& item : a->items) {
    if (item.kind == Kind::none) {
      out.push_back(ValueId::none());
      continue;
    }
    if (item.kind != Kind::tensor) fail("the argument {} is no list of tensors", name);
    if (!ok()) return out;
    out.push_back(tensor_named(item.text));
  }
  return out;
}

AttrValue Call::value(const Argument& a) {
  switch (a.kind) {
    case Kind::none: return {};
    case Kind::integer: return AttrValue(a.number);
    case Kind::floating: return AttrValue(a.floating);
    case Kind::boolean: return AttrValue(a.number != 0);
    case Kind::text:
    case Kind::device: return AttrValue(a.text);
    case Kind::symbol: {
      Result<AttrValue> v = context_.symbol(a.text);
      if (v.ok()) return *std::move(v);
      b_.fail(std::move(v).failure());
      return {};
    }
    case Kind::dtype:
      if (const auto t = dtype_of_code(a.number)) return AttrValue(*t);
      fail("the dtype with code {}", a.number);
      return {};
    case Kind::memory_format:
      switch (a.number) {
        case 1: return AttrValue(MemoryFormat::contiguous);
        case 2: return AttrValue(MemoryFormat::channels_last);
        case 3: return AttrValue(MemoryFormat::channels_last_3d);
        case 4: return AttrValue(MemoryFormat::preserve);
        default: fail("the memory format with code {}", a.number); return {};
      }
    case Kind::list: {
      AttrList list;
      for (const Argument& item : a.items) list.push_back(value(item));
      return AttrValue(std::move(list));
    }
    case Kind::tensor:
    case Kind::layout:
    case Kind::graph: break;
    case Kind::complex: fail("a complex number among real ones"); return {};
    case Kind::refused: fail("an argument that is {}", a.text); return {};
  }
  fail("an argument that is no number, flag or text");
  return {};
}

AttrValue Call::value(std::string_view name, AttrValue otherwise) {
  return has(name) ? value(*find(name)) : otherwise;
}

int64_t Call::integer(std::string_view name, int64_t otherwise) {
  const AttrValue v = value(name, otherwise);
  if (const Dim* d = v.get<Dim>(); d && is_small(*d)) return d->value();
  if (const bool* on = v.get<bool>()) return *on;
  fail("the argument {} is {}, expected an integer that is known", name, v.text());
  return otherwise;
}

double Call::floating(std::string_view name, double otherwise) {
  const AttrValue v = value(name, otherwise);
  if (const Dim* d = v.get<Dim>(); v.is_number() && (!d || d->is_const())) return v.as_double();
  fail("the argument {} is {}, expected a number that is known", name, v.text());
  return otherwise;
}

bool Call::flag(std::string_view name, bool otherwise) {
  const AttrValue v = value(name, otherwise);
  if (const bool* on = v.get<bool>()) return *on;
  return integer(name, otherwise) != 0;
}

std::string Call::text(std::string_view name, const std::string& otherwise) {
  const AttrValue v = value(name, otherwise);
  if (const auto* s = v.get<std::string>()) return *s;
  fail("the argument {} is no text", name);
  return otherwise;
}

std::vector<int64_t> Call::integers(std::string_view name, std::vector<int64_t> otherwise) {
  if (!has(name)) return otherwise;
  std::vector<int64_t> out;
  for (const Dim& d : sizes(name)) {
    if (!is_small(d))
      fail("the argument {} has {}, expected integers that are known", name, d.text());
    out.push_back(is_small(d) ? d.value() : 1);
  }
  return out;
}

Shape Call::sizes(std::string_view name) {
  const AttrValue v = value(name);
  if (const Dim* d = v.get<Dim>()) return {*d};
  Shape out;
  const AttrList* list = v.get<AttrList>();
  if (!list) fail("the argument {} is no list of integers", name);
  for (size_t k = 0; list && k < list->size(); ++k) {
    const Dim* d = (*list)[k].get<Dim>();
    if (!d) fail("the argument {} is no list of integers", name);
    out.push_back(d ? *d : Dim(1));
  }
  return out;
}

std::optional<DType> Call::dtype(std::string_view name) {
  const AttrValue v = value(name);
  if (const DType* t = v.get<DType>()) return *t;
  return std::nullopt;
}

const TensorMeta* Call::meta(const Argument& a) const {
  return a.kind == Kind::tensor && context_.meta ? context_.meta(a.text) : nullptr;
}

bool Call::is_complex(const Argument& a) const {
  const TensorMeta* m = meta(a);
  return (m && m->is_complex) || a.kind == Kind::complex ||
         std::ranges::any_of(a.items, [this](const Argument& item) { return is_complex(item); });
}

bool Call::is_complex(std::string_view name) const {
  const Argument* a = find(name);
  return a && is_complex(*a);
}

void Call::show_whole(ValueId parts) {
  if (!parts.valid() || !ok()) return;
  Type t = b_.type(parts);
  if (!t.shape.empty()) t.shape.pop_back();
  shown_.insert_or_assign(parts.v, std::move(t));
}

const Type& Call::type(ValueId v) const {
  static const Type nothing;
  if (const auto at = shown_.find(v.v); v.valid() && at != shown_.end()) return at->second;
  return v.valid() && !v.is_number() ? b_.type(v) : nothing;
}

int64_t Call::wrapped(int64_t dim, int64_t rank) {
  const int64_t at = dim < 0 ? dim + rank : dim;
  if (at >= 0 && at < rank) return at;
  if (rank == 0 && (dim == 0 || dim == -1)) return 0;
  fail("dim {} of a tensor of rank {}", dim, rank);
  return 0;
}

Dim Call::size(ValueId v, int64_t dim) {
  const Shape& shape = type(v).shape;
  const int64_t at = wrapped(dim, rank(v));
  return at < std::ssize(shape) ? shape[static_cast<size_t>(at)] : Dim(1);
}

int64_t Call::static_size(ValueId v, int64_t dim) {
  const Dim d = size(v, dim);
  if (!d.is_const()) fail("a dim of size {} in the place of one that is known", d.text());
  return d.is_const() ? d.value() : 1;
}

Result<Values> Call::direct(const OpDef& op) {
  std::vector<CallOperand> operands;
  NamedAttrs attrs;
  for (const ArgDef& arg : op.schema.args) {
    const Argument* given = find(arg.name);
    const bool is_tensor = given && (given->kind == Kind::tensor || given->kind == Kind::list);
    if (arg.is_operand()) {
      const ValueId item =
          given && given->kind == Kind::symbol ? context_.item(given->text) : ValueId::none();
      if (arg.list)
        operands.emplace_back(tensors(arg.name));
      else if (item.valid())
        operands.emplace_back(item);
      else if (given && given->kind != Kind::none && !is_tensor)
        operands.emplace_back(value(*given));
      else
        operands.emplace_back(maybe_tensor(arg.name));
    } else if (given && given->kind != Kind::none && arg.name != "device") {
      AttrValue v = value(*given);
      if (!arg.has_default || !(v == arg.default_value)) attrs.emplace_back(arg.name, std::move(v));
    }
    CLEAVE_CHECK(b_.status());
  }
  for (const NamedArgument& a : node_.inputs)
    if (op.schema.find(a.name) < 0 && a.value.kind != Kind::none && !is_ignored(a))
      return unsupported("its argument {} is not covered", printable(a.name));
  Values results = ops(op.name, std::move(operands), std::move(attrs));
  CLEAVE_CHECK(b_.status());
  return results;
}

ValueId Call::op(const std::string& name, std::vector<CallOperand> operands, NamedAttrs attrs) {
  return ok() ? b_.call1(name, std::move(operands), std::move(attrs)) : ValueId::none();
}

Values Call::ops(const std::string& name, std::vector<CallOperand> operands, NamedAttrs attrs) {
  return ok() ? b_.call(name, std::move(operands), std::move(attrs)) : Values();
}

ValueId Call::to(ValueId x, DType t) {
  return type(x).dtype == t ? x : op("_to_copy", {x}, {{"dtype", t}});
}

ValueId Call::view(ValueId x, Shape size) {
  return type(x).shape == size ? x : op("view", {x}, {{"size", size}});
}

ValueId Call::permute(ValueId x, std::vector<int64_t> dims) {
  return op("permute", {x}, {{"dims", dims}});
}

ValueId Call::rng() {
  if (!ok()) return ValueId::none();
  Result<ValueId> v = context_.rng();
  if (v.ok()) return *v;
  b_.fail(std::move(v).failure());
  return ValueId::none();
}

void Call::write(std::string_view name, ValueId value) {
  const Argument* a = find(name);
  if (!a || a->kind != Kind::tensor) fail("the argument {} is no tensor", name);
  if (!ok()) return;
  if (Status s = context_.write(a->text, value); !s.ok()) b_.fail(std::move(s).failure());
}

}  // namespace cleave::exported
