// Convolutions, normalisations, dropout, attention.
#include "import/exported/rules.h"

namespace cleave::exported {
namespace {

// One number for each of `rank` dims.
std::vector<int64_t> each(Call& c, const char* name, size_t rank, int64_t otherwise) {
  std::vector<int64_t> v = c.integers(name, {otherwise});
  if (v.size() == 1) v.resize(rank, v[0]);
  if (v.size() != rank) {
    c.fail("{} has {} numbers, expected {}", name, v.size(), rank);
    v.resize(rank, 1);
  }
  return v;
}

// "same": the result has the input's size; of an odd sum the larger half is behind.
std::vector<int64_t> same_padding(Call& c, ValueId weight, const std::vector<int64_t>& dilation,
                                  ValueId& input) {
  const size_t rank = dilation.size();
  std::vector<int64_t> padding(rank), more(2 * rank);
  bool uneven = false;
  for (size_t d = 0; d < rank; ++d) {
    const Dim reach = Dim(dilation[d]) * (c.size(weight, static_cast<int64_t>(d) + 2) - Dim(1));
    if (!reach.is_const()) c.fail("the padding same of a kernel of an unknown size");
    const int64_t total = reach.is_const() ? reach.value() : 0;
    padding[d] = total / 2;
    if (total % 2 != 0) {
      more[2 * (rank - 1 - d) + 1] = 1;
      uneven = true;
    }
  }
  if (uneven) input = c.op("constant_pad_nd", {input}, {{"pad", more}});
  return padding;
}

Values convolution(Call& c, size_t dims, bool transposed) {
  ValueId input = c.tensor("input");
  const ValueId weight = c.tensor("weight"), bias = c.maybe_tensor("bias");
  const bool batched = c.rank(input) == static_cast<int64_t>(dims) + 2;
  if (!batched) input = c.op("unsqueeze", {input}, {{"dim", 0}});
  const std::vector<int64_t> dilation = each(c, "dilation", dims, 1);
  const Argument* given = c.find("padding");
  std::vector<int64_t> padding(dims);
  if (given && given->kind == Argument::Kind::text) {
    if (given->text == "same")
      padding = same_padding(c, weight, dilation, input);
    else if (given->text != "valid")
      c.fail("the padding {}", given->text);
  } else {
    padding = each(c, "padding", dims, 0);
  }
  const std::vector<int64_t> outer =
      transposed ? each(c, "output_padding", dims, 0) : std::vector<int64_t>(dims, 0);
  const ValueId y = c.op("convolution", {input, weight, bias},
                         {{"stride", each(c, "stride", dims, 1)},
                          {"padding", padding},
                          {"dilation", dilation},
                          {"transposed", transposed},
                          {"output_padding", outer},
                          {"groups", c.integer("groups", 1)}});
  return {batched ? y : c.op("squeeze", {y}, {{"dim", std::vector<int64_t>{0}}})};
}

// Training: new statistics are written to the buffers.
Values batch_norm(Call& c) {
  const ValueId x = c.tensor("input"), w = c.maybe_tensor("weight"), b = c.maybe_tensor("bias"),
                mean = c.maybe_tensor("running_mean"), var = c.maybe_tensor("running_var");
  NamedAttrs attrs{{"momentum", c.floating("momentum", 0.1)}, {"eps", c.floating("eps", 1e-5)}};
  if (!c.flag("training", false) && mean.valid())
    return {c.op("_native_batch_norm_legit_no_training", {x, w, b, mean, var}, attrs)};
  attrs.insert(attrs.begin(), {"training", true});
  if (!mean.valid())
    return {c.op("_native_batch_norm_legit", {x, w, b, ValueId::none(), ValueId::none()}, attrs)};
  const Values y = c.ops("_native_batch_norm_legit_functional", {x, w, b, mean, var}, attrs);
  if (!c.ok()) return {};
  c.write("running_mean", y[3]);
  c.write("running_var", y[4]);
  return {y[0]};
}

// The same with all results of the operator: saved statistics, and of _batch_norm_with_update a
// reserve that only PyTorch's backward reads.
Values batch_norm_results(Call& c, bool training) {
  const ValueId x = c.tensor("input"), w = c.maybe_tensor("weight"), b = c.maybe_tensor("bias"),
                mean = c.maybe_tensor("running_mean"), var = c.maybe_tensor("running_var");
  NamedAttrs attrs{{"momentum", c.floating("momentum", 0.1)}, {"eps", c.floating("eps", 1e-5)}};
  if (!training && mean.valid())
    return c.ops("_native_batch_norm_legit_no_training", {x, w, b, mean, var}, attrs);
  attrs.insert(attrs.begin(), {"training", true});
  if (!mean.valid())
    return c.ops("_native_batch_norm_legit", {x, w, b, ValueId::none(), ValueId::none()}, attrs);
  Values y = c.ops("_native_batch_norm_legit_functional", {x, w, b, mean, var}, attrs);
  if (!c.ok()) return {};
  c.write("running_mean", y[3]);
  c.write("running_var", y[4]);
  y.resize(3);
  y.push_back(c.op("full", {}, {{"size", Shape{Dim(0)}}, {"fill_value", 0}, {"dtype", DType::u8}}));
  return y;
}

// Each channel of each example by its own statistics.
Values instance_norm(Call& c) {
  const ValueId x = c.tensor("input"), w = c.maybe_tensor("weight"), b = c.maybe_tensor("bias");
  if (!c.flag("use_input_stats", true)) return batch_norm(c);
  const Shape shape = c.type(x).shape;
  if (shape.size() < 2) return {c.fail("instance_norm of a tensor of rank {}", shape.size())};
  Shape flat = shape, channels(shape.size(), Dim(1));
  flat[0] = 1;
  flat[1] = shape[0] * shape[1];
  channels[1] = shape[1];
  const ValueId none = ValueId::none(), rows = c.view(x, flat);
  NamedAttrs attrs{{"training", true}, {"momentum", 0.0}, {"eps", c.floating("eps", 1e-5)}};
  ValueId y;
  if (c.has_tensor("running_mean")) {
    // each example moves the statistics, then they are averaged
    attrs[1].second = AttrValue(c.floating("momentum", 0.1));
    const NamedAttrs repeats{{"repeats", Shape{shape[0]}}};
    const ValueId mean = c.op("repeat", {c.tensor("running_mean")}, repeats);
    const ValueId var = c.op("repeat", {c.tensor("running_var")}, repeats);
    const Values ys =
        c.ops("_native_batch_norm_legit_functional", {rows, none, none, mean, var}, attrs);
    if (!c.ok()) return {};
    const auto averaged = [&](ValueId v) {
      return c.op("mean", {c.view(v, {shape[0], shape[1]})}, {{"dim", std::vector<int64_t>{0}}});
    };
    c.write("running_mean", averaged(ys[3]));
    c.write("running_var", averaged(ys[4]));
    y = ys[0];
  } else {
    y = c.op("_native_batch_norm_legit", {rows, none, none, none, none}, attrs);
  }
  y = c.view(y, shape);
  if (w.valid()) y = c.op("mul", {y, c.view(w, channels)});
  if (b.valid()) y = c.op("add", {y, c.view(b, channels)});
  return {y};
}

Values group_norm(Call& c) {
  const ValueId x = c.tensor("input");
  const Shape& s = c.type(x).shape;
  if (s.size() < 2) return {c.fail("group_norm of a tensor of rank {}", s.size())};
  Dim rest = 1;
  for (size_t k = 2; k < s.size(); ++k) rest = rest * s[k];
  return {c.op("native_group_norm", {x, c.maybe_tensor("weight"), c.maybe_tensor("bias")},
               {{"N", s[0]},
                {"C", s[1]},
                {"HxW", rest},
                {"group", c.integer("num_groups", 1)},
                {"eps", c.floating("eps", 1e-5)}})};
}

Values layer_norm(Call& c) {
  return {c.op(
      "native_layer_norm", {c.tensor("input"), c.maybe_tensor("weight"), c.maybe_tensor("bias")},
      {{"normalized_shape", c.value("normalized_shape")}, {"eps", c.floating("eps", 1e-5)}})};
}

Values rms_norm(Call& c) {
  const AttrValue eps = c.has("eps") ? AttrValue(c.floating("eps", 0)) : AttrValue();
  return {c.op("_fused_rms_norm", {c.tensor("input"), c.maybe_tensor("weight")},
               {{"normalized_shape", c.integers("normalized_shape")}, {"eps", eps}})};
}

// dropout_ calls it self.
ValueId input_of(Call& c) { return c.tensor(c.find("input") ? "input" : "self"); }

Values native_dropout(Call& c) {
  const AttrValue train = c.value("train");
  const bool* on = train.get<bool>();
  NamedAttrs attrs{{"p", c.floating("p", 0.5)}, {"train", !on || *on}, {"stream", c.stream()}};
  return c.ops("native_dropout", {input_of(c), c.rng()}, attrs);
}

Values dropout(Call& c) {
  if (!c.flag("train", true) || c.floating("p", 0.5) == 0) return {input_of(c)};
  const Values y = native_dropout(c);
  return {y.empty() ? ValueId::none() : y[0]};
}

// Whole channels are dropped: a mask of ones of [N,C,1,...].
Values feature_dropout(Call& c) {
  const ValueId x = input_of(c);
  const double p = c.floating("p", 0.5);
  if (!c.flag("train", true) || p == 0) return {x};
  Shape shape = c.type(x).shape;
  if (shape.size() < 2) return {c.fail("feature_dropout of a tensor of rank {}", shape.size())};
  for (size_t k = 2; k < shape.size(); ++k) shape[k] = 1;
  const ValueId ones =
      c.op("full", {}, {{"size", shape}, {"fill_value", 1.0}, {"dtype", c.type(x).dtype}});
  const ValueId mask =
      c.op("native_dropout", {ones, c.rng()}, {{"p", p}, {"train", true}, {"stream", c.stream()}});
  return {c.op("mul", {x, mask})};
}

Values attention(Call& c) {
  NamedAttrs attrs;
  ValueId rng;
  if (c.flag("is_causal", false)) attrs.emplace_back("is_causal", true);
  if (c.has("scale")) attrs.emplace_back("scale", c.floating("scale", 1));
  if (c.flag("enable_gqa", false)) attrs.emplace_back("enable_gqa", true);
  if (const double p = c.floating("dropout_p", 0); p > 0) {
    rng = c.rng();
    attrs.emplace_back("dropout_p", p);
    attrs.emplace_back("stream", c.stream());
  }
  return {c.op(
      "scaled_dot_product_attention",
      {c.tensor("query"), c.tensor("key"), c.tensor("value"), c.maybe_tensor("attn_mask"), rng},
      attrs)};
}

template <size_t dims, bool transposed>
Values convolution_of(Call& c) {
  return convolution(c, dims, transposed);
}

}  // namespace

std::span<const RuleRow> layer_rules() {
  static constexpr RuleRow rows[] = {
      {"conv1d", convolution_of<1, false>},
      {"conv2d", convolution_of<2, false>},
      {"conv3d", convolution_of<3, false>},
      {"conv_transpose1d", convolution_of<1, true>},
      {"conv_transpose2d", convolution_of<2, true>},
      {"conv_transpose3d", convolution_of<3, true>},
      {"batch_norm", batch_norm},
      {"cudnn_batch_norm", batch_norm},
      {"native_batch_norm",
       [](Call& c) { return batch_norm_results(c, c.flag("training", false)); }},
      {"_native_batch_norm_legit.default",
       [](Call& c) { return batch_norm_results(c, c.flag("training", false)); }},
      {"_batch_norm_with_update", [](Call& c) { return batch_norm_results(c, true); }},
      {"instance_norm", instance_norm},
      {"group_norm", group_norm},
      {"layer_norm", layer_norm},
      {"rms_norm", rms_norm},
      {"dropout", dropout},
      {"native_dropout", native_dropout},
      {"feature_dropout", feature_dropout},
      {"scaled_dot_product_attention", attention},
  };
  return rows;
}

}  // namespace cleave::exported
