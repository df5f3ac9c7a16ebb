#include "ir/builder.h"

namespace cleave {

CallOperand::CallOperand(ValueId v) : values{v} {}
CallOperand::CallOperand(std::vector<ValueId> l) : values(std::move(l)), is_list(true) {}
CallOperand::CallOperand(double v) : number(v) {}
CallOperand::CallOperand(int v) : number(v) {}
CallOperand::CallOperand(bool v) : number(v) {}
CallOperand::CallOperand(AttrValue v) : number(std::move(v)) {}
CallOperand::CallOperand(const CallOperand& from) = default;
CallOperand::CallOperand(CallOperand&& from) noexcept = default;
CallOperand& CallOperand::operator=(const CallOperand& from) = default;
CallOperand& CallOperand::operator=(CallOperand&& from) noexcept = default;
CallOperand::~CallOperand() = default;

Builder::Builder(Graph& graph, const OpRegistry& ops) : graph_(graph), ops_(ops) {}
Builder::~Builder() = default;

void Builder::fail(Failure f) {
  if (status_.ok()) status_ = Status(std::move(f));
}

void Builder::name_next(std::vector<std::string> names) { names_ = std::move(names); }

Values Builder::copy(const Node& node, Values inputs, Attrs attrs) {
  NodeSpec spec;
  spec.op = node.op;
  spec.inputs = std::move(inputs);
  spec.list_size = node.list_size;
  spec.attrs = std::move(attrs);
  Values out = add(std::move(spec));
  out.resize(node.output_count);
  return out;
}

namespace {

// Places a constant that a rule creates on the device of the graph's first placeholder.
void place_constant(const Graph& g, NodeSpec& spec) {
  const int device = spec.op->schema.find("device");
  if (device < 0 || !spec.inputs.empty() || spec.attrs.find(static_cast<uint16_t>(device))) return;
  for (const Placeholder& p : g.placeholders()) {
    if (p.role == Role::symint) continue;
    const Device d = g.type(p.value).device;
    if (d.kind == DeviceKind::cuda)
      spec.attrs.set(static_cast<uint16_t>(device), fmt::format("cuda:{}", d.index));
    return;
  }
}

}  // namespace

Values Builder::call(const std::string& name, std::vector<CallOperand> operands, NamedAttrs attrs) {
  if (!status_.ok()) {
    names_.clear();
    return {};
  }
  const OpDef* op = ops_.find(name);
  if (!op) {
    fail(unsupported("operator '{}' is not known", name));
    return {};
  }
  const Schema& schema = op->schema;
  if (operands.size() > schema.operands.size()) {
    fail(bug("{}: {} operands, the signature has {}", name, operands.size(),
             schema.operands.size()));
    return {};
  }
  NodeSpec spec;
  spec.op = op;
  for (size_t k = 0; k < schema.operands.size(); ++k) {
    const ArgDef& arg = schema.args[schema.operands[k]];
    if (k >= operands.size()) {
      if (!arg.list) spec.inputs.push_back(ValueId::none());
    } else if (arg.list) {
      spec.list_size = static_cast<uint32_t>(operands[k].values.size());
      for (ValueId v : operands[k].values) spec.inputs.push_back(v);
    } else if (!operands[k].number.is_none()) {
      spec.inputs.push_back(ValueId::number());
      spec.attrs.set(schema.operands[k], operands[k].number);
    } else {
      spec.inputs.push_back(operands[k].values.empty() ? ValueId::none() : operands[k].values[0]);
    }
  }
  for (auto& [attr, value] : attrs) {
    int i = schema.find(attr);
    if (i < 0) {
      fail(bug("{} has no attribute '{}'", name, attr));
      return {};
    }
    spec.attrs.set(static_cast<uint16_t>(i), std::move(value));
  }
  if (schema.operands.empty()) place_constant(graph_, spec);
  return add(std::move(spec));
}

Values Builder::add(NodeSpec spec) {
  spec.names = std::move(names_);
  names_.clear();
  if (!status_.ok()) return {};
  spec.before = before_;
  spec.loc = loc_;
  spec.tag = tag_;
  auto node = graph_.add_node(std::move(spec));
  if (!node.ok()) {
    fail(std::move(node).failure());
    return {};
  }
  Values out;
  for (uint32_t k = 0; k < graph_.node(*node).output_count; ++k)
    out.push_back(graph_.node(*node).out(k));
  return out;
}

ValueId Builder::call1(const std::string& op, std::vector<CallOperand> operands, NamedAttrs attrs) {
  Values v = call(op, std::move(operands), std::move(attrs));
  return v.empty() ? ValueId::none() : v[0];
}

ValueId Builder::sum_to(V x, const Shape& shape) {
  if (!status_.ok() || !x.valid() || type(x).shape == shape) return x;
  const Shape from = type(x).shape;
  const size_t lead = from.size() - shape.size();
  std::vector<int64_t> dims;
  for (size_t d = 0; d < from.size(); ++d)
    if (d < lead || (shape[d - lead] == Dim(1) && !(from[d] == Dim(1))))
      dims.push_back(static_cast<int64_t>(d));
  if (!dims.empty()) x = sum(x, dims, true);
  if (!status_.ok() || type(x).shape == shape) return x;
  return view(x, shape);
}

}  // namespace cleave
