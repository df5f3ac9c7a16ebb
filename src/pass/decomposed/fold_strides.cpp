// A convolution with a stride over few channels, as a network's first layer, is one without a
// stride over more of them: a window's elements that lie within one step of it are channels.
//
//   %y = convolution_channels_last(%x, %w; stride=[2,2], padding=[3,3])
//     of %x [n,224,224,3], %w [64,7,7,3]
//   ->
//   %p = constant_pad_nd(%x; pad=[0,1,3,3,3,3])                          [n,230,230,4]
//   %s = view(clone(permute(view(%p))))          [n,115,2,115,2,4]  ->   [n,115,115,16]
//   %v = the same of %w, padded to 8 x 8                                 [64,4,4,16]
//   %y = convolution_channels_last(%s, %v; stride=[1,1], padding=[0,0])
//
//   y[o] = sum over k of x[o*s - p + k] w[k]            k = a*s + b,  0 <= b < s
//        = sum over a of sum over b of (x[(o + a)*s + b - p]) (w[a*s + b])
//
// A GPU's tensor cores read 8 channels at once: cuDNN copies a tensor of 3 channels to one of 8, at
// each of its calls, and multiplies the five that are 0. Channels are padded to as many as make the
// folded ones a multiple of 8. Where the kernel is no larger than the stride, as that of patches,
// the folded one is 1, and the convolution a product of positions and channels.
//
// Both gradients are those of the folded call, whose result is folded back. What is added are
// products with 0, of elements that no window had: an infinite or NaN element of the image beside a
// window's end, within its last step, makes the result NaN. Sums are added up in another order.
#include <algorithm>
#include <map>

#include "ir/builder.h"
#include "op/convolution.h"
#include "pass/pass_setting.h"
#include "pass/passes.h"

namespace cleave {
namespace {

using Ints = std::vector<int64_t>;

constexpr int64_t unit = 8;  // channels that a tensor core reads at once

int64_t quotient_up(int64_t a, int64_t b) { return (a + b - 1) / b; }

// The places of the operands in a call and in a backward.
struct Operands {
  int grad = -1, input = 0, weight = 1;
};
Operands operands_of(const OpView& op) {
  return op.name() == "convolution_channels_last" ? Operands{} : Operands{0, 1, 2};
}

// The sizes of a convolution, by spatial dim, and of the folded one.
struct Folding {
  Ints stride, padding, size, kernel, windows;
  int64_t images = 0, channels = 0, out_channels = 0;
  Ints taps;                // of the folded kernel
  int64_t per_element = 0;  // channels, padded

  size_t rank() const { return stride.size(); }
  int64_t places(size_t d) const { return windows[d] - 1 + taps[d]; }  // of the folded image
  int64_t folded_channels() const { return numel_of(stride) * per_element; }
  bool is_product() const {
    return std::ranges::all_of(taps, [](int64_t t) { return t == 1; });
  }
};

// Whether it multiplies no more than a library that pads channels.
bool pays(const Folding& f) {
  int64_t folded = f.per_element, padded = unit;
  for (size_t d = 0; d < f.rank(); ++d) folded *= f.taps[d] * f.stride[d], padded *= f.kernel[d];
  return folded <= padded;
}

std::optional<Folding> folding_of(const Graph& g, NodeId n, int64_t few_channels) {
  const OpView op = g.view(n);
  const bool is_forward = op.name() == "convolution_channels_last";
  if (!is_forward && op.name() != "convolution_channels_last_backward") return std::nullopt;
  if (!is_forward && op.out_type(0).is_none == op.out_type(1).is_none) return std::nullopt;
  const Operands at = operands_of(op);
  const Type &x = op.in_type(at.input), &w = op.in_type(at.weight),
             &y = is_forward ? op.out_type(0) : op.in_type(at.grad);
  if (!x.is_static() || !w.is_static() || x.numel().value() == 0 || y.numel().value() == 0)
    return std::nullopt;
  const size_t rank = x.shape.size() - 2;
  const ConvolutionAttrs attrs = convolution_attrs(op, rank);
  Folding f{.stride = attrs.stride, .padding = attrs.padding};
  f.images = x.shape[0].value(), f.channels = x.shape.back().value();
  f.out_channels = w.shape[0].value();
  const int64_t steps = numel_of(f.stride);
  if (attrs.transposed || attrs.groups != 1 || f.channels >= few_channels || steps == 1)
    return std::nullopt;
  for (size_t d = 0; d < rank; ++d) {
    if (attrs.dilation[d] != 1) return std::nullopt;
    f.size.push_back(x.shape[d + 1].value());
    f.kernel.push_back(w.shape[d + 1].value());
    f.windows.push_back(y.shape[d + 1].value());
    f.taps.push_back(quotient_up(f.kernel[d], f.stride[d]));
  }
  f.per_element = f.channels;
  while (f.per_element * steps % unit != 0) ++f.per_element;
  return pays(f) ? std::optional(f) : std::nullopt;
}

class Folder {
 public:
  Folder(Graph& g, const OpRegistry& ops) : b_(g, ops) {}

