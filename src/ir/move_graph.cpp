#include "ir/move_graph.h"

#include <algorithm>

#include "ir/builder.h"
#include "ir/print.h"
#include "ir/rebuild.h"

namespace cleave {
namespace {

class Moving : public Rebuilding {
 public:
  Moving(Device device, const OpRegistry& ops) : device_(device), ops_(ops) {}

  Device device(const Device& /*d*/) override { return device_; }

  void call(NodeSpec& spec) override {
    const int arg = spec.op->schema.find("device");
    if (arg < 0) return;
    const auto at = static_cast<uint16_t>(arg);
    if (!spec.inputs.empty())
      spec.attrs.erase(at);  // a copy to where its operand is
    else if (spec.attrs.find(at) != nullptr || !device_.is_cpu())
      spec.attrs.set(at, device_.text());
  }

  Result<ValueId> result(Graph& to, ValueId made, const Type& old) override {
    if (old.is_none || to.type(made).dtype == old.dtype) return made;
    const std::string name = to.name(made);
    CLEAVE_CHECK(to.rename(made, to.fresh_name(name + ".wide")));
    Builder b(to, ops_);
    b.name_next({name});
    const ValueId converted = b.convert(made, old.dtype);
    CLEAVE_CHECK(b.status());
    return converted;
  }

 private:
  const Device device_;
  const OpRegistry& ops_;
};

}  // namespace

Result<Graph> moved_to(const Graph& g, Device device, const OpRegistry& ops) {
  Moving moving(device, ops);
  return rebuilt(g, moving);
}

Device device_of(const Graph& g) {
  for (const Placeholder& p : g.placeholders())
    if (const Type& t = g.type(p.value); p.role != Role::symint && t.rank() > 0) return t.device;
  return {};
}

namespace {

bool is_all_on(const Graph& g, Device device) {
  for (const Placeholder& p : g.placeholders())
    if (const Type& t = g.type(p.value);
        p.role != Role::symint && t.rank() > 0 && t.device != device)
      return false;
  for (NodeId n = g.first_node(); n.valid(); n = g.next_node(n))
    for (const Type& t : g.output_types(n))
      if (!t.is_none && t.device != device) return false;
  return true;
}

}  // namespace

bool lies_on(const Graph& g, Device device) {
  return is_all_on(g, device) &&
         std::ranges::all_of(subgraphs_in_order(g, {}),
                             [&](const GraphRef& sub) { return is_all_on(*sub, device); });
}

}  // namespace cleave
