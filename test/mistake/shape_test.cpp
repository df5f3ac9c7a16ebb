// Mistakes with shapes.
#include "test/mistake/mistake.h"

namespace cleave::mistake {
namespace {

MISTAKE(width_of_a_layer, "A layer of another width than its input",
        R"(@)") {
  Generator rng(1);
  Mlp model(rng);  // fc1 is a Linear(2, 8)
  compile(model, [&](const Tensor& x) { return model(x); }, {{"x", f32, {4, 3}}});
}

MISTAKE(layer_deep_in_a_model, "A layer deep in a model",
        R"(@)") {
  Generator rng(1);
  nn::Sequential block(nn::Linear(8, 8, rng), nn::ReLU(), nn::Linear(8, 4, rng));
  nn::Sequential model(nn::Linear(2, 8, rng), block, nn::Linear(8, 1, rng));
  compile(model, [&](const Tensor& x) { return model(x); }, {{"x", f32, {4, 2}}});
}

MISTAKE(flattened_too_late, "A convolution before a dense layer, and no Flatten",
        R"(@)") {
  Generator rng(1);
  nn::Sequential model(nn::Conv2d(1, 4, 3, rng), nn::ReLU(), nn::Linear(4, 10, rng));
  compile(model, [&](const Tensor& x) { return model(x); }, {{"x", f32, {2, 1, 8, 8}}});
}

MISTAKE(channels, "Images with channels last",
        R"(@)") {
  Generator rng(1);
  nn::Sequential model(nn::Conv2d(3, 8, 3, rng));
  compile(model, [&](const Tensor& x) { return model(x); }, {{"image", f32, {1, 32, 32, 3}}});
}

MISTAKE(products, "Operands of a product in the wrong order",
        R"(@)") {
  compile([](const Tensor& x, const Tensor& w) { return matmul(w, x); },
          {{"x", f32, {4, 2}}, {"w", f32, {2, 8}}});
}

MISTAKE(broadcast, "A sum of shapes that don't broadcast",
        R"(@)") {
  compile([](const Tensor& x, const Tensor& y) { return x + y; },
          {{"x", f32, {4, 3}}, {"y", f32, {4}}});
}

MISTAKE(prediction_and_target, "A prediction [N,1] beside targets [N]",
        R"(@)") {
  Generator rng(1);
  Mlp model(rng);
  train_step(model, [&](const Tensor& x, const Tensor& y) { return mse_loss(model(x), y); },
             optim::SGD({}), {{"x", f32, {4, 2}}, {"y", f32, {4}}});
}

MISTAKE(loss_of_many_elements, "A loss that isn't reduced",
        R"(@)") {
  Generator rng(1);
  Mlp model(rng);
  train_step(model, [&](const Tensor& x) { return square(model(x)); }, optim::SGD({}),
             {{"x", f32, {4, 2}}});
}

MISTAKE(view_of_other_elements, "A view of another number of elements",
        R"(@)") {
  compile([](const Tensor& x) { return x.view({5, -1}); }, {{"x", f32, {4, 3}}});
}

MISTAKE(dim_that_is_not_there, "A dim that a tensor doesn't have",
        R"(@)") {
  compile([](const Tensor& x) { return x.mean(2); }, {{"x", f32, {4, 3}}});
}

MISTAKE(index_beyond_the_end, "An index beyond the end",
        R"(@)") {
  compile([](const Tensor& x) { return x[4]; }, {{"x", f32, {4, 3}}});
}

MISTAKE(parts_that_do_not_fit, "Parts that don't fit side by side",
        R"(@)") {
  compile([](const Tensor& x, const Tensor& y) { return cat({x, y}, 1); },
          {{"x", f32, {4, 3}}, {"y", f32, {5, 3}}});
}

MISTAKE(heads, "A width that the heads don't divide",
        R"(@)") {
  Generator rng(1);
  nn::MultiheadAttention attention(10, 3, rng);
}

MISTAKE(one_value_a_channel, "A batch of one for BatchNorm",
        R"(@)") {
  Generator rng(1);
  nn::Sequential model(nn::Linear(2, 4, rng), nn::BatchNorm1d(4));
  train_step(model, [&](const Tensor& x) { return mean(model(x)); }, optim::SGD({}),
             {{"x", f32, {1, 2}}});
}

}  // namespace
}  // namespace cleave::mistake
