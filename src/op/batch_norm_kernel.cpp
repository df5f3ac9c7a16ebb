// The loops of batch norm and its backward: a channel is one piece of the parallel loop: it walks
// over it for each sum and once more for the result.
#include "op/batch_norm.h"
#include "op/line_kernel.h"

namespace cleave {

using loop::Expr;
using loop::Exprs;
using loop::KernelBuilder;
using loop::ReduceOp;

namespace {

struct Number {
  DType t;
  Expr operator()(double v) const { return loop::constant(t, v); }
};

Expr reciprocal_root(const Number& number, const Expr& variance, double eps) {
  return number(1) / unary(loop::Op::sqrt, variance + number(eps));
}

// The factors of one channel's elements: (x - mean) * rstd * weight + bias.
void store_normalised(KernelBuilder& k, const Line& line, const Expr& mean, const Expr& rstd) {
  const Exprs c = line.folded(false);
  const Expr weight = k.has(1) ? k.let(k.load(1, c), "weight") : Expr();
  const Expr bias = k.has(2) ? k.let(k.load(2, c), "bias") : Expr();
  line.each(k, [&](const Exprs& i) {
    Expr y = (k.load(0, i) - mean) * rstd;
    if (weight.defined()) y = y * weight;
    if (bias.defined()) y = y + bias;
    k.store(0, i, y);
  });
}

void lower_evaluation(KernelBuilder& k, const OpView& op, const Number& number) {
  const std::vector<int64_t> shape = static_shape(op.in_type(0));
  if (op.out_count() == 5 && shape[1] > 0)
    k.parallel({shape[1]}, [&](const Exprs& c) {
      k.store(3, c, k.load(3, c));
      k.store(4, c, k.load(4, c));
    });
  for_each_line_in(k, shape, batch_dims(op.in_type(0)), [&](const Line& line) {
    const Exprs c = line.folded(false);
    const Expr mean = k.let(k.load(3, c), "mean");
    const Expr rstd = k.let(reciprocal_root(number, k.load(4, c), op.float_attr("eps")), "rstd");
    store_normalised(k, line, mean, rstd);
  });
}

}  // namespace

void lower_batch_norm(KernelBuilder& k, const OpView& op) {
  const Number number{norm_work(op.in_type(0).dtype)};
  if (op.def().schema.find("training") < 0 || !op.bool_attr("training"))
    return lower_evaluation(k, op, number);
  const std::vector<int64_t> shape = static_shape(op.in_type(0));
  for_each_line_in(k, shape, batch_dims(op.in_type(0)), [&](const Line& line) {
    const Exprs c = line.folded(false);
    const auto count = static_cast<double>(line.count());
    // What all elements have in common is no part of the sum, so that it costs no precision.
    const Expr first = k.let(k.load(0, line.folded(true)), "first");
    const Expr finite = binary(loop::Op::eq, first - first, number(0));
    const Expr base = k.let(select(finite, first, number(0)), "base");
    const Expr sum =
        line.fold(k, ReduceOp::sum, [&](const Exprs& i) { return k.load(0, i) - base; });
    const Expr mean = k.let(base + sum / number(count), "mean");
    const Expr squares = line.fold(k, ReduceOp::sum, [&](const Exprs& i) {
      const Expr off = k.let(k.load(0, i) - mean, "off");
      return off * off;
    });
    const Expr rstd =
        k.let(reciprocal_root(number, squares / number(count), op.float_attr("eps")), "rstd");
    store_normalised(k, line, mean, rstd);
    k.store(1, c, mean);
    k.store(2, c, rstd);
    if (op.out_count() < 5) return;
    const double momentum = op.float_attr("momentum");
    const auto moved = [&](int operand, const Expr& now) {
      return k.load(operand, c) * number(1 - momentum) + now * number(momentum);
    };
    k.store(3, c, moved(3, mean));
    k.store(4, c, moved(4, squares / number(count - 1)));
  });
}

void lower_batch_norm_backward(KernelBuilder& k, const OpView& op) {
  enum { at_grad_out, at_input, at_weight, at_running_mean, at_running_var, at_mean, at_rstd };
  const Number number{norm_work(op.in_type(at_input).dtype)};
  const std::vector<int64_t> shape = static_shape(op.in_type(at_input));
  const bool train = op.bool_attr("train");
  if (numel_of(shape) == 0 && shape[1] > 0 && (k.wanted(1) || k.wanted(2)))
    return k.parallel({shape[1]}, [&](const Exprs& c) {
      k.store(1, c, number(0));
      k.store(2, c, number(0));
    });
  for_each_line_in(k, shape, batch_dims(op.in_type(at_input)), [&](const Line& line) {
    const Exprs c = line.folded(false);
    const Expr mean = k.let(k.load(train ? at_mean : at_running_mean, c), "mean");
    const Expr rstd =
        k.let(train ? k.load(at_rstd, c)
                    : reciprocal_root(number, k.load(at_running_var, c), op.float_attr("eps")),
              "rstd");
    const auto h = [&](const Exprs& i) { return (k.load(at_input, i) - mean) * rstd; };
    const bool through = train && k.wanted(0);  // the statistics move with x
    Expr sum, product;
    if (through || k.wanted(2))
      sum = line.fold(k, ReduceOp::sum, [&](const Exprs& i) { return k.load(at_grad_out, i); });
    if (through || k.wanted(1))
      product = line.fold(k, ReduceOp::sum,
                          [&](const Exprs& i) { return k.load(at_grad_out, i) * h(i); });
    if (k.wanted(1)) k.store(1, c, product);
    if (k.wanted(2)) k.store(2, c, sum);
    if (!k.wanted(0)) return;
    const Expr scale = k.let(k.has(at_weight) ? rstd * k.load(at_weight, c) : rstd, "scale");
    const Expr count = number(static_cast<double>(line.count()));
    const Expr mean_dy = train ? k.let(sum / count, "mean_dy") : Expr();
    const Expr mean_dyh = train ? k.let(product / count, "mean_dyh") : Expr();
    line.each(k, [&](const Exprs& i) {
      Expr d = k.load(at_grad_out, i);
      if (train) d = d - mean_dy - h(i) * mean_dyh;
      k.store(0, i, d * scale);
    });
  });
}

}  // namespace cleave
