#include "test/sample/device_graph.h"

#include "base/split_mix.h"
#include "ir/builder.h"
#include "ir/move_graph.h"
#include "test/random_inputs.h"

namespace cleave::random {

Result<RandomGraph> with_devices(const RandomGraph& r, Device device) {
  RandomGraph out = r;
  CLEAVE_TRY(out.g, moved_to(r.g, device, test::core()));
  return out;
}

namespace {

class Mixing {
 public:
  Mixing(Graph& g, Device device, uint64_t seed) : g_(g), device_(device), state_(seed) {}

  Status run() {
    for (const NodeId n : g_.order()) CLEAVE_CHECK(is_constructor(n) ? leave(n) : multiply(n));
    return {};
  }

 private:
  uint64_t below(uint64_t n) { return split_mix(state_ += split_mix_step) % n; }
  int device_arg(NodeId n) const { return g_.node(n).op->schema.find("device"); }
  bool is_constructor(NodeId n) const { return g_.node(n).inputs.empty() && device_arg(n) >= 0; }

  // A copy of what is made on the CPU in the place of what was made on the device.
  Status leave(NodeId n) {
    if (below(2) == 0) return {};
    const Node node = g_.node(n);
    Attrs attrs = node.attrs;
    attrs.erase(static_cast<uint16_t>(device_arg(n)));
    CLEAVE_TRY(const NodeId here,
               g_.add_node({.op = node.op, .attrs = attrs, .before = n, .loc = node.loc}));
    Builder b(g_, test::core());
    b.insert_before(n);
    const ValueId copy = copied(b, g_.node(here).out(0));
    CLEAVE_CHECK(b.status());
    const std::string name = g_.name(node.out(0));
    g_.replace_uses(node.out(0), copy);
    g_.erase(n);
    return g_.rename(copy, name);
  }

  // All readers get the value times one.
  Status multiply(NodeId n) {
    const NodeId behind = g_.next_node(n);
    if (!behind.valid() || g_.node(n).output_count == 0 || below(4) != 0) return {};
    const ValueId v = g_.node(n).out(0);
    const Type type = g_.type(v);
    if (type.is_none || !type.is_static() || type.dtype == DType::boolean ||
        type.dtype == DType::c64)
      return {};
    const std::vector<Use> uses = g_.uses(v);
    Builder b(g_, test::core());
    b.insert_before(behind);
    const bool is_number = below(2) == 0;
    const ValueId one =
        b.call1("full", {},
                {{"size", is_number ? Shape{} : type.shape},
                 {"fill_value", is_floating(type.dtype) ? AttrValue(1.0) : AttrValue(Dim(1))},
                 {"dtype", type.dtype},
                 {"device", std::string("cpu")}});
    const ValueId times = b.mul(v, is_number ? one : copied(b, one));
    CLEAVE_CHECK(b.status());
    for (const Use& use : uses) g_.set_input(use.node, use.operand, times);
    return {};
  }

  ValueId copied(Builder& b, ValueId v) const {
    return b.call1("_to_copy", {v}, {{"device", device_.text()}});
  }

  Graph& g_;
  const Device device_;
  uint64_t state_;
};

}  // namespace

Result<RandomGraph> with_mixed_devices(const RandomGraph& r, uint64_t seed, Device device) {
  CLEAVE_TRY(RandomGraph out, with_devices(r, device));
  CLEAVE_CHECK(Mixing(out.g, device, seed).run());
  return out;
}

}  // namespace cleave::random
