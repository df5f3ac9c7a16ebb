#include "test/fuzz/misuse/world.h"

namespace cleave::misuse {
namespace {

// An operator of the host program with one thing wrong, or none.
Operator odd_operator(World& w) {
  const int64_t odd = w.below(16);
  Operator op;
  op.name = odd == 0 ? w.name() : "twice";
  op.signature = odd == 1 ? w.name() : "(Tensor x, *, float by=2.0) -> Tensor y";
  op.infer = [odd](const OpCall& c) {
    if (odd == 2) throw HostThrows();
    if (odd == 3) return std::vector<TensorType>();
    if (odd == 4) return std::vector<TensorType>{{DType::f32, {-3}}};
    if (odd == 5) c.operand(7);
    return std::vector<TensorType>{c.operand(0)};
  };
  op.reference = [odd](const OpCall& c, const HostTensors& in, HostTensors& out) {
    if (odd == 6) throw HostThrows();
    if (odd == 7) out.clear();
    if (odd == 8) out[0] = HostTensor(DType::i64, {1});
    if (odd == 7 || odd == 8) return;
    for (int64_t k = 0; k < in[0].numel(); ++k)
      out[0].set_number(k, in[0].number(k) * c.float_attr(odd == 9 ? "nothing" : "by"));
  };
  op.grad = [odd, leaked = w.tensor()](const OpGradCall& c) {
    if (odd == 10) throw HostThrows();
    if (odd == 11) return Tensors();
    if (odd == 12) return Tensors{leaked};
    if (odd == 13) return Tensors{sum(c.cotangent(0))};
    return Tensors{c.cotangent(0) * c.float_attr("by")};
  };
  op.callback = [odd](const OpCall& c) {
    if (odd == 14) throw HostThrows();
    return [odd, by = static_cast<float>(c.float_attr("by"))](const OpMemory& m) {
      if (odd == 15) m.operand<double>(0);
      for (size_t k = 0; k < m.operand<float>(0).size(); ++k)
        m.result<float>(0)[k] = by * m.operand<float>(0)[k];
    };
  };
  if (w.maybe(12)) op.infer = nullptr;
  if (w.maybe(12)) op.reference = nullptr;
  if (w.maybe(6)) op.grad = nullptr;
  if (w.maybe(12)) op.callback = nullptr;
  if (w.maybe(24))  // C text may do anything, so this is one that is right for no element, too
    op.kernel = [](const OpCall& c) {
      return std::string(c.operand(0).numel() > 0 ? "y[0] = x[0];" : "");
    };
  return op;
}

void add(World& w) {
  Operators ops = w.operators.any(w.rng);
  ops.add(odd_operator(w));
  w.operators.add(ops);
}
void check(World& w) {
  HostTensors operands;
  for (int64_t k = w.maybe(6) ? w.below(3) : 1; k > 0; --k) {
    operands.push_back(w.array());
    if (operands.back().numel() > 64) return;
  }
  const OperatorReport r =
      check_operator(w.operators.any(w.rng), w.maybe(6) ? w.name() : "twice", operands,
                     w.maybe(6) ? Attributes{{w.name(), w.real()}} : Attributes{{"by", w.real()}},
                     {.kernel = w.real(), .gradient = w.real()});
  (void)r.text();
}
void use(World& w) {
  CompileOptions o;
  o.compiler = CompilerChoice::none;
  o.threads = 1;
  o.ops = w.operators.any(w.rng);
  CompiledFunction f = compile([](const Tensor& x) { return call("twice", {x * 1.0})[0]; },
                               {{"x", DType::f32, {4, 3}}}, o);
  f.run({Generator(1).normal({4, 3})});
  w.functions.add(f);
}
void move_away(World& w) {
  const Operators moved = std::move(w.operators.any(w.rng));
  (void)moved.names();
}

}  // namespace

const std::vector<NamedAction>& operator_actions() {
  static const std::vector<NamedAction> all = {{"operator.add", add},
                                               {"operator.check", check},
                                               {"operator.use", use},
                                               {"operator.move", move_away}};
  return all;
}

}  // namespace cleave::misuse
