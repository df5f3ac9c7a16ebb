// channels_last on random networks: convolutions of all kinds, norms, pools, residuals, joins,
// views, forwards and with gradients, by the oracle, and run on this machine.
// tests: turned_call.cpp turned_convolution.cpp turned_values.cpp
#include <gtest/gtest.h>

#include <array>
#include <random>

#include "compile/stages.h"
#include "ir/builder.h"
#include "ir/text.h"
#include "pass/pipeline.h"
#include "test/random_inputs.h"
#include "test/sample/random_graph.h"
#include "test/sample/run_program.h"

namespace cleave::channels_last_networks {
namespace {

using test::core;
using Ints = std::vector<int64_t>;

// A network of 4 to 14 layers on images of two spatial dims.
class Network {
 public:
  Network(uint64_t seed, DType dtype) : rng_(seed), dtype_(dtype) {}

  Result<random::RandomGraph> make() {
    images_.push_back(input({any(1, 3), any(1, 5), any(4, 9), any(4, 9)}, "x"));
    const int64_t layers = any(4, 14);
    for (int64_t k = 0; k < layers; ++k) images_.push_back(layer());
    end();
    CLEAVE_CHECK(b_.status());
    random::RandomGraph out{std::move(g_), {}};
    for (const Placeholder& p : out.g.placeholders()) {
      Array& a = out.inputs.emplace_back(law::random_weights(out.g.type(p.value), rng_()));
      const bool is_spread = out.g.name(p.value).starts_with("var");
      for (double& x : a.f) x = round_to(a.dtype, is_spread ? 1 + std::fabs(x) : x);
    }
    return out;
  }

 private:
  int64_t any(int64_t least, int64_t most) {
    return least + static_cast<int64_t>(rng_() % static_cast<uint64_t>(most - least + 1));
  }
  bool chance(int64_t percent) { return any(0, 99) < percent; }
  ValueId placeholder(Role role, const Ints& shape, const std::string& name, DType dtype) {
    const Shape dims(shape.begin(), shape.end());
    return value_or_throw(
        g_.add_placeholder(role, g_.fresh_name(name), Type(dtype, dims), role == Role::param));
  }
  ValueId input(const Ints& shape, const std::string& name) {
    const Shape dims(shape.begin(), shape.end());
    Type t(dtype_, dims);
    if (chance(20)) {
      const Dim c = dims[1], w = dims[3], plane = c * dims[2] * w;
      t.strides = std::vector<Dim>{plane, Dim(1), c * w, c};
    }
    return value_or_throw(g_.add_placeholder(Role::input, name, t, true));
  }
  ValueId param(const Ints& shape) { return placeholder(Role::param, shape, "w", dtype_); }
  ValueId statistic(const Ints& shape, const std::string& name) {
    return placeholder(Role::buffer, shape, name, dtype_);
  }
  Ints shape(ValueId v) const { return static_shape(g_.type(v)); }
  ValueId some() {  // later ones are likelier
    const auto n = std::ssize(images_);
    return images_[static_cast<size_t>(std::max(any(0, n - 1), any(0, n - 1)))];
  }

  ValueId layer() {
    const ValueId x = some();
    switch (any(0, 16)) {
      case 0:
      case 1:
      case 2: return convolution(x);
      case 3: return transposed(x);
      case 4:
      case 5: return norm(x);
      case 6: return pool(x);
      case 7: return b_.call1(chance(50) ? "relu" : "sigmoid", {x});
      case 8: return residual(x);
      case 9: return join(x);
      case 10: return gate(x);
      case 11: return b_.slice(x, 1, Dim(0), Dim(any(1, shape(x)[1])));
      case 12: return pad(x);
      case 13: return by_rows(x);
      case 14: return softmax(x);
      case 15: return b_.mul(x, b_.view(param({shape(x)[1]}), {shape(x)[1], 1, 1}));
      default: return resized(x);
    }
  }

