// Convolutions in bf16 and f16, and what lies between them, compute with channels as the last dim:
//
//   %y = convolution(%x, %w, none)         %x.last = clone(permute(%x; dims=[0,2,3,1]))
//   %z = relu(%y)                          %w.last = clone(permute(%w; dims=[0,2,3,1]))
//   %v = convolution(%z, %u, none)   ->    %y.last = convolution_channels_last(%x.last, %w.last)
//   return %v                              %z.last = relu(%y.last)
//                                          %v.last = convolution_channels_last(%z.last, ...)
//                                          %v = permute(%v.last; dims=[0,3,1,2])
//
// A GPU's tensor cores read runs of channels. From the convolutions on, calls that are made as well
// in the other order (turned_call.h) are, forwards and backwards, as far as they reach; a value
// that others read is seen through a view there, and a border is a copy at most. A weight is
// converted to the dtype and to the order in one call; its gradient is seen through a view, by the
// call that converts it back. Batch norms are sums of columns then, which read whole lines.
//
// A convolution with a kernel of 1 and stride 1 is a product of its positions and channels.
// Sums are added up in another order.
//
// Source: layout_optimization of torch/_inductor/graph.py, PyTorch 2.13. Its reasons not to do it
// (few channels, more of them before than after, groups) are measured on tensor cores of 2020; here
// each convolution in halves is turned, and none in f32, which runs without tensor cores.
#include <algorithm>

#include "pass/decomposed/turned_call.h"
#include "pass/decomposed/turned_convolution.h"
#include "pass/pass_setting.h"
#include "pass/passes.h"

namespace cleave {
namespace {

// Which calls are turned: convolutions, and what shares images with them.
class Reach {
 public:
  Reach(const Graph& g, const ConvolutionTurns& turns)
      : g_(g), convolutions_(g.node_capacity()), calls_(g.node_capacity()),
        reached_(g.value_capacity()) {
    for (NodeId n = g.first_node(); n.valid(); n = g.next_node(n)) {
      const Values images = images_of_convolution(g, n, turns);
      if (images.empty()) continue;
      convolutions_[n.v] = true;
      reach(images);
    }
    while (!open_.empty()) {
      const ValueId v = open_.back();
      open_.pop_back();
      if (const NodeId n = g.value(v).def; n.valid()) follow(n, v);
      for (const Use& use : g.uses(v)) follow(use.node, v);
    }
  }
  bool is_convolution(NodeId n) const { return convolutions_[n.v]; }
  bool is_call(NodeId n) const { return calls_[n.v]; }

 private:
  void reach(const Values& images) {
    for (const ValueId v : images) {
      if (reached_[v.v]) continue;
      reached_[v.v] = true;
      open_.push_back(v);
    }
  }
  void follow(NodeId n, ValueId from) {
    if (convolutions_[n.v] || calls_[n.v]) return;
    const Values images = images_of(g_, n);
    if (std::ranges::find(images, from) == images.end()) return;
    calls_[n.v] = true;
    reach(images);
  }

  const Graph& g_;
  std::vector<bool> convolutions_, calls_;  // by node
  std::vector<bool> reached_;               // by value
  Values open_;
};

Result<PassCount> turn(Graph& g, const OpRegistry& ops, const ConvolutionTurns& turns) {
  PassCount count;
  const Reach reach(g, turns);
  Builder b(g, ops);
  TurnedValues values(b);
  for (const NodeId n : g.order()) {
    const bool is_convolution = reach.is_convolution(n);
    if (!is_convolution && !reach.is_call(n)) continue;
    b.insert_before(n);
    b.set_loc(g.node(n).loc);
    b.set_tag(g.node(n).tag);
    CLEAVE_CHECK(is_convolution ? turn_convolution(b, n, values, turns) : turn_call(b, n, values));
    ++count.matches;
    ++count.nodes;
  }
  return count;
}

}  // namespace

Pass channels_last() {
  Pass pass{.name = "channels_last",
            .summary = "convolutions in halves, and what lies between them, with channels last",
            .rounds = true};
  pass.settings = {{"most_bytes", 2, 2, "of an element of the convolutions"},
                   {"products", 1, 0, "0: kernels of 1 are convolutions as others"}};
  pass.make_run = [](const std::vector<PassSetting>& settings) -> Pass::Run {
    const ConvolutionTurns turns{.most_bytes = setting(settings, "most_bytes"),
                                 .makes_products = setting(settings, "products") != 0};
    return [turns](Graph& g, const OpRegistry& ops) { return turn(g, ops, turns); };
  };
  pass.run = pass.make_run(pass.settings);
  return pass;
}

}  // namespace cleave
