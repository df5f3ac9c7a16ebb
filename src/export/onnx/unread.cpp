#include "export/onnx/unread.h"

#include <algorithm>
#include <unordered_set>

namespace cleave::to_onnx {
namespace {

using Names = std::unordered_set<std::string>;

void add_reads(const onnx::NodeProto& n, Names& read) {
  read.insert(n.inputs.begin(), n.inputs.end());
  for (const onnx::Attribute& a : n.attributes) {
    if (!a.graph) continue;
    for (const onnx::NodeProto& inner : a.graph->nodes) add_reads(inner, read);
    for (const onnx::ValueInfo& v : a.graph->outputs) read.insert(v.name);
  }
}

}  // namespace

void drop_unread(onnx::GraphProto& g) {
  Names read;
  for (const onnx::ValueInfo& v : g.outputs) read.insert(v.name);
  std::vector<onnx::NodeProto> kept;
  for (auto n = g.nodes.rbegin(); n != g.nodes.rend(); ++n) {
    if (std::ranges::none_of(n->outputs, [&](const std::string& o) { return read.contains(o); }))
      continue;
    add_reads(*n, read);
    kept.push_back(std::move(*n));
  }
  std::ranges::reverse(kept);
  g.nodes = std::move(kept);
  std::erase_if(g.initializers, [&](const onnx::TensorProto& t) { return !read.contains(t.name); });
}

}  // namespace cleave::to_onnx