  NamedAttrs attrs(Ints stride, Ints padding, Ints dilation, bool is_transposed, int64_t groups) {
    return {{"stride", stride},         {"padding", padding},
            {"dilation", dilation},     {"transposed", is_transposed},
            {"output_padding", {0, 0}}, {"groups", groups}};
  }
  ValueId convolution(ValueId x) {
    const Ints s = shape(x);
    const int64_t kernel = any(0, 2) == 0 ? 1 : std::min<int64_t>(3, std::min(s[2], s[3]));
    const int64_t stride = any(1, 2), padding = any(0, 1);
    int64_t groups = 1, inner = s[1], outer = any(1, 6);
    if (chance(30)) groups = s[1], inner = 1, outer = s[1] * any(1, 2);
    if (chance(10) && s[1] % 2 == 0) groups = 2, inner = s[1] / 2, outer = 2 * any(1, 2);
    const ValueId w = param({outer, inner, kernel, kernel});
    const ValueId bias = chance(40) ? param({outer}) : ValueId::none();
    return b_.call1("convolution", {x, w, bias},
                    attrs({stride, stride}, {padding, padding}, {1, 1}, false, groups));
  }
  ValueId transposed(ValueId x) {
    const Ints s = shape(x);
    if (s[2] * s[3] > 100) return x;
    const ValueId w = param({s[1], any(1, 4), 2, 2});
    return b_.call1("convolution", {x, w, param({static_shape(g_.type(w))[1]})},
                    attrs({2, 2}, {0, 0}, {1, 1}, true, 1));
  }
  ValueId norm(ValueId x) {
    const int64_t c = shape(x)[1];
    return b_.call("_native_batch_norm_legit_functional",
                   {x, param({c}), param({c}), statistic({c}, "mean"), statistic({c}, "var")},
                   {{"training", chance(70)}, {"momentum", 0.1}, {"eps", 1e-2}})[0];
  }
  ValueId pool(ValueId x) {
    const Ints s = shape(x);
    if (std::min(s[2], s[3]) < 2 || chance(20))
      return b_.call1("_adaptive_avg_pool2d", {x}, {{"output_size", Ints{any(1, 3), any(1, 2)}}});
    const Ints two = {2, 2}, one = {1, 1};
    if (chance(50))
      return b_.call("max_pool2d_with_indices", {x},
                     {{"kernel_size", two},
                      {"stride", chance(50) ? two : one},
                      {"padding", chance(50) ? one : Ints{0, 0}},
                      {"ceil_mode", chance(30)}})[0];
    return b_.call1("avg_pool2d", {x},
                    {{"kernel_size", two},
                     {"stride", chance(50) ? two : one},
                     {"padding", chance(50) ? one : Ints{0, 0}},
                     {"ceil_mode", chance(30)},
                     {"count_include_pad", chance(50)}});
  }
  ValueId residual(ValueId x) {
    for (const ValueId y : images_)
      if (y != x && shape(y) == shape(x)) return b_.add(x, y);
    return b_.add(x, x);
  }
  ValueId join(ValueId x) {
    Values parts = {x};
    for (const ValueId y : images_) {
      Ints s = shape(y);
      s[1] = shape(x)[1];
      if (s == shape(x) && parts.size() < 3) parts.push_back(y);
    }
    return b_.cat(parts, 1);
  }
  // As squeeze and excitation.
  ValueId gate(ValueId x) {
    const int64_t c = shape(x)[1];
    const ValueId mean = b_.mean(x, {2, 3}, true);
    const ValueId y = b_.call1("convolution", {mean, param({c, c, 1, 1}), param({c})},
                               attrs({1, 1}, {0, 0}, {1, 1}, false, 1));
    return b_.mul(x, b_.sigmoid(y));
  }
  ValueId pad(ValueId x) {
    return b_.call1("constant_pad_nd", {x}, {{"pad", Ints{any(0, 1), 1, 0, any(-1, 1)}}});
  }
  // A product of rows of channels, as in ConvNeXt.
  ValueId by_rows(ValueId x) {
    const Ints s = shape(x);
    const ValueId rows =
        b_.view(b_.call1("clone", {b_.permute(x, {0, 2, 3, 1})}), {s[0] * s[2] * s[3], s[1]});
    const ValueId y = b_.view(b_.mm(rows, param({s[1], s[1]})), {s[0], s[2], s[3], s[1]});
    return b_.permute(b_.call1("tanh", {y}), {0, 3, 1, 2});
  }
  ValueId softmax(ValueId x) {
    return b_.call1("_softmax", {x}, {{"dim", any(1, 3)}, {"half_to_float", false}});
  }
  ValueId resized(ValueId x) {
    const Ints s = shape(x);
    if (s[2] * s[3] > 60) return x;
    return b_.call1("upsample_nearest2d", {x}, {{"output_size", Ints{2 * s[2], s[3] + 1}}});
  }

