// Scores of attention in float64, one row at a time: shared by the reference rules of its forms.
#include <cmath>

#include "op/attention.h"
#include "op/reference_sum.h"

namespace cleave {

ScoreRows::ScoreRows(const OpView& op, const Array& query, const Array& key, const Array& value,
                     const Array* mask)
    : query_(query), key_(key), value_(value), mask_(mask), causal_(op.bool_attr("is_causal")) {
  scale_ = op.given("scale") ? op.float_attr("scale") : default_attention_scale(query.shape.back());
  grouped_ = groups_heads(op);
  const auto join = [this](const Array& x) {
    const size_t lead = x.shape.size() - 2;
    if (lead > batch_.size()) batch_.insert(batch_.begin(), lead - batch_.size(), 1);
    for (size_t d = 0; d < lead; ++d) {
      int64_t& size = batch_[batch_.size() - lead + d];
      const bool heads = grouped_ && d + 1 == lead;
      if (x.shape[d] != 1 && !(heads && &x != &query_)) size = x.shape[d];
    }
  };
  join(query);
  join(key);
  join(value);
}

int64_t ScoreRows::begin(const Array& x, std::vector<int64_t> at) const {
  const std::vector<int64_t> lead(x.shape.begin(), x.shape.end() - 2);
  if (grouped_) at.back() /= batch_.back() / lead.back();
  return broadcast_position(at, lead) * x.shape[lead.size()] * x.shape[lead.size() + 1];
}

std::vector<double> ScoreRows::row(const std::vector<int64_t>& at, int64_t row) const {
  const int64_t width = query_.shape.back(), q = query_at(at) + row * width, k = key_at(at);
  std::vector<double> scores(static_cast<size_t>(columns()));
  for (int64_t j = 0; j < columns(); ++j) {
    ReferenceSum sum;
    for (int64_t e = 0; e < width; ++e) sum += query_.f[q + e] * key_.f[k + j * width + e];
    scores[j] = sum * scale_;
    if (causal_ && j > row) scores[j] = -INFINITY;
    if (!mask_) continue;
    std::vector<int64_t> index = at;
    index.push_back(row);
    index.push_back(j);
    const int64_t m = broadcast_position(index, mask_->shape);
    if (mask_->floating())
      scores[j] += mask_->f[m];
    else if (!mask_->i[m])
      scores[j] = -INFINITY;
  }
  return scores;
}

double softmax_row(std::vector<double>& scores) {
  double top = -INFINITY;
  ReferenceSum sum;
  for (double x : scores) top = std::isnan(x) || x > top ? x : top;
  if (top == -INFINITY) {
    for (double& x : scores) x = 0;
    return 0;
  }
  for (double& x : scores) sum += x = std::exp(x - top);
  for (double& x : scores) x /= sum;
  return top + std::log(sum);
}

}  // namespace cleave
