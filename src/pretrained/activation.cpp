#include "pretrained/activation.h"

#include <algorithm>
#include <array>

#include "import/printable.h"

namespace cleave::pretrained {
namespace {

Tensor gelu_erf(const Tensor& x, Location at) { return gelu(x, "none", at); }
Tensor gelu_tanh(const Tensor& x, Location at) { return gelu(x, "tanh", at); }
Tensor gelu_sigmoid(const Tensor& x, Location at) {
  return mul(x, sigmoid(mul(x, 1.702, at), at), at);
}
Tensor gelu_clipped(const Tensor& x, Location at) {
  return clamp(gelu(x, "none", at), -10.0, 10.0, at);
}
Tensor squared_relu(const Tensor& x, Location at) { return square(relu(x, at), at); }
Tensor leaky(const Tensor& x, Location at) { return leaky_relu(x, 0.01, at); }
Tensor identity(const Tensor& x, Location) { return x; }

struct Named {
  std::string_view name;
  Activation function;
};
constexpr std::array table = {
    Named{"gelu", gelu_erf},
    Named{"gelu_10", gelu_clipped},
    Named{"gelu_accurate", gelu_tanh},
    Named{"gelu_fast", gelu_tanh},
    Named{"gelu_new", gelu_tanh},
    Named{"gelu_python", gelu_erf},
    Named{"gelu_python_tanh", gelu_tanh},
    Named{"gelu_pytorch_tanh", gelu_tanh},
    Named{"hardswish", cleave::hardswish},
    Named{"leaky_relu", leaky},
    Named{"linear", identity},
    Named{"mish", cleave::mish},
    Named{"quick_gelu", gelu_sigmoid},
    Named{"relu", cleave::relu},
    Named{"relu2", squared_relu},
    Named{"relu6", cleave::relu6},
    Named{"sigmoid", cleave::sigmoid},
    Named{"silu", cleave::silu},
    Named{"swish", cleave::silu},
    Named{"tanh", cleave::tanh},
};

}  // namespace

Result<Activation> activation_named(const std::string& name, const std::string& field) {
  const auto found = std::ranges::find(table, name, &Named::name);
  if (found != table.end()) return found->function;
  std::string names;
  for (const Named& n : table) names += fmt::format("{}{}", names.empty() ? "" : ", ", n.name);
  return unsupported("{} is {}, cleave has {}", field, printable(name), names);
}

}  // namespace cleave::pretrained
