// Losses. Ignored targets read class 0, and their loss is set to 0 afterwards. Under autocast
// losses run in f32, as in PyTorch: their operands are cast explicitly, since the operators that
// they are composed of would follow their operands' dtype.
#include "cleave/loss.h"
#include "trace/record.h"
#include "trace/tracing.h"

namespace cleave {

using trace::require_defined;

namespace {

Tensor reduced(const char* op, const Tensor& losses, Reduction reduction, Location at) {
  switch (reduction) {
    case Reduction::mean: return mean(losses, {}, false, at);
    case Reduction::sum: return sum(losses, {}, false, at);
    case Reduction::none: return losses;
    case Reduction::batchmean: break;
  }
  trace::refuse(at, "{}: reduction batchmean is of kl_div alone", op);
}

void require_pair(const char* op, const Tensor& input, const Tensor& target, Location at) {
  require_defined(op, "input", input, at);
  require_defined(op, "target", target, at);
  if (input.sizes() != target.sizes())
    trace::refuse(at, "{}: input {} and target {} differ in shape", op, input.type_text(),
                  target.type_text());
}

// Casts operands to f32 when recording for autocast; f64, integers and undefined Tensors stay.
class Widening {
 public:
  Widening(const char* op, const std::vector<trace::Arg>& operands, Location at)
      : on_(trace::common_recording(op, operands, at)->is_autocast()), at_(at) {}
  Tensor operator()(const Tensor& x) const {
    if (!on_ || !x.defined() || !is_floating(x.dtype()) || x.dtype() == DType::f64) return x;
    return trace::record1("_to_copy", {x}, {{"dtype", DType::f32}}, at_);
  }