  void end() {
    const ValueId x = images_.back();
    const Ints s = shape(x);
    ValueId flat = chance(50) ? b_.mean(x, {2, 3}) : ValueId::none();
    if (flat.is_none()) flat = b_.view(b_.call1("clone", {x}), {s[0], s[1] * s[2] * s[3]});
    const int64_t width = shape(flat)[1];
    g_.add_return({b_.mm(flat, param({width, 3})), ReturnKind::result, {}});
    if (chance(30)) g_.add_return({some(), ReturnKind::result, {}});
  }

  std::mt19937_64 rng_;
  const DType dtype_;
  Graph g_{"main"};
  Builder b_{g_, core()};
  Values images_;
};

Result<random::RandomGraph> network(uint64_t seed, DType dtype) {
  CLEAVE_TRY(random::RandomGraph made, Network(seed, dtype).make());
  if (seed % 3 == 0) return made;
  return random::with_gradients(made, core(), seed);
}

const std::string any_dtype = "channels_last:most_bytes:8";

StageOptions turned(bool makes_products) {
  StageOptions options;
  options.passes_on = {any_dtype + (makes_products ? "" : ":products:0")};
  return options;
}

int64_t calls_of(const Graph& g, const std::string& name) {
  int64_t count = 0;
  for (const NodeId n : g.order()) count += g.node(n).op->name == name;
  return count;
}

Result<Arrays> computed(const Graph& g, const Arrays& inputs) {
  std::vector<const Array*> in;
  for (const Array& a : inputs) in.push_back(&a);
  return interpret(g, in);
}

TEST(ChannelsLast, keeps_what_random_networks_compute) {
  int64_t turned_calls = 0, products = 0;
  for (uint64_t seed = 0; seed < 400; ++seed) {
    const random::RandomGraph r = value_or_throw(network(seed, DType::f32));
    Graph g = r.g;
    const Status ran =
        run_stages(Stage::verify, Stage::dead_code, g, core(), turned(seed % 2 == 0));
    ASSERT_TRUE(ran.ok()) << "seed " << seed << ": " << ran.failure().message << print(r.g);
    EXPECT_EQ(calls_of(g, "convolution") + calls_of(g, "convolution_backward"), 0)
        << "seed " << seed << print(g);
    turned_calls += calls_of(g, "convolution_channels_last");
    products += calls_of(g, "mm") + calls_of(g, "addmm");
    const Arrays want = value_or_throw(computed(r.g, r.inputs));
    const Arrays got = value_or_throw(computed(g, r.inputs));
    ASSERT_EQ(got.size(), want.size());
    for (size_t k = 0; k < want.size(); ++k)
      ASSERT_EQ(test::mismatch(got[k], want[k], 1e-9), "")
          << "seed " << seed << ", result " << k << "\n"
          << print(r.g) << print(g);
  }
  EXPECT_GT(turned_calls, 300);
  EXPECT_GT(products, 300);
}

TEST(ChannelsLast, programs_compute_what_the_others_do) {
  for (uint64_t seed = 1000; seed < 1040; ++seed) {
    const random::RandomGraph r = value_or_throw(network(seed, DType::f32));
    const Arrays want = value_or_throw(computed(r.g, r.inputs));
    const Result<Arrays> got = law::run_graph(r.g, core(), r.inputs, turned(seed % 2 == 0), 2);
    ASSERT_TRUE(got.ok()) << "seed " << seed << ": " << got.failure().message << print(r.g);
    for (size_t k = 0; k < want.size(); ++k)
      ASSERT_EQ(test::mismatch((*got)[k], want[k], 1e-3), "")
          << "seed " << seed << ", result " << k << "\n"
          << print(r.g);
  }
}

TEST(ChannelsLast, reads_an_image_once_and_keeps_no_border_inside) {
  const std::string how =
      "stride=[1,1], padding=[1,1], dilation=[1,1], transposed=false, output_padding=[0,0], "
      "groups=1";
  Graph g = test::parsed(
      "graph @main(%x: input bf16[2,3,8,8], %w: param bf16[4,3,3,3] grad, %u: param bf16[5,4,3,3] "
      "grad) {\n  %y = convolution(%x, %w, none; " +
      how +
      ")\n  %a, %m, %r = _native_batch_norm_legit(%y, none, none, none, none; training=true, "
      "momentum=0.1, eps=0.00001)\n  %z = relu(%a)\n  %p, %i = max_pool2d_with_indices(%z; "
      "kernel_size=[2,2])\n  %v = convolution(%p, %u, none; " +
      how + ")\n  %s = mean(%v; dim=[2,3])\n  return %s\n}\n");
  StageOptions options;
  options.grad = true;
  options.passes_on = {"channels_last"};
  ASSERT_TRUE(run_stages(Stage::autocast, Stage::dead_code, g, core(), options).ok());
  int64_t of_images = 0;
  for (const NodeId n : g.order()) {
    const Type& t = g.type(g.node(n).out(0));
    if (g.node(n).op->name == "permute" && !t.is_none) of_images += t.numel().value() > 5 * 4 * 9;
    EXPECT_FALSE(g.node(n).op->name == "div" && t.dtype == DType::i64) << print(g);  // of indices
  }
  EXPECT_EQ(of_images, 1) << print(g);  // %x
}

// Behind it group norms are folded in the order of memory, with no border inside.
TEST(ChannelsLast, norms_of_groups_go_along) {
  for (const auto& [n, c, h, w, group] :
       {std::array<int64_t, 5>{2, 6, 5, 7, 3}, {1, 8, 6, 6, 2}, {3, 4, 5, 4, 4}, {2, 6, 4, 5, 1}}) {
    const std::string how =
        "stride=[1,1], padding=[1,1], dilation=[1,1], transposed=false, output_padding=[0,0], "
        "groups=1";
    const std::string sizes = fmt::format("N={}, C={}, HxW={}, group={}", n, c, h * w, group);
    const std::string text = fmt::format(
        "graph @main(%x: input f32[{0},3,{2},{3}], %g: input f32[{0},{1},{2},{3}], %w: param "
        "f32[{1},3,3,3], %u: param f32[{1},{1},3,3], %s: param f32[{1}], %b: param f32[{1}]) {{\n"
        "  %a = convolution(%x, %w, none; {4})\n"
        "  %y, %m, %r = native_group_norm(%a, %s, %b; {5}, eps=0.01)\n  %z = silu(%y)\n"
        "  %v = convolution(%z, %u, none; {4})\n"
        "  %k = convolution(%g, %u, none; {4})\n  %d = silu_backward(%k, %y)\n"
        "  %dx, %ds, %db = native_group_norm_backward(%d, %a, %m, %r, %s; {5}, "
        "output_mask=[true,true,true])\n"
        "  %l = convolution(%dx, %u, none; {4})\n  return %v, %l, %m, %r, %ds, %db\n}}\n",
        n, c, h, w, how, sizes);
    const Graph before = test::parsed(text);
    Graph after = before;
    StageOptions options;
    options.passes_on = {any_dtype, "turn_folds:least_elements:1",
                         "split_folds:least_elements:1:most_elements:1:least_first:2"};
    ASSERT_TRUE(run_stages(Stage::verify, Stage::dead_code, after, core(), options).ok());
    int64_t turned = 0;
    for (const NodeId call : after.order())
      turned += after.name(after.node(call).out(0)).ends_with(".turned");
    EXPECT_GT(turned, 10) << print(after);
    const std::map<std::string, Array> by_name = test::random_inputs(before, {});
    Arrays inputs;
    for (const Placeholder& p : before.placeholders())
      inputs.push_back(by_name.at(before.name(p.value)));
    const Arrays want = value_or_throw(computed(before, inputs));
    const Arrays got = value_or_throw(computed(after, inputs));
    for (size_t k = 0; k < want.size(); ++k)
      EXPECT_EQ(test::mismatch(got[k], want[k], 1e-9), "") << "result " << k << "\n" << text;
  }
}

TEST(ChannelsLast, runs_unasked_for_a_gpu_alone) {
  const std::string text =
      "graph @main(%x: input bf16[2,3,8,8], %w: param bf16[4,3,3,3]) {\n  %y = convolution(%x, %w, "
      "none; stride=[1,1], padding=[1,1], dilation=[1,1], transposed=false, output_padding=[0,0], "
      "groups=1)\n  return %y\n}\n";
  const auto turns = [&](const CompileOptions& options) {
    Graph g = test::parsed(text);
    value_or_throw(run_stage(PassStage::decomposed, g, core(), options));
    return calls_of(g, "convolution_channels_last") == 1;
  };
  EXPECT_FALSE(turns({}));
  EXPECT_TRUE(turns({.target = Target::named("sm_90")}));
  EXPECT_TRUE(turns({.device = Device::cuda(0)}));
  EXPECT_TRUE(turns({.passes_on = {"channels_last"}}));
  EXPECT_FALSE(turns({.device = Device::cuda(0), .passes_off = {"channels_last"}}));
  EXPECT_FALSE(turns({.device = Device::cuda(0), .strict = true}));
}

}  // namespace
}  // namespace cleave::channels_last_networks
