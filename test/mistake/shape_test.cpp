// Mistakes with shapes.
#include "test/mistake/mistake.h"

namespace cleave::mistake {
namespace {

MISTAKE(width_of_a_layer, "A layer of another width than its input",
        "mlp.h:6: linear: input f32[4,3] and weight f32[8,2]: expected [*, in] and "
        "[out, in]\n"
        "  in module `fc1`") {
  Generator rng(1);
  Mlp model(rng);  // fc1 is a Linear(2, 8)
  compile(model, [&](const Tensor& x) { return model(x); }, {{"x", f32, {4, 3}}});
}

MISTAKE(layer_deep_in_a_model, "A layer deep in a model",
        "program.cpp:4: linear: input f32[4,4] and weight f32[1,8]: expected [*, in] "
        "and [out, in]\n"
        "  in module `2`") {
  Generator rng(1);
  nn::Sequential block(nn::Linear(8, 8, rng), nn::ReLU(), nn::Linear(8, 4, rng));
  nn::Sequential model(nn::Linear(2, 8, rng), block, nn::Linear(8, 1, rng));
  compile(model, [&](const Tensor& x) { return model(x); }, {{"x", f32, {4, 2}}});
}

MISTAKE(flattened_too_late, "A convolution before a dense layer, and no Flatten",
        "program.cpp:3: linear: input f32[2,4,6,6] and weight f32[10,4]: expected [*, "
        "in] and [out, in]\n"
        "  in module `2`") {
  Generator rng(1);
  nn::Sequential model(nn::Conv2d(1, 4, 3, rng), nn::ReLU(), nn::Linear(4, 10, rng));
  compile(model, [&](const Tensor& x) { return model(x); }, {{"x", f32, {2, 1, 8, 8}}});
}

MISTAKE(channels, "Images with channels last",
        "program.cpp:3: convolution: C4: channels of input and dim 1 of weight, times "
        "groups: 32 and 3, expected equal\n"
        "  in convolution(%image: f32[1,32,32,3], %0.weight: f32[8,3,3,3], %0.bias: "
        "f32[8])\n"
        "  in module `0`") {
  Generator rng(1);
  nn::Sequential model(nn::Conv2d(3, 8, 3, rng));
  compile(model, [&](const Tensor& x) { return model(x); }, {{"image", f32, {1, 32, 32, 3}}});
}

MISTAKE(products, "Operands of a product in the wrong order",
        "program.cpp:1: matmul: the inner dims differ, 8 and 4: f32[2,8] and f32[4,2]") {
  compile([](const Tensor& x, const Tensor& w) { return matmul(w, x); },
          {{"x", f32, {4, 2}}, {"w", f32, {2, 8}}});
}

MISTAKE(broadcast, "A sum of shapes that don't broadcast",
        "program.cpp:1: add: C1: shapes [4,3] and [4] don't broadcast: dim -1 is 3 and "
        "4, expected equal sizes or 1\n"
        "  in add(%x: f32[4,3], %y: f32[4])") {
  compile([](const Tensor& x, const Tensor& y) { return x + y; },
          {{"x", f32, {4, 3}}, {"y", f32, {4}}});
}

MISTAKE(prediction_and_target, "A prediction [N,1] beside targets [N]",
        "program.cpp:3: mse_loss: input f32[4,1] and target f32[4] differ in shape") {
  Generator rng(1);
  Mlp model(rng);
  train_step(model, [&](const Tensor& x, const Tensor& y) { return mse_loss(model(x), y); },
             optim::SGD({}), {{"x", f32, {4, 2}}, {"y", f32, {4}}});
}

MISTAKE(loss_of_many_elements, "A loss that isn't reduced",
        "program.cpp:3: train_step: the loss is f32[4,1], expected a floating Tensor of "
        "one element") {
  Generator rng(1);
  Mlp model(rng);
  train_step(model, [&](const Tensor& x) { return square(model(x)); }, optim::SGD({}),
             {{"x", f32, {4, 2}}});
}

MISTAKE(view_of_other_elements, "A view of another number of elements",
        "program.cpp:1: view: C3: [5,-1] can't hold the 12 elements of self: f32[4,3], "
        "expected as many\n"
        "  in view(%x: f32[4,3])") {
  compile([](const Tensor& x) { return x.view({5, -1}); }, {{"x", f32, {4, 3}}});
}

MISTAKE(dim_that_is_not_there, "A dim that a tensor doesn't have",
        "program.cpp:1: mean: C1: dim 2 is outside [-2, 2) of self: f32[4,3]\n"
        "  in mean(%x: f32[4,3])") {
  compile([](const Tensor& x) { return x.mean(2); }, {{"x", f32, {4, 3}}});
}

MISTAKE(index_beyond_the_end, "An index beyond the end",
        "program.cpp:1: select: C3: index 4 is outside [-4, 4) of dim 0 of self: "
        "f32[4,3]\n"
        "  in select(%x: f32[4,3])") {
  compile([](const Tensor& x) { return x[4]; }, {{"x", f32, {4, 3}}});
}

MISTAKE(parts_that_do_not_fit, "Parts that don't fit side by side",
        "program.cpp:1: cat: C5: dim 0 of tensors 0 and 1: 4 and 5, expected equal\n"
        "  in cat([%x: f32[4,3], %y: f32[5,3]])") {
  compile([](const Tensor& x, const Tensor& y) { return cat({x, y}, 1); },
          {{"x", f32, {4, 3}}, {"y", f32, {5, 3}}});
}

MISTAKE(heads, "A width that the heads don't divide",
        "nn::MultiheadAttention: embed_dim 10 is not divisible by num_heads 3") {
  Generator rng(1);
  nn::MultiheadAttention attention(10, 3, rng);
}

MISTAKE(one_value_a_channel, "A batch of one for BatchNorm",
        "program.cpp:3: nn::BatchNorm1d: f32[1,4] has one value in each channel, whose "
        "variance is 0 and average the value itself; a training step takes at least two\n"
        "  in module `1`") {
  Generator rng(1);
  nn::Sequential model(nn::Linear(2, 4, rng), nn::BatchNorm1d(4));
  train_step(model, [&](const Tensor& x) { return mean(model(x)); }, optim::SGD({}),
             {{"x", f32, {1, 2}}});
}

}  // namespace
}  // namespace cleave::mistake
