// A recurrent controller in a loop: inputs and results are trees, and its state goes from each run
// into the next one without being named.
#include <cleave/cleave.h>

#include <cmath>
#include <cstdio>

using namespace cleave;

// A damper that remembers: u = w [x, h], with h a leaky mean of x. Two bodies, each with a state.
struct Controller : nn::Module {
  nn::Linear push;
  explicit Controller(Generator& rng) : push(add_module("push", nn::Linear(2, 1, rng))) {
    push.parameter("weight").set(HostTensor::from<float>({-0.5f, -0.2f}, {1, 2}));
    push.parameter("bias").set(HostTensor(DType::f32, {1}));
  }
  Tree<Tensor> operator()(const Tree<Tensor>& in) const {
    std::vector<Tree<Tensor>> forces, states;
    for (size_t body = 0; body < in["state"].size(); ++body) {
      const Tensor x = in["x"][body].leaf();
      const Tensor h = 0.9 * in["state"][body]["h"].leaf() + 0.1 * x;
      forces.push_back(push(stack({x, h}).view({1, 2})).view({}));
      states.push_back(Tree<Tensor>::map({{"h", h}}));
    }
    return Tree<Tensor>::map({{"force", Tree<Tensor>::list(std::move(forces))},
                              {"state", Tree<Tensor>::list(std::move(states))}});
  }
};

int main() {
  Generator rng(1);
  const Controller controller(rng);
  const InputSpec number{.shape = {}};
  const Tree<InputSpec> state = Tree<InputSpec>::map({{"h", number}});
  CompiledTree step = compile_tree(
      controller, [&](const Tree<Tensor>& in) { return controller(in); },
      Tree<InputSpec>::map({{"x", Tree<InputSpec>::list({number, number})},
                            {"state", Tree<InputSpec>::list({state, state})}}));

  double place[] = {1, -2}, speed[] = {0, 0};
  Tree<HostTensor> last = Tree<HostTensor>::map(
      {{"state",
        Tree<HostTensor>::list({Tree<HostTensor>::map({{"h", HostTensor(DType::f32, {})}}),
                                Tree<HostTensor>::map({{"h", HostTensor(DType::f32, {})}})})}});
  for (int i = 0; i <= 200; ++i) {
    if (i % 50 == 0) std::printf("step %3d  at %8.4f %8.4f\n", i, place[0], place[1]);
    const Tree<InputRef> x = Tree<InputRef>::list({place[0], place[1]});
    last = step.run(Tree<InputRef>::map({{"x", x}, {"state", last["state"]}}));
    for (int body = 0; body < 2; ++body) {
      speed[body] = 0.8 * speed[body] + 0.1 * last["force"][body].leaf().number(0);
      place[body] += speed[body];
    }
  }
  return std::abs(place[0]) + std::abs(place[1]) < 0.05 ? 0 : 1;
}
