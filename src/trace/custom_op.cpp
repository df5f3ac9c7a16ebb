// Adapts custom operators: wraps their rules, which use HostTensors and Tensors, as the rules of a
// registry entry, which use Arrays, Builders and C text.
#include <algorithm>
#include <cctype>

#include "base/host_call.h"
#include "ir/builder.h"
#include "ir/changed_operand.h"
#include "ir/lex.h"
#include "ir/op_view.h"
#include "loop/lower_rule.h"
#include "op/registry.h"
#include "trace/changed_operands.h"
#include "trace/custom_op.h"
#include "trace/record.h"

namespace cleave {
namespace trace {

const OpRegistry& core_registry() {
  static const OpRegistry ops = value_or_bug(core_ops());
  return ops;
}

}  // namespace trace

namespace {

TensorType public_type(const Type& t) { return {t.dtype, static_shape(t)}; }

Status require_static(const OpView& op) {
  for (const Type* t : op.types())
    if (t != nullptr && !t->is_static())
      return unsupported("{}: an operator of the host program, which takes no symbolic sizes: {}",
                         op.name(), t->text());
  return {};
}

// Those that aren't operands that the operator changes.
int declared_results(const Schema& schema) {
  int count = 0;
  for (int k = 0; k < schema.results; ++k) count += changed_operand(schema, k) < 0;
  return count;
}

Result<Types> infer_types(const Operator& def, const OpView& op) {
  CLEAVE_CHECK(require_static(op));
  return host_call<Types>(def.name + ": infer", [&] {
    Types types;
    for (const TensorType& t : def.infer(OpCall(op)))
      types.emplace_back(t.dtype, Shape(t.shape.begin(), t.shape.end()));
    const Schema& schema = op.def().schema;
    const int declared = declared_results(schema);
    if (std::ssize(types) != declared)
      OpCall(op).refuse("infer", fmt::format("{} types for {} results", types.size(), declared));
    for (int k = declared; k < schema.results; ++k) {
      const Type& t = op.in_type(changed_operand(schema, k));
      types.emplace_back(t.dtype, t.shape);
    }
    return types;
  });
}

HostTensor host_of(const Array& a) {
  HostTensor t(a.floating() ? DType::f64 : DType::i64, a.shape);
  if (a.floating())
    std::copy(a.f.begin(), a.f.end(), t.data<double>());
  else
    std::copy(a.i.begin(), a.i.end(), t.data<int64_t>());
  return t;
}

// A reference may replace results, by some of the same types.
void require_types(const OpView& op, const HostTensors& got, const HostTensors& expected) {
  if (got.size() != expected.size())
    OpCall(op).refuse("reference",
                      fmt::format("it left {} results, expected {}", got.size(), expected.size()));
  for (size_t k = 0; k < got.size(); ++k)
    if (got[k].dtype() != expected[k].dtype() || got[k].shape() != expected[k].shape())
      OpCall(op).refuse("reference", fmt::format("result {} is {}, expected {}", k,
                                                 got[k].type_text(), expected[k].type_text()));
}

Result<Arrays> run_reference(const Operator& def, const OpView& op,
                             std::span<const Array* const> in) {
  return host_call<Arrays>(def.name + ": reference", [&] {
    HostTensors operands, results;
    for (const Array* a : in) operands.push_back(a != nullptr ? host_of(*a) : HostTensor());
    for (int k = 0; k < op.out_count(); ++k) {
      const int changed = changed_operand(op.def().schema, k);
      const DType wide = is_floating(op.out_type(k).dtype) ? DType::f64 : DType::i64;
      results.push_back(changed < 0 ? HostTensor(wide, static_shape(op.out_type(k)))
                                    : host_of(*in[static_cast<size_t>(changed)]));
    }
    const HostTensors expected = results;
    def.reference(OpCall(op), operands, results);
    require_types(op, results, expected);
    for (HostTensor& t : results)
      if (!t.is_row_major()) t = t.contiguous();
    Arrays out;
    for (int k = 0; k < op.out_count(); ++k) {
      Array a(op.out_type(k).dtype, static_shape(op.out_type(k)));
      for (int64_t i = 0; i < a.numel(); ++i) {
        if (a.floating())
          a.set(i, results[k].data<double>()[i]);
        else
          a.set_int(i, results[k].data<int64_t>()[i]);
      }
      out.push_back(std::move(a));
    }
    return out;
  });
}

Result<Values> record_gradient(const Operator& def, Builder& b, const GradView& op) {
  return host_call<Values>(def.name + ": grad", [&] {
    const trace::RecordingPtr r = trace::Recording::borrowed(b);
    const trace::AbandonAtEnd over{*r};
    const auto tensor = [&](ValueId v) {
      return v.valid() ? trace::Access::tensor(r, v) : Tensor();
    };
    Tensors operands, results, cotangents;
    for (int k = 0; k < op.operand_count(); ++k) operands.push_back(tensor(op.in(k)));
    for (int k = 0; k < op.out_count(); ++k) {
      results.push_back(tensor(op.out(k)));
      cotangents.push_back(tensor(op.dout(k)));
    }
    const OpGradCall call(op, operands, results, cotangents);
    const Tensors grads = def.grad(call);
    if (static_cast<int>(grads.size()) != op.operand_count())
      call.refuse("grad",
                  fmt::format("{} gradients for {} operands", grads.size(), op.operand_count()));
    Values out = op.no_grads();
    for (int k = 0; k < op.operand_count(); ++k) {
      if (!grads[k].defined() || !op.has(k)) continue;
      const ValueId v = r->value_of(grads[k], Location::current());
      if (b.type(v) != b.type(op.in(k)))
        call.refuse("grad", fmt::format("operand {} is {}, its gradient {}", k,
                                        b.type(op.in(k)).text(), b.type(v).text()));
      out[op.flat(k)] = v;
    }
    return out;
  });
}

const char* c_type(DType t) {
  switch (t) {
    case DType::f64: return "double";
    case DType::f32: return "float";
    case DType::bf16:
    case DType::f16: return "unsigned short";
    case DType::i64: return "long";
    case DType::i32: return "int";
    case DType::i16: return "short";
    case DType::i8: return "signed char";
    case DType::u8:
    case DType::boolean: return "unsigned char";
    case DType::c64: return "float";
  }
  return "void";
}

// In the C text: "-> (Tensor values, Tensor)" gives values and result1.
std::vector<std::string> result_names(const Schema& schema) {
  std::vector<std::string> names = schema.result_names;
  for (size_t k = 0; k < names.size(); ++k)
    if (names[k].empty()) names[k] = fmt::format("result{}", k);
  return names;
}

Result<loop::CustomOpCode> code_of(const Operator& def, const OpView& op) {
  return host_call<loop::CustomOpCode>(def.name + ": kernel", [&] {
    loop::CustomOpCode code;
    if (def.callback) {
      auto types = std::make_shared<OpMemory::Types>();
      for (int k = 0; k < op.operand_count(); ++k)
        types->operands.push_back(op.has(k) ? public_type(op.in_type(k)) : TensorType());
      for (int k = 0; k < op.out_count(); ++k)
        types->results.push_back(public_type(op.out_type(k)));
      const auto run = def.callback(OpCall(op));
      if (!run) OpCall(op).refuse("callback", "it returned an empty function");
      code.call = [types, run](void* const* in, void* const* out) {
        run(OpMemory(*types, in, out));
      };
      return code;
    }
    code.symbol = "operator_" + def.name;
    std::string& text = code.c_text;
    text = fmt::format(
        "void {}(void* const* cleave_in, void* const* cleave_out, const long* cleave_sizes) {{\n",
        code.symbol);
    const Schema& schema = op.def().schema;
    const std::vector<std::string> names = result_names(schema);
    const auto is_taken = [&](const std::string& name) {
      return schema.find(name) >= 0 || std::ranges::count(names, name) > 0;
    };
    const auto declare = [&](const Type& t, const std::string& qualifier, const std::string& name,
                             const std::string& from) {
      text += fmt::format("  {}{}* {} = {};\n", qualifier, c_type(t.dtype), name, from);
      if (const std::string size = name + "_size"; !is_taken(size))
        text += fmt::format("  const long* {} = cleave_sizes + {};\n", size, code.sizes.size());
      const std::vector<int64_t> shape = static_shape(t);
      code.sizes.insert(code.sizes.end(), shape.begin(), shape.end());
    };
    std::vector<bool> is_changed(static_cast<size_t>(op.operand_count()));
    for (int k = 0; k < op.out_count(); ++k)
      if (const int operand = changed_operand(schema, k); operand >= 0) is_changed[operand] = true;
    for (int k = 0; k < op.operand_count(); ++k)
      if (op.has(k))
        declare(op.in_type(k), is_changed[k] ? "" : "const ", schema.args[schema.operands[k]].name,
                fmt::format("cleave_in[{}]", k));
    for (int k = 0; k < op.out_count(); ++k)
      if (changed_operand(schema, k) < 0)
        declare(op.out_type(k), "", names[k], fmt::format("cleave_out[{}]", k));
    // Messages of the compiler then have the host program's own lines.
    text += fmt::format("#line 1 \"kernel of {}\"\n{}\n}}\n", def.name, def.kernel(OpCall(op)));
    return code;
  });
}

Cost moved_bytes(const OpView& op) {
  Cost cost;
  const auto count = [&](const Type& t) {
    cost.bytes += op.env().hint_of(t.numel()) * size_of(t.dtype);
  };
  for (const Type* t : op.types())
    if (t != nullptr) count(*t);
  for (int k = 0; k < op.out_count(); ++k) count(op.out_type(k));
  return cost;
}

Slot<GradFn> gradient_slot(const std::shared_ptr<const Operator>& def) {
  if (!def->grad) return Absent{"Operator::grad is not set"};
  return GradFn([def](Builder& b, const GradView& op) -> Values {
    Result<Values> grads = record_gradient(*def, b, op);
    if (grads.ok()) return *std::move(grads);
    b.fail(std::move(grads).failure());
    return op.no_grads();
  });
}

OpDef entry_of(const Operator& op, const std::string& signature) {
  const auto def = std::make_shared<const Operator>(op);
  return OpDef{
      .name = op.name,
      .signature = signature,
      .summary = op.summary,
      .source = "the host program",
      .version = op.version,
      .traits = Trait::none,
      .infer = [def](const OpView& v) { return infer_types(*def, v); },
      .reference = [def](const OpView& v,
                         std::span<const Array* const> in) { return run_reference(*def, v, in); },
      .decompose = Absent{"an operator of the host program"},
      .grad = gradient_slot(def),
      .lower = loop::foreign({[def](const OpView& v) { return code_of(*def, v); }}),
      .cost = moved_bytes,
  };
}

void require_index(const char* what, int64_t k, int64_t count) {
  if (k < 0 || k >= count) throw_failure(user_error("{} {} is outside [0, {})", what, k, count));
}

// As an identifier of C: its kernel is a function, and its results have names made of it.
bool is_operator_name(const std::string& name) {
  return is_name(name) && std::isdigit(static_cast<unsigned char>(name[0])) == 0 &&
         name.find_first_of("./-") == std::string::npos;
}

// The view, whose operator must have the attribute.
const OpView& view_of_attr(const OpView& view, const std::string& name) {
  const Schema& schema = view.def().schema;
  if (const int arg = schema.find(name); arg < 0 || schema.args[arg].is_operand())
    throw_failure(
        user_error("{}: it has no attribute {}: {}", view.name(), name, view.def().signature));
  return view;
}

}  // namespace

const TensorType& OpMemory::of(const char* what, const std::vector<TensorType>& types, int k) {
  require_index(what, k, std::ssize(types));
  return types[k];
}
const Tensor& OpGradCall::of(const char* what, const Tensors& tensors, int k) {
  require_index(what, k, std::ssize(tensors));
  return tensors[k];
}
void OpMemory::refuse_type(const char* what, int k, DType given, DType asked) {
  throw_failure(
      user_error("{} {} is {}, and was asked for as {}", what, k, name_of(given), name_of(asked)));
}

Operators::Operators() = default;

const OpRegistry& Operators::registry() const {
  return registry_ != nullptr ? *registry_ : trace::core_registry();
}

void Operators::add(const Operator& op) {
  const auto refuse = [&](const std::string& what) {
    throw_failure(user_error("Operators: add: {}: {}", op.name, what));
  };
  if (!is_operator_name(op.name))
    throw_failure(user_error(
        "Operators: add: the name `{}`: expected letters, digits and _, and no digit first",
        op.name));
  if (!op.infer) refuse("infer is missing");
  if (!op.reference) refuse("reference is missing");
  if (!op.kernel == !op.callback) refuse("expected either kernel or callback");
  const Result<trace::FunctionalSignature> signature = trace::functional_signature(op.signature);
  if (!signature.ok()) refuse(signature.failure().message);
  const Result<Schema> schema = parse_schema(signature->declared);
  if (!schema.ok())
    throw_failure(user_error("Operators: add: {}: {}", op.name, schema.failure().message));
  if (schema->list_operand >= 0 || schema->results < 0)
    refuse("lists of tensors are not taken: name each operand and result");
  if (schema->results == 0 && signature->functional == signature->declared)
    refuse("it has no result, and changes no operand");
  const std::vector<std::string> results = result_names(*schema);
  for (const std::string& name : results) {
    const int arg = schema->find(name);
    const bool is_operand = arg >= 0 && schema->args[arg].is_operand();
    if (op.kernel && (is_operand || std::ranges::count(results, name) > 1))
      refuse(fmt::format("two of the kernel's pointers are named `{}`", name));
    if (is_operand)
      refuse(
          fmt::format("a result has the name of operand `{0}`, which is for operands that are "
                      "changed: Tensor(a!) {0}",
                      name));
  }
  auto grown = std::make_shared<OpRegistry>(registry());
  if (Status added = grown->add(entry_of(op, signature->functional)); !added.ok())
    throw_failure(user_error("Operators: add: {}", added.failure().message));
  registry_ = std::move(grown);
}

std::vector<std::string> Operators::names() const {
  std::vector<std::string> out;
  for (const auto& def : registry().all()) out.push_back(def->name);
  return out;
}

int OpCall::operand_count() const { return view_->operand_count(); }
bool OpCall::has(int operand) const {
  require_index("operand", operand, view_->operand_count());
  return view_->has(operand);
}
TensorType OpCall::operand(int k) const {
  require_index("operand", k, view_->operand_count());
  return public_type(view_->in_type(k));
}
TensorType OpCall::result(int k) const {
  require_index("result", k, view_->out_count());
  return public_type(view_->out_type(k));
}
bool OpCall::bool_attr(const std::string& name) const {
  return view_of_attr(*view_, name).bool_attr(name);
}
int64_t OpCall::int_attr(const std::string& name) const {
  return view_of_attr(*view_, name).int_attr(name);
}
double OpCall::float_attr(const std::string& name) const {
  return view_of_attr(*view_, name).float_attr(name);
}
std::string OpCall::string_attr(const std::string& name) const {
  const OpView& view = view_of_attr(*view_, name);
  if (!view.attr(name).get<std::string>())
    throw_failure(
        user_error("{}: attribute {} is {}, no string", view.name(), name, view.attr(name).text()));
  return view.str_attr(name);
}
std::vector<int64_t> OpCall::ints_attr(const std::string& name) const {
  return view_of_attr(*view_, name).ints_attr(name);
}
void OpCall::refuse(const std::string& rule, const std::string& text) const {
  throw_failure(user_error("{}: {}: {}", view_->name(), rule, text));
}

}  // namespace cleave
