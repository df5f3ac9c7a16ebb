#include "test/sample/sample_call.h"

#include <cmath>
#include <set>

#include "ir/text.h"
#include "op/registry.h"

namespace cleave::law {

SampleTensor with_floats(SampleTensor t, Floats floats) {
  if (floats == Floats::f64 && is_floating(t.type.dtype)) t.type.dtype = DType::f64;
  return t;
}

AttrValue with_floats(AttrValue v, Floats floats) {
  const DType* t = v.get<DType>();
  return floats == Floats::f64 && t && is_floating(*t) ? AttrValue(DType::f64) : v;
}

namespace {

constexpr int64_t symbol_value = 3;  // what symbols in a sample's types stand for

class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}
  uint64_t bits() {  // splitmix64
    uint64_t z = state_ += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  double unit() { return static_cast<double>(bits() >> 11) * 0x1p-53; }

 private:
  uint64_t state_;
};

int64_t concrete(const Dim& d) {
  return *d.eval([](const std::string&) { return std::optional<int64_t>(symbol_value); });
}

void replace_all(std::string& text, const std::string& from, const std::string& to) {
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
    text.replace(at, from.size(), to);
}

// The operators of subgraphs.
const OpRegistry& sample_ops() {
  static const OpRegistry ops = value_or_throw(core_ops());
  return ops;
}

struct Adder {
  Graph& g;
  const OpDef& op;
  const std::string& prefix;
  uint64_t seed;
  Floats floats;
  Arrays& inputs;
  NodeSpec spec = {};
  std::vector<ValueId> operands = {};

  Status add_symbols(const Type& t) {
    std::vector<std::string> symbols;
    for (const Dim& d : t.shape) d.collect_symbols(symbols);
    for (const std::string& s : symbols) {
      if (g.find(s).valid()) continue;
      CLEAVE_CHECK(g.add_placeholder(Role::symint, s, {}).ok() ? Status() : bug("symint {}", s));
      inputs.push_back(Array(DType::i64, {}));
      inputs.back().i[0] = symbol_value;
    }
    return {};
  }

  Status add_tensor(const std::string& name, SampleTensor t) {
    t = with_floats(std::move(t), floats);
    CLEAVE_CHECK(add_symbols(t.type));
    const Role role = name == "rng" ? Role::rng_state : Role::input;
    CLEAVE_TRY(ValueId v, g.add_placeholder(role, prefix + "." + name, t.type));
    inputs.push_back(sample_array(t, seed + 7919 * operands.size()));
    operands.push_back(v);
    spec.inputs.push_back(v);
    return {};
  }

  Status add_operand(uint16_t arg, const SampleOperand* operand) {
    const ArgDef& def = op.schema.args[arg];
    if (def.list) {
      spec.list_size = operand ? static_cast<uint32_t>(operand->tensors.size()) : 0;
      for (size_t k = 0; k < spec.list_size; ++k) {
        if (operand->tensors[k].type.is_none)
          spec.inputs.push_back(ValueId::none());
        else
          CLEAVE_CHECK(add_tensor(fmt::format("{}.{}", def.name, k), operand->tensors[k]));
      }
    } else if (!operand || operand->is_none) {
      spec.inputs.push_back(ValueId::none());
    } else if (!operand->number.is_none()) {
      spec.inputs.push_back(ValueId::number());
      spec.attrs.set(arg, operand->number);
    } else {
      CLEAVE_CHECK(add_tensor(def.name, operand->tensors[0]));
    }
    return {};
  }
};

}  // namespace

Result<AttrValue> sample_attr(const OpDef& op, const std::string& name, const AttrValue& value,
                              Floats floats, const std::string& prefix) {
  const int arg = op.schema.find(name);
  if (arg < 0) return bug("{}: a sample gives no attribute of the signature: {}", op.name, name);
  const std::string* given = value.get<std::string>();
  if (op.schema.args[static_cast<size_t>(arg)].kind != ArgKind::graph || !given)
    return with_floats(value, floats);
  std::string text = *given;
  replace_all(text, "@", fmt::format("@{}.{}.", prefix, name));
  if (floats == Floats::f64)
    for (const char* narrow : {"bf16", "f16", "f32"}) {
      replace_all(text, fmt::format("{}[", narrow), "f64[");
      replace_all(text, fmt::format("dtype={}", narrow), "dtype=f64");
    }
  CLEAVE_TRY(Program p, parse(text, op.name, sample_ops()));
  return AttrValue(GraphRef(std::make_shared<const Graph>(std::move(p.main))));
}

