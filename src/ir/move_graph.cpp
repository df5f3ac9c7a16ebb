#include "ir/move_graph.h"

#include "ir/builder.h"
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
    const bool is_given = spec.attrs.find(at) != nullptr;
    if (is_given || (spec.inputs.empty() && !device_.is_cpu())) spec.attrs.set(at, device_.text());
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

}  // namespace cleave
