#include "compile/target_warnings.h"

#include <algorithm>

namespace cleave {
namespace {

bool multiplies_bf16(const Thunk& thunk) {
  const auto* call = std::get_if<LibraryCall>(&thunk.work);
  if (call == nullptr) return false;
  const auto* product = std::get_if<GemmSpec>(&call->spec);
  const auto* convolution = std::get_if<ConvolutionSpec>(&call->spec);
  const auto* grouped = std::get_if<GroupedProductSpec>(&call->spec);
  return (product != nullptr && product->dtype == DType::bf16) ||
         (grouped != nullptr && grouped->dtype == DType::bf16) ||
         (convolution != nullptr && convolution->dtype == DType::bf16);
}

}  // namespace

std::vector<Warning> target_warnings(const LoweredProgram& program, const Target& target) {
  if (target.cuda_arch != 0 || target.set >= InstructionSet::avx512bf16 ||
      std::ranges::none_of(program.thunks, multiplies_bf16))
    return {};
  return {{"bf16_emulated",
           fmt::format("the target {} has no AVX512_BF16: products of bf16 values run as those of "
                       "f32, behind conversions, so that they save memory and no time",
                       target.text())}};
}

Warning no_compiler_warning() {
  return {"no_compiler",
          "this machine has no compiler, neither cleave's plug-in with clang nor a program cc: "
          "kernels are interpreted, with the same bits, in 20 to 100 times the time"};
}

}  // namespace cleave