uint64_t seed_of(const std::string& text) {
  uint64_t h = 0xcbf29ce484222325u;  // FNV-1a
  for (unsigned char c : text) h = (h ^ c) * 0x100000001b3u;
  return h;
}

Array sample_array(const SampleTensor& t, uint64_t seed) {
  std::vector<int64_t> shape;
  for (const Dim& d : t.type.shape) shape.push_back(concrete(d));
  Array a(t.type.dtype, shape);
  Random random(seed);
  for (int64_t k = 0; k < a.numel(); ++k) {
    double u = random.unit();
    if (t.distinct > 0) u = std::floor(u * t.distinct) / t.distinct;
    double x = t.lo + u * (t.hi - t.lo);
    if (!t.values.empty())
      x = t.values[static_cast<size_t>(k) % t.values.size()];
    else if (!a.floating())
      x = std::floor(x);
    a.set(k, round_to(a.dtype, x));
  }
  return a;
}

Array random_weights(const Type& type, uint64_t seed) {
  Array a(type.dtype, static_shape(type));
  Random random(seed);
  for (int64_t k = 0; k < a.numel(); ++k) {
    const double magnitude = 0.25 + 0.75 * random.unit();
    a.set(k, random.bits() & 1 ? magnitude : -magnitude);
  }
  return a;
}

bool is_static(const Sample& sample) {
  for (const SampleOperand& operand : sample.operands)
    for (const SampleTensor& t : operand.tensors)
      if (!t.type.is_none && !t.type.is_static()) return false;
  return true;
}

Result<SampleCall> add_sample(Graph& g, const OpDef& op, const Sample& sample, size_t index,
                              Floats floats, const std::string& prefix, Arrays& inputs) {
  if (sample.operands.size() > op.schema.operands.size())
    return bug("{}: sample {} has {} operands, the signature {}", op.name, index,
               sample.operands.size(), op.schema.operands.size());
  Adder adder{g, op, prefix, seed_of(fmt::format("{} {}", op.name, index)), floats, inputs};
  for (size_t k = 0; k < op.schema.operands.size(); ++k)
    CLEAVE_CHECK(adder.add_operand(op.schema.operands[k],
                                   k < sample.operands.size() ? &sample.operands[k] : nullptr));
  adder.spec.op = &op;
  for (const auto& [name, value] : sample.attrs) {
    const int arg = op.schema.find(name);
    if (arg < 0)
      return bug("{}: sample {} gives no attribute of the signature: {}", op.name, index, name);
    CLEAVE_TRY(AttrValue made, sample_attr(op, name, value, floats, prefix));
    adder.spec.attrs.set(static_cast<uint16_t>(arg), std::move(made));
  }
  CLEAVE_TRY(NodeId node, g.add_node(std::move(adder.spec)));
  return SampleCall{node, std::move(adder.operands)};
}

std::string difference(const Array& got, const Array& want, double tolerance) {
  const auto text = [](const Array& a) {
    return Type(a.dtype, Shape(a.shape.begin(), a.shape.end())).text();
  };
  if (got.dtype != want.dtype || got.shape != want.shape)
    return fmt::format("is {}, expected {}", text(got), text(want));
  double scale = 1;
  for (double x : want.f)
    if (std::isfinite(x)) scale = std::max(scale, std::fabs(x));
  for (int64_t k = 0; k < want.numel(); ++k) {
    if (!want.floating()) {
      if (got.i[k] != want.i[k])
        return fmt::format("element {} is {}, expected {}", k, got.i[k], want.i[k]);
      continue;
    }
    const double a = got.f[k], b = want.f[k];
    if (std::isnan(a) && std::isnan(b)) continue;
    if (a == b || std::fabs(a - b) <= tolerance * scale) continue;
    return fmt::format("element {} is {}, expected {} within {}", k, a, b, tolerance * scale);
  }
  return "";
}

}  // namespace cleave::law