  Status fold(NodeId n, const Folding& f) {
    Graph& g = b_.graph();
    b_.insert_before(n);
    b_.set_loc(g.node(n).loc);
    b_.set_tag(g.node(n).tag);
    const OpView op = g.view(n);
    const bool is_forward = op.name() == "convolution_channels_last";
    const int result = is_forward || !op.out_type(0).is_none ? 0 : 1;
    const ValueId made = is_forward    ? forward(op, f)
                         : result == 0 ? by_input(op, f)
                                       : by_weight(op, f);
    CLEAVE_CHECK(b_.status());
    const ValueId old = g.node(n).out(static_cast<uint32_t>(result));
    const std::string name = g.name(old);
    g.replace_uses(old, made);
    g.erase(n);
    return g.rename(made, name);
  }

 private:
  // ---- the calls
  ValueId forward(const OpView& op, const Folding& f) {
    const ValueId x = image(op.in(0), f), w = weight(op.in(1), f);
    const ValueId bias = op.has(2) ? op.in(2) : ValueId::none();
    if (!f.is_product()) return b_.call1("convolution_channels_last", {x, w, bias}, attrs_of(f));
    const ValueId turned = b_.permute(rows(w, f.out_channels), {1, 0});
    const ValueId positions = rows(x, positions_of(f));
    const ValueId y =
        bias.is_none() ? b_.mm(positions, turned) : b_.call1("addmm", {bias, positions, turned});
    return b_.view(y, op.out_type(0).shape);
  }
  ValueId by_input(const OpView& op, const Folding& f) {
    ValueId dx = ValueId::none();
    if (f.is_product()) {
      const ValueId w = rows(weight(op.in(2), f), f.out_channels);
      dx = b_.view(b_.mm(rows(op.in(0), positions_of(f)), w), image_shape(f));
    } else {
      dx = gradient(op, f, 0);
    }
    return unfolded(dx, f.images, places_of(f), f, [&](size_t d) {
      return std::pair(-f.padding[d], f.size[d] + f.padding[d] - f.places(d) * f.stride[d]);
    });
  }
  ValueId by_weight(const OpView& op, const Folding& f) {
    const int64_t positions = positions_of(f);
    ValueId dw = ValueId::none();
    if (f.is_product()) {
      const ValueId turned = b_.permute(rows(op.in(0), positions), {1, 0});
      dw = b_.view(b_.mm(turned, rows(image(op.in(1), f), positions)), weight_shape(f));
    } else {
      dw = gradient(op, f, 1);
    }
    return unfolded(dw, f.out_channels, f.taps, f, [&](size_t d) {
      return std::pair(int64_t{0}, f.kernel[d] - f.taps[d] * f.stride[d]);
    });
  }
  ValueId gradient(const OpView& op, const Folding& f, size_t result) {
    NamedAttrs attrs = attrs_of(f);
    attrs.emplace_back("output_mask", std::vector<bool>{result == 0, result == 1});
    const Values made = b_.call("convolution_channels_last_backward",
                                {op.in(0), image(op.in(1), f), weight(op.in(2), f)}, attrs);
    return b_.status().ok() ? made[result] : ValueId::none();
  }
  static NamedAttrs attrs_of(const Folding& f) {
    const Ints ones(f.rank(), 1), zeros(f.rank(), 0);
    return {{"stride", ones},      {"padding", zeros},        {"dilation", ones},
            {"transposed", false}, {"output_padding", zeros}, {"groups", int64_t{1}}};
  }

  // ---- folded operands
  ValueId image(ValueId v, const Folding& f) {
    return folded(v, f.images, places_of(f), f, [&](size_t d) {
      return std::pair(f.padding[d], f.places(d) * f.stride[d] - f.padding[d] - f.size[d]);
    });
  }
  ValueId weight(ValueId v, const Folding& f) {
    return folded(v, f.out_channels, f.taps, f, [&](size_t d) {
      return std::pair(int64_t{0}, f.taps[d] * f.stride[d] - f.kernel[d]);
    });
  }
  // What a copy or a conversion is of: the folding is one.
  ValueId before_copy(ValueId v) {
    const NodeId n = b_.graph().value(v).def;
    if (!n.valid()) return v;
    const Node& node = b_.graph().node(n);
    const bool converts = node.op->name == "_to_copy" && is_floating(b_.type(node.inputs[0]).dtype);
    return converts || node.op->name == "clone" ? node.inputs[0] : v;
  }

