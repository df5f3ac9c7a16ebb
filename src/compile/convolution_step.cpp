#include "compile/convolution_step.h"

namespace cleave {
namespace {

runtime::ConvolutionProduct product_of(loop::ConvolutionForm::Product product) {
  using Form = loop::ConvolutionForm::Product;
  using runtime::ConvolutionProduct;
  return product == Form::to_small   ? ConvolutionProduct::to_small
         : product == Form::to_large ? ConvolutionProduct::to_large
                                     : ConvolutionProduct::to_weight;
}

runtime::ConvolutionSpec spec_of(const ConvolutionCall& call) {
  const loop::ConvolutionForm& f = call.form;
  return {.product = product_of(f.product),
          .dtype = call.dtype,
          .images = f.images,
          .large_channels = f.large_channels,
          .small_channels = f.small_channels,
          .groups = f.groups,
          .large = f.large,
          .small = f.small,
          .kernel = f.kernel,
          .stride = f.stride,
          .padding = f.padding,
          .dilation = f.dilation,
          .has_bias = call.bias.has_value()};
}

}  // namespace

void ConvolutionStep::run(const ConvolutionCall& call, std::span<std::byte* const> base,
                          Executor& executor) const {
  const auto at = [&](const ConvolutionCall::Place& p) {
    return base[p.storage] + p.offset * size_of(call.dtype);
  };
  product->run({at(call.image), at(call.other), call.bias ? at(*call.bias) : nullptr, at(call.out)},
               call.scratch ? base[*call.scratch] : nullptr, executor);
}

Result<std::vector<ConvolutionStep>> add_convolutions(LoweredProgram& program,
                                                      const Target& target) {
  std::vector<ConvolutionStep> convolutions;
  for (Step& step : program.steps) {
    auto* call = std::get_if<ConvolutionCall>(&step.work);
    if (!call) continue;
    ConvolutionStep convolution;
    CLEAVE_TRY(convolution.product, runtime::Convolution::make(spec_of(*call), target));
    call->scratch = add_workspace(program, step.name, convolution.product->scratch_bytes());
    convolutions.push_back(std::move(convolution));
  }
  return convolutions;
}

}  // namespace cleave
