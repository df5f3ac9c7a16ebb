#include "schedule/group_key.h"

namespace cleave {
namespace {

class KeyWriter {
 public:
  void number(int64_t n) { out_.append(reinterpret_cast<const char*>(&n), sizeof n); }
  void numbers(const std::vector<int64_t>& list) {
    number(std::ssize(list));
    for (const int64_t n : list) number(n);
  }
  void text(const std::string& s) {
    number(std::ssize(s));
    out_ += s;
  }
  void bound(const loop::Bound& b) {
    number(b.buffer);
    number(static_cast<int64_t>(b.dtype));
    number(b.layout.offset);
    numbers(b.layout.shape);
    numbers(b.layout.strides);
  }
  void type(const Type& t) {
    number(t.is_none ? -1 : static_cast<int64_t>(t.dtype));
    if (t.is_none) return;
    number(t.rank());
    for (const Dim& d : t.shape) number(d.value());
    number(t.strides.has_value());
    if (t.strides)
      for (const Dim& d : *t.strides) number(d.value());
  }
  std::string take() { return std::move(out_); }

 private:
  std::string out_;
};

}  // namespace

std::string calls_key(const Graph& graph, const std::vector<NodeId>& nodes,
                      const std::vector<ValueId>& operands, const std::vector<ValueId>& results) {
  KeyWriter w;
  std::unordered_map<uint32_t, int64_t> number_of;
  const auto number = [&](ValueId v) {
    const auto [at, is_new] = number_of.try_emplace(v.v, std::ssize(number_of));
    w.number(at->second);
    if (is_new) w.type(graph.type(v));
  };
  w.number(std::ssize(operands));
  for (const ValueId v : operands) number(v);
  for (const NodeId n : nodes) {
    const Node& node = graph.node(n);
    w.number(static_cast<int64_t>(reinterpret_cast<uintptr_t>(node.op)));
    w.number(node.list_size);
    w.number(std::ssize(node.inputs));
    for (const ValueId v : node.inputs) v.valid() ? number(v) : w.number(v.is_number() ? -2 : -1);
    for (const auto& [arg, value] : node.attrs.given()) {
      w.number(arg);
      if (node.op->schema.args[arg].name != "stream") w.text(value.text());
    }
    w.number(-1);
    for (uint32_t k = 0; k < node.output_count; ++k) number(node.out(k));
  }
  for (const ValueId v : results) number(v);
  return w.take();
}

std::string memory_key(const std::vector<std::pair<ValueId, loop::Bound>>& operands,
                       const std::vector<GroupResult>& results, const loop::Kernel& kernel) {
  KeyWriter w;
  for (const loop::Buffer& b : kernel.buffers) {
    w.number(static_cast<int64_t>(b.dtype));
    w.number(b.elements);
    w.number(static_cast<int64_t>(b.access));
  }
  w.number(std::ssize(operands));
  for (const auto& [v, at] : operands) w.bound(at);
  for (const GroupResult& r : results) w.bound(r.at);
  return w.take();
}

}  // namespace cleave