  // [outer, *size, channels], with what is added before and after each dim, as
  // [outer, *places, folded channels].
  template <class F>
  ValueId folded(ValueId v, int64_t outer, const Ints& places, const Folding& f, const F& added) {
    const auto [known, is_new] = folded_.try_emplace({v.v, f.stride, places, f.padding});
    if (!is_new) return known->second;
    Ints pad = {0, f.per_element - f.channels};
    for (size_t d = f.rank(); d-- > 0;) {
      const auto [before, after] = added(d);
      pad.push_back(before), pad.push_back(after);
    }
    const DType type = b_.type(v).dtype;
    const ValueId whole = padded(before_copy(v), pad);
    Shape split = {outer};
    Ints order = {0};
    for (size_t d = 0; d < f.rank(); ++d) {
      split.emplace_back(places[d]), split.emplace_back(f.stride[d]);
      order.push_back(static_cast<int64_t>(1 + 2 * d));
    }
    split.emplace_back(f.per_element);
    for (size_t d = 0; d < f.rank(); ++d) order.push_back(static_cast<int64_t>(2 + 2 * d));
    order.push_back(std::ssize(split) - 1);
    const ValueId seen = b_.view(whole, split),
                  turned = std::ranges::is_sorted(order) ? seen : b_.permute(seen, order);
    const ValueId copied = b_.status().ok() && b_.type(turned).dtype != type
                               ? b_.call1("_to_copy", {turned}, {{"dtype", type}})
                               : b_.call1("clone", {turned});
    return known->second = b_.view(copied, with_channels(outer, places, f.folded_channels()));
  }
  // And back: `added` is negative where elements are left out.
  template <class F>
  ValueId unfolded(ValueId v, int64_t outer, const Ints& places, const Folding& f, const F& added) {
    Shape split = with_channels(outer, places, f.per_element), whole = {outer};
    split.insert(split.end() - 1, f.stride.begin(), f.stride.end());
    Ints order = {0}, pad = {0, f.channels - f.per_element};
    for (size_t d = 0; d < f.rank(); ++d) {
      order.push_back(static_cast<int64_t>(1 + d));
      order.push_back(static_cast<int64_t>(1 + f.rank() + d));
      whole.emplace_back(places[d] * f.stride[d]);
    }
    order.push_back(std::ssize(split) - 1);
    whole.emplace_back(f.per_element);
    for (size_t d = f.rank(); d-- > 0;) {
      const auto [before, after] = added(d);
      pad.push_back(before), pad.push_back(after);
    }
    const ValueId turned = b_.permute(b_.view(v, split), order);
    return padded(b_.view(turned, whole), pad);
  }
  ValueId padded(ValueId v, const Ints& pad) {
    const bool is_same = std::ranges::all_of(pad, [](int64_t p) { return p == 0; });
    return is_same ? v : b_.call1("constant_pad_nd", {v}, {{"pad", pad}});
  }

  // ---- shapes
  static Shape with_channels(int64_t outer, const Ints& dims, int64_t channels) {
    Shape out = {outer};
    out.insert(out.end(), dims.begin(), dims.end());
    out.emplace_back(channels);
    return out;
  }
  static Ints places_of(const Folding& f) {
    Ints out;
    for (size_t d = 0; d < f.rank(); ++d) out.push_back(f.places(d));
    return out;
  }
  static Shape image_shape(const Folding& f) {
    return with_channels(f.images, places_of(f), f.folded_channels());
  }
  static Shape weight_shape(const Folding& f) {
    return with_channels(f.out_channels, f.taps, f.folded_channels());
  }
  static int64_t positions_of(const Folding& f) { return f.images * numel_of(f.windows); }
  ValueId rows(ValueId v, int64_t count) {
    return b_.view(v, {count, Dim::floordiv(b_.type(v).numel(), count)});
  }

  Builder b_;
  // By operand, stride, places and padding.
  std::map<std::tuple<uint32_t, Ints, Ints, Ints>, ValueId> folded_;
};

Result<PassCount> fold_all(Graph& g, const OpRegistry& ops, int64_t few_channels) {
  PassCount count;
  Folder folder(g, ops);
  for (const NodeId n : g.order()) {
    const std::optional<Folding> found = folding_of(g, n, few_channels);
    if (!found) continue;
    CLEAVE_CHECK(folder.fold(n, *found));
    ++count.matches;
    ++count.nodes;
  }
  return count;
}

}  // namespace

Pass fold_strides() {
  Pass pass{.name = "fold_strides",
            .summary = "convolutions with strides over few channels have none over more",
            .rounds = true};
  pass.settings = {{"few_channels", unit, 1, "fewer are folded"}};
  pass.make_run = [](const std::vector<PassSetting>& settings) -> Pass::Run {
    return [few = setting(settings, "few_channels")](Graph& g, const OpRegistry& ops) {
      return fold_all(g, ops, few);
    };
  };
  pass.run = pass.make_run(pass.settings);
  return pass;
}

}  // namespace cleave
