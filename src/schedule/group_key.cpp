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
  std::string take() { return std::move(out_); }

 private:
  std::string out_;
};

}  // namespace

std::string group_key(const Graph& graph, const std::vector<NodeId>& nodes,
                      const std::vector<std::pair<ValueId, loop::Bound>>& operands,
                      const std::vector<GroupResult>& results, const loop::Kernel& kernel) {
  KeyWriter w;
  std::unordered_map<uint32_t, int64_t> number_of;
  for (const loop::Buffer& b : kernel.buffers) {
    w.number(static_cast<int64_t>(b.dtype));
    w.number(b.elements);
    w.number(static_cast<int64_t>(b.access));
  }
  w.number(std::ssize(operands));
  for (const auto& [v, at] : operands) {
    const auto known = number_of.try_emplace(v.v, std::ssize(number_of)).first->second;
    w.number(known);
    w.bound(at);
  }
  w.number(std::ssize(nodes));
  for (const NodeId n : nodes) {
    const Node& node = graph.node(n);
    w.number(static_cast<int64_t>(reinterpret_cast<uintptr_t>(node.op)));
    w.number(node.list_size);
    w.number(std::ssize(node.inputs));
    for (const ValueId v : node.inputs)
      w.number(v.valid() ? number_of.at(v.v) : v.is_number() ? -2 : -1);
    for (const auto& [arg, value] : node.attrs.given()) {
      w.number(arg);
      if (node.op->schema.args[arg].name != "stream") w.text(value.text());
    }
    w.number(-1);
    for (uint32_t k = 0; k < node.output_count; ++k) {
      number_of[node.out(k).v] = std::ssize(number_of);
      const Type& t = graph.type(node.out(k));
      w.number(t.is_none ? -1 : static_cast<int64_t>(t.dtype));
    }
  }
  for (const GroupResult& r : results) {
    w.number(number_of.at(r.value.v));
    w.bound(r.at);
  }
  return w.take();
}

}  // namespace cleave
