// Activations by name: values, and names that aren't there.
#include "pretrained/activation.h"

#include <cmath>

#include "test/pretrained/small.h"
#include "test/trace/traced.h"

namespace cleave::pretrained {
namespace {

double value(const std::string& name, double x) {
  const Activation f = value_or_throw(activation_named(name, "hidden_act"));
  const Graph g = test::traced({{"x", DType::f64, {1}}},
                               [f](const Tensor& t) { return f(t, Location::current()) + 0; });
  return test::run(g, {{"x", test::filled({1}, {x})}})[0].number(0);
}

double gelu_by_erf(double x) { return x / 2 * (1 + std::erf(x / std::sqrt(2))); }
double gelu_by_tanh(double x) {
  return x / 2 * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
}
double sigmoid_of(double x) { return 1 / (1 + std::exp(-x)); }

TEST(Activation, values) {
  for (const double x : {-11.0, -2.5, -0.4, 0.3, 2.0, 12.0}) {
    for (const char* name : {"gelu", "gelu_python"})
      EXPECT_NEAR(value(name, x), gelu_by_erf(x), 1e-9);
    for (const char* name :
         {"gelu_new", "gelu_fast", "gelu_accurate", "gelu_pytorch_tanh", "gelu_python_tanh"})
      EXPECT_NEAR(value(name, x), gelu_by_tanh(x), 1e-9);
    EXPECT_NEAR(value("gelu_10", x), std::min(gelu_by_erf(x), 10.0), 1e-9);
    EXPECT_NEAR(value("quick_gelu", x), x * sigmoid_of(1.702 * x), 1e-9);
    for (const char* name : {"silu", "swish"}) EXPECT_NEAR(value(name, x), x * sigmoid_of(x), 1e-9);
    EXPECT_NEAR(value("sigmoid", x), sigmoid_of(x), 1e-9);
    EXPECT_NEAR(value("tanh", x), std::tanh(x), 1e-9);
    EXPECT_EQ(value("relu", x), std::max(x, 0.0));
    EXPECT_EQ(value("relu6", x), std::min(std::max(x, 0.0), 6.0));
    EXPECT_EQ(value("relu2", x), std::max(x, 0.0) * std::max(x, 0.0));
    EXPECT_EQ(value("leaky_relu", x), x > 0 ? x : 0.01 * x);
    EXPECT_NEAR(value("hardswish", x), x * std::min(std::max(x + 3, 0.0), 6.0) / 6, 1e-9);
    EXPECT_NEAR(value("mish", x), x * std::tanh(std::log1p(std::exp(x))), 1e-9);
    EXPECT_EQ(value("linear", x), x);
  }
}

TEST(Activation, other_names) {
  const auto r = activation_named("xielu", "hidden_act");
  ASSERT_FALSE(r.ok());
  EXPECT_EQ(r.failure().kind, ErrorKind::unsupported);
  EXPECT_EQ(r.failure().message.substr(0, 43), "hidden_act is \"xielu\", cleave has gelu, gel");
}

}  // namespace
}  // namespace cleave::pretrained