 private:
  bool on_;
  Location at_;
};

int64_t class_dim(const Tensor& input) { return input.dim() == 1 ? 0 : 1; }

void require_classes(const char* op, const Tensor& input, const Tensor& weight, Location at) {
  const int64_t classes = input.size(class_dim(input));
  if (weight.defined() && weight.sizes() != Sizes{classes})
    trace::refuse(at, "{}: weight is {}, expected [{}]", op, weight.type_text(), classes);
}

bool indexes(const Tensor& input, const Tensor& target) {
  Sizes expected = input.sizes();
  if (expected.empty()) return false;
  expected.erase(expected.begin() + class_dim(input));
  return target.sizes() == expected && is_integer(target.dtype());
}

// The losses and weights of the targets, 0 for ignored ones.
struct Picked {
  Tensor counts;   // bool: not ignored
  Tensor weights;  // undefined: 1 for each that counts
  Tensor losses;
};

Picked pick(const char* op, const Tensor& logp, const Tensor& target, int64_t ignore_index,
            const Tensor& weight, Location at) {
  const trace::Within function(&trace::Tracing::function, op);
  const int64_t dim = class_dim(logp);
  Picked p;
  p.counts = ne(target, ignore_index, at);
  const Tensor safe = where(p.counts, target, 0, at);
  const Tensor picked = squeeze(gather(logp, dim, unsqueeze(safe, dim, at), at), dim, at);
  p.losses = where(p.counts, neg(picked, at), 0.0, at);
  if (!weight.defined()) return p;
  const Tensor each = index_select(weight, 0, view(safe, {safe.numel()}, at), at);
  p.weights = where(p.counts, view(each, safe.sizes(), at), 0.0, at);
  p.losses = mul(p.losses, p.weights, at);
  return p;
}

// f16 and bf16 are summed in f32: a mean is in their range where the sum and the count aren't.
Tensor reduced(const char* op, const Picked& p, Reduction reduction, Location at) {
  if (reduction != Reduction::mean) return reduced(op, p.losses, reduction, at);
  const DType t = p.losses.dtype(), sums = t == DType::f64 ? t : DType::f32;
  const auto sum_of = [&](const Tensor& x) { return sum(to(x, sums, at), {}, false, at); };
  const Tensor count =
      p.weights.defined() ? sum_of(p.weights) : to(sum(p.counts, {}, false, at), sums, at);
  return to(div(sum_of(p.losses), count, "", at), t, at);
}

// Reshapes weight [C] so that it broadcasts along the classes of `like`.
Tensor along_classes(const Tensor& weight, const Tensor& like, Location at) {
  Sizes shape(static_cast<size_t>(like.dim()), 1);
  shape[class_dim(like)] = weight.numel();
  return view(weight, shape, at);
}

// The loss for targets that are probabilities.
Tensor expected_loss(const Tensor& logp, const Tensor& target, const Tensor& weight,
                     const CrossEntropyOptions& o, Location at) {
  const int64_t dim = class_dim(logp);
  const double classes = static_cast<double>(logp.size(dim));
  Tensor p = target;
  if (o.label_smoothing > 0)
    p = add(mul(p, 1 - o.label_smoothing, at), o.label_smoothing / classes, 1, at);
  Tensor terms = mul(logp, p, at);
  if (weight.defined()) terms = mul(terms, along_classes(weight, logp, at), at);
  const Tensor losses = neg(sum(terms, dim, false, at), at);
  return reduced("cross_entropy", losses, o.reduction, at);
}

}  // namespace

Tensor nll_loss(const Tensor& input, const Tensor& target, const NllLossOptions& options,
                Location at) {
  require_defined("nll_loss", "input", input, at);
  require_defined("nll_loss", "target", target, at);
  if (!indexes(input, target))
    trace::refuse(at, "nll_loss: input {} and target {}: expected [N,C,*] and i64[N,*]",
                  input.type_text(), target.type_text());
  require_classes("nll_loss", input, options.weight, at);
  const Widening wide("nll_loss", {input, target}, at);
  const Picked p =
      pick("nll_loss", wide(input), target, options.ignore_index, wide(options.weight), at);
  return reduced("nll_loss", p, options.reduction, at);
}

// With label smoothing s: (1 - s) nll + s/C * sum_c -weight[c] log_softmax(input)[i, c].
Tensor cross_entropy(const Tensor& input, const Tensor& target, const CrossEntropyOptions& options,
                     Location at) {
  require_defined("cross_entropy", "input", input, at);
  require_defined("cross_entropy", "target", target, at);
  const bool probabilities =
      is_floating(target.dtype()) && target.sizes() == input.sizes() && input.dim() > 0;
  if (!probabilities && !indexes(input, target))
    trace::refuse(at,
                  "cross_entropy: input {} and target {}: expected [N,C,*] and i64[N,*], or "
                  "probabilities of input's shape",
                  input.type_text(), target.type_text());
  require_classes("cross_entropy", input, options.weight, at);
  const double smoothing = options.label_smoothing;
  if (!(smoothing >= 0 && smoothing <= 1))
    trace::refuse(at, "cross_entropy: label_smoothing is {}, expected 0 <= label_smoothing <= 1",
                  smoothing);
  const int64_t dim = class_dim(input);
  const Widening wide("cross_entropy", {input, target}, at);
  const Tensor logp = log_softmax(wide(input), dim, at);
  const Tensor weight = wide(options.weight);
  if (probabilities) return expected_loss(logp, wide(target), weight, options, at);
  Picked p = pick("cross_entropy", logp, target, options.ignore_index, weight, at);
  if (smoothing > 0) {
    const Tensor each = weight.defined() ? mul(logp, along_classes(weight, logp, at), at) : logp;
    const Tensor spread = where(p.counts, neg(mean(each, {dim}, false, at), at), 0.0, at);
    p.losses = add(mul(p.losses, 1 - smoothing, at), mul(spread, smoothing, at), 1, at);
  }
  return reduced("cross_entropy", p, options.reduction, at);
}

// (1 - t) x - (1 + (pos_weight - 1) t) logsigmoid(x), as in PyTorch.
Tensor binary_cross_entropy_with_logits(const Tensor& given, const Tensor& given_target,
                                        const BceWithLogitsOptions& options, Location at) {
  const char* op = "binary_cross_entropy_with_logits";
  require_pair(op, given, given_target, at);
  const Widening wide(op, {given, given_target}, at);
  const Tensor input = wide(given), target = wide(given_target);
  Tensor log = logsigmoid(input, at);
  if (options.pos_weight.defined()) {
    const Tensor more = mul(sub(wide(options.pos_weight), 1, 1, at), target, at);
    log = mul(add(more, 1, 1, at), log, at);
  }
  Tensor losses = sub(mul(sub(1, target, 1, at), input, at), log, 1, at);
  if (options.weight.defined()) losses = mul(losses, wide(options.weight), at);
  return reduced(op, losses, options.reduction, at);
}

namespace {

Tensor difference(const char* op, const Tensor& input, const Tensor& target, Location at) {
  require_pair(op, input, target, at);
  const Widening wide(op, {input, target}, at);
  return sub(wide(input), wide(target), 1, at);
}

}  // namespace

Tensor mse_loss(const Tensor& input, const Tensor& target, Reduction reduction, Location at) {
  return reduced("mse_loss", square(difference("mse_loss", input, target, at), at), reduction, at);
}

Tensor l1_loss(const Tensor& input, const Tensor& target, Reduction reduction, Location at) {
  return reduced("l1_loss", abs(difference("l1_loss", input, target, at), at), reduction, at);
}

Tensor smooth_l1_loss(const Tensor& input, const Tensor& target, Reduction reduction, double beta,
                      Location at) {
  if (!(beta >= 0)) trace::refuse(at, "smooth_l1_loss: beta is {}, expected 0 or more", beta);
  if (beta == 0) return l1_loss(input, target, reduction, at);
  const Tensor d = abs(difference("smooth_l1_loss", input, target, at), at);
  const Tensor near = div(mul(mul(d, 0.5, at), d, at), beta, "", at);
  const Tensor losses = where(lt(d, beta, at), near, sub(d, 0.5 * beta, 1, at), at);
  return reduced("smooth_l1_loss", losses, reduction, at);
}

Tensor huber_loss(const Tensor& input, const Tensor& target, Reduction reduction, double delta,
                  Location at) {
  if (!(delta > 0)) trace::refuse(at, "huber_loss: delta is {}, expected more than 0", delta);
  const Tensor d = abs(difference("huber_loss", input, target, at), at);
  const Tensor near = mul(mul(d, 0.5, at), d, at);
  const Tensor far = mul(sub(d, 0.5 * delta, 1, at), delta, at);
  return reduced("huber_loss", where(le(d, delta, at), near, far, at), reduction, at);
}

Tensor kl_div(const Tensor& given, const Tensor& given_target, const KlDivOptions& options,
              Location at) {
  require_pair("kl_div", given, given_target, at);
  const Widening wide("kl_div", {given, given_target}, at);
  const Tensor input = wide(given), target = wide(given_target);
  Tensor losses;
  if (options.log_target) {
    losses = mul(exp(target, at), sub(target, input, 1, at), at);
  } else {
    // log(1) where target is 0, so that the gradient isn't 0 * inf.
    const Tensor log_target = log(where(eq(target, 0, at), 1.0, target, at), at);
    losses = sub(mul(target, log_target, at), mul(target, input, at), 1, at);
  }
  if (options.reduction != Reduction::batchmean)
    return reduced("kl_div", losses, options.reduction, at);
  if (input.dim() == 0) trace::refuse(at, "kl_div: batchmean of a tensor without dims");
  return div(sum(losses, {}, false, at), static_cast<double>(input.size(0)), "", at);
}

}  // namespace cleave
