// The gradients of a backward of attention, and of its log-sums: second derivatives go through the
// products and exponentials that a kernel doesn't materialize.
//
//   P = exp(scores - sums)   D = dropout(P)   E = dropout'(g V^T) - sum(g y)   T = P E
//   dQ = scale T K           dK = scale T^T Q                                  dV = D^T g
//
// With cotangents a, b, c of dQ, dK, dV and m of dS, the gradient of the mask:
//   T' = scale (a K^T + Q b^T) + m   P' = T' E + dropout'(g c^T)   S' = P' P   F' = dropout'(T' P)
//   Q' = scale (T b + S' K)       K' = scale (T^T a + S'^T Q)    V' = F'^T g
//   g' = D c + F' V - sum(T' P) y        y' = -sum(T' P) g       sums' = -sum(S')
#include "op/attention.h"

namespace cleave {
namespace {

ValueId flipped(Builder& b, ValueId x) { return b.permute(x, {0, 2, 1}); }

// x + y, where either may be none.
ValueId plus(Builder& b, ValueId x, ValueId y) {
  if (!x.valid()) return y;
  return y.valid() ? b.add(x, y) : x;
}

ValueId row_sums(Builder& b, ValueId x) { return b.sum(x, {-1}, true); }

// Reshapes [n,rows,1] to [*batch,rows].
ValueId as_sums(Builder& b, const AttentionShape& s, ValueId x) {
  return b.squeeze(with_batch(b, s, x), {-1});
}

// P, given or from the scores.
ValueId flat_weights(Builder& b, const AttentionParts& p, const BackwardInputs& in, DType work) {
  if (in.weights.valid()) return without_batch(b, b.convert(in.weights, work));
  return without_batch(b, b.exp(b.sub(p.scores, b.unsqueeze(in.sums, -1))));
}

// T' without its scale; none where dQ and dK have no cotangents.
ValueId product_cotangent(Builder& b, const AttentionParts& p, ValueId of_dq, ValueId of_dk) {
  ValueId t;
  if (of_dq.valid()) t = b.bmm(of_dq, flipped(b, p.key));
  if (of_dk.valid()) t = plus(b, t, b.bmm(p.query, flipped(b, of_dk)));
  return t;
}

}  // namespace

Values sums_grad(Builder& b, const AttentionView& call, ValueId sums, ValueId dsums) {
  const AttentionParts p = attention_parts(b, call);
  const AttentionShape& s = p.shape;
  const ValueId weights = b.exp(b.sub(p.scores, b.unsqueeze(sums, -1)));
  const ValueId dscores = b.mul(weights, b.unsqueeze(dsums, -1));
  const ValueId flat = b.mul(without_batch(b, dscores), call.scale());
  return {from_flat(b, s, b.bmm(flat, p.key), 1, call.type(0)),
          from_flat(b, s, b.bmm(flipped(b, flat), p.query), s.key_group, call.type(1)), dscores};
}

BackwardGrads backward_grads(Builder& b, const AttentionView& call, const BackwardInputs& in,
                             const Values& cotangents) {
  const AttentionParts p = attention_parts(b, call);
  const AttentionShape& s = p.shape;
  const DType work = call.work();
  const double scale = call.scale();
  const ValueId g = without_batch(b, b.convert(in.dout, work));
  const ValueId y = without_batch(b, b.convert(in.out, work));
  const ValueId weights = flat_weights(b, p, in, work);
  const auto drop = [&](ValueId x) {
    return in.kept.valid() ? b.where(in.kept, b.mul(x, in.keep_scale), 0.0) : x;
  };
  const auto cotangent = [&](int k, const Dim& group) {
    return cotangents[k].valid() ? flat_operand(b, s, cotangents[k], group, work) : ValueId();
  };
  const ValueId of_dq = cotangent(0, 1), of_dk = cotangent(1, s.key_group),
                of_dv = cotangent(2, s.value_group);
  const ValueId error = b.sub(drop(b.bmm(g, flipped(b, p.value))), row_sums(b, b.mul(g, y)));
  const ValueId dscores = b.mul(b.mul(weights, error), scale);
  ValueId dq, dk, dv, dg, dy, dweights;
  if (of_dv.valid()) {
    dweights = drop(b.bmm(g, flipped(b, of_dv)));
    dg = b.bmm(drop(weights), of_dv);
  }
  ValueId t = product_cotangent(b, p, of_dq, of_dk);
  if (of_dq.valid()) dk = b.bmm(flipped(b, dscores), of_dq);
  if (of_dk.valid()) dq = b.bmm(dscores, of_dk);
  if (t.valid()) t = b.mul(t, scale);
  if (cotangents.size() > 3 && cotangents[3].valid())
    t = plus(b, t,
             without_batch(b, b.expand(b.convert(cotangents[3], work), s.with(s.rows, s.columns))));
  if (t.valid()) {
    dweights = plus(b, dweights, b.mul(t, error));
    const ValueId derror = b.mul(t, weights), through = drop(derror);
    const ValueId own = b.neg(row_sums(b, derror));
    dg = plus(b, dg, b.add(b.bmm(through, p.value), b.mul(own, y)));
    dy = b.mul(own, g);
    dv = b.bmm(flipped(b, through), g);
  }
  BackwardGrads d;
  if (in.weights.valid()) {
    d.weights = with_batch(b, s, dweights);
  } else {
    const ValueId by_score = b.mul(dweights, weights);
    d.sums = as_sums(b, s, b.neg(row_sums(b, by_score)));
    d.scores = with_batch(b, s, by_score);
    const ValueId scaled = b.mul(by_score, scale);
    dq = plus(b, dq, b.bmm(scaled, p.key));
    dk = plus(b, dk, b.bmm(flipped(b, scaled), p.query));
  }
  const auto back = [&](ValueId x, const Dim& group, int k) {
    return x.valid() ? from_flat(b, s, x, group, call.type(k)) : ValueId();
  };
  d.query = back(dq, 1, 0);
  d.key = back(dk, s.key_group, 1);
  d.value = back(dv, s.value_group, 2);
  const DType dtype = call.type(0).dtype;
  if (dg.valid()) d.dout = b.convert(with_batch(b, s, dg), dtype);
  if (dy.valid()) d.out = b.convert(with_batch(b, s, dy), dtype);
  return d;
}

}  // namespace cleave
