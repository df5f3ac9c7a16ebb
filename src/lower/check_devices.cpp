#include "lower/check_devices.h"

#include "ir/print.h"
#include "ir/text.h"

namespace cleave {
namespace {

// A value and the line that declares or computes it.
struct Place {
  const Graph* graph;
  ValueId value;
  const Type& type() const { return graph->type(value); }
  std::string text() const { return fmt::format("%{} is {}", graph->name(value), type().text()); }
  std::string line() const {
    if (const NodeId n = graph->value(value).def; n.valid()) return print_node(*graph, n);
    const Placeholder& p = *graph->placeholder_of(value);
    return fmt::format("%{}: {} {}", graph->name(value), name_of(p.role), type().text());
  }
};

// The first value on the device, and the first that isn't.
class Search {
 public:
  explicit Search(Device device) : device_(device) {}

  void look(const Graph& g) {
    for (const Placeholder& p : g.placeholders())
      if (const Type& t = g.type(p.value); t.rank() > 0 || !t.device.is_cpu())
        look(g, p.value, p.role != Role::symint);
    for (NodeId n = g.first_node(); n.valid(); n = g.next_node(n)) {
      for (uint32_t k = 0; k < g.node(n).output_count; ++k) look(g, g.node(n).out(k), true);
      look_for_copy(g, n);
    }
  }

  Status result() const {
    if (!elsewhere_) return {};
    if (copied_ && here_)
      return unsupported(
          "@{}: {}, and its copy is {}: a copy from device to device within a program isn't "
          "covered; move the whole graph there (--device, CompileOptions::device)\n  {}",
          copied_->graph->name(), copied_->text(), copy_->type().text(), copy_->line());
    const std::string where = fmt::format("@{}: {}", elsewhere_->graph->name(), elsewhere_->text());
    const Device other = elsewhere_->type().device;
    if (!here_)
      return unsupported(
          "{}, and the program is compiled for {}, where nothing of it runs instead; compile it "
          "for {} (--device, CompileOptions::device), take @{} off the types, or run it by the "
          "reference engine, which knows no devices\n  {}",
          where, device_.text(), other.text(), other.text(), elsewhere_->line());
    if (const NodeId n = elsewhere_->graph->value(elsewhere_->value).def;
        n.valid() && elsewhere_->graph->node(n).inputs.empty())
      return unsupported(
          "{}, and {}: {} on another device than the program's isn't covered; give it the device "
          "{}\n  {}",
          where, here_->text(), elsewhere_->graph->node(n).op->name, device_.text(),
          elsewhere_->line());
    return user_error(
        "{}, and {}: expected one device, {}, for all values but 0-d inputs on the CPU\n  {}\n  {}",
        where, here_->text(), device_.text(), elsewhere_->line(), here_->line());
  }

 private:
  void look_for_copy(const Graph& g, NodeId n) {
    const Node& node = g.node(n);
    if (copied_ || node.op->name != "_to_copy") return;
    const Type &from = g.type(node.inputs[0]), &to = g.type(node.out(0));
    if (from.device == to.device || (from.device.is_cpu() && from.rank() == 0)) return;
    copied_ = Place{&g, node.inputs[0]};
    copy_ = Place{&g, node.out(0)};
  }

  void look(const Graph& g, ValueId v, bool counts) {
    const Type& t = g.type(v);
    if (t.is_none || !counts) return;
    std::optional<Place>& first = t.device == device_ ? here_ : elsewhere_;
    if (!first) first = Place{&g, v};
  }

  const Device device_;
  std::optional<Place> here_, elsewhere_;
  std::optional<Place> copied_, copy_;  // of the first copy to another device
};

}  // namespace

Status check_devices(const Graph& graph, Device device) {
  Search search(device);
  search.look(graph);
  for (const GraphRef& sub : subgraphs_in_order(graph, {})) search.look(*sub);
  return search.result();
}

}  // namespace cleave
