// Products of matrices.
#include <algorithm>
#include <map>

#include "import/onnx/rules.h"

namespace cleave::onnx {

namespace {

// x[..., m, k] y[..., k, n] of equal leading dims.
V batched(Call& c, V x, V y, const Shape& batch) {
  const Shape a = c.shape(x), b = c.shape(y);
  const Dim &m = a[a.size() - 2], &k = a.back(), &n = b.back();
  Shape out = batch;
  out.push_back(m);
  out.push_back(n);
  if (batch.empty()) return c.op("mm", {x, y});
  const Dim count = product_of(batch, 0, batch.size());
  const V p = c.op("bmm", {c.op("reshape", {x}, {{"shape", Shape{count, m, k}}}),
                           c.op("reshape", {y}, {{"shape", Shape{count, k, n}}})});
  return c.view(p, out);
}

V with_batch(Call& c, V x, const Shape& batch) {
  const Shape s = c.shape(x);
  Shape to = batch;
  to.push_back(s[s.size() - 2]);
  to.push_back(s.back());
  return c.expand(x, to);
}

}  // namespace

V Call::matmul(V x, V y) {
  if (!x.valid() || !y.valid()) return {};
  const bool row = rank(x) == 1, column = rank(y) == 1;
  if (rank(x) == 0 || rank(y) == 0) {
    builder_.fail(user_error("a product with a tensor of no dims"));
    return {};
  }
  if (row) x = unsqueeze(x, 0);
  if (column) y = unsqueeze(y, 1);
  if (!x.valid() || !y.valid()) return {};
  const Shape a = shape(x), b = shape(y);
  V p;
  if (b.size() == 2) {  // one matrix for all rows
    const V rows = view(x, {product_of(a, 0, a.size() - 1), a.back()});
    p = op("mm", {rows, y});
    Shape out(a.begin(), a.end() - 1);
    out.push_back(b.back());
    p = view(p, out);
  } else {
    Shape batch;
    const size_t count = std::max(a.size(), b.size()) - 2;
    for (size_t k = 0; k < count; ++k) {
      const Dim d = k + a.size() < count + 2 ? Dim(1) : a[k + a.size() - 2 - count];
      const Dim e = k + b.size() < count + 2 ? Dim(1) : b[k + b.size() - 2 - count];
      batch.push_back(d == Dim(1) ? e : d);
    }
    p = batched(*this, with_batch(*this, x, batch), with_batch(*this, y, batch), batch);
  }
  if (!p.valid()) return {};
  if (row) p = op("squeeze", {p}, {{"dim", Ints{-2}}});
  if (column) p = op("squeeze", {p}, {{"dim", Ints{-1}}});
  return p;
}

namespace {

// Integers by way of f64, in which products of 32 bits and less are exact for sums below 2^53;
// those of 64 bits wrap.
Status mat_mul(Call& c) {
  const Element e = c.element(0);
  if (is_float(e) || bits_of(e) > 32) {
    c.give(0, c.matmul(c.in(0), c.in(1)), e);
    return {};
  }
  const V p = c.matmul(c.convert(c.in(0), DType::f64), c.convert(c.in(1), DType::f64));
  c.give(0, c.convert(p, c.dtype(0)), e);
  return {};
}

Status gemm(Call& c) {
  if (c.rank(0) != 2 || c.rank(1) != 2) return user_error("expected two matrices");
  V a = c.in(0), b = c.in(1);
  if (c.integer("transA") != 0) a = c.permute(a, {1, 0});
  if (c.integer("transB") != 0) b = c.permute(b, {1, 0});
  const double alpha = c.real("alpha", 1), beta = c.real("beta", 1);
  const bool floats = is_float(c.element(0));
  if (!floats) {
    a = c.convert(a, DType::f64);
    b = c.convert(b, DType::f64);
  }
  V y;
  if (c.has(2) && beta != 0 && floats) {
    y = c.op("addmm", {c.in(2), a, b}, {{"beta", beta}, {"alpha", alpha}});
  } else {
    y = c.op("mm", {a, b});
    if (alpha != 1) y = c.mul(y, alpha);
    if (c.has(2) && beta != 0) y = c.add(y, c.mul(c.convert(c.in(2), DType::f64), beta));
  }
  c.give(0, c.convert(y, c.dtype(0)), c.element(0));
  return {};
}

// ---- einsum: two operands at a time, by a batched product

struct Term {
  V v;
  std::vector<int> labels;  // letters; those of an ellipsis from 1000 on, counted from its end
};

// The labels of one operand of that rank.
Result<std::vector<int>> labels_of(const std::string& text, int64_t rank) {
  std::vector<int> out;
  int64_t letters = 0;
  for (const char ch : text) letters += ch != '.';
  for (size_t k = 0; k < text.size(); ++k) {
    if (text[k] == '.') {
      if (text.compare(k, 3, "...") != 0) return user_error("the equation has a single '.'");
      k += 2;
      for (int64_t d = rank - letters; d-- > 0;) out.push_back(1000 + static_cast<int>(d));
    } else {
      out.push_back(text[k]);
    }
  }
  return out;
}

size_t place_of(const std::vector<int>& labels, int label) {
  return static_cast<size_t>(std::ranges::find(labels, label) - labels.begin());
}
bool holds(const std::vector<int>& labels, int label) {
  return place_of(labels, label) < labels.size();
}

// A label that stands twice is a diagonal.
void take_diagonals(Call& c, Term& t) {
  for (size_t i = 0; i < t.labels.size(); ++i)
    for (size_t j = i + 1; j < t.labels.size();) {
      if (t.labels[j] != t.labels[i]) {
        ++j;
        continue;
      }
      const int label = t.labels[i];
      t.v = c.op("diagonal", {t.v},
                 {{"dim1", static_cast<int64_t>(i)}, {"dim2", static_cast<int64_t>(j)}});
      t.labels.erase(t.labels.begin() + static_cast<std::ptrdiff_t>(j));
      t.labels.erase(t.labels.begin() + static_cast<std::ptrdiff_t>(i));
      t.labels.push_back(label);
      if (!t.v.valid()) return;
      i = SIZE_MAX;  // from the beginning
      break;
    }
}

// Sums over the labels that nothing else reads.
void drop_labels(Call& c, Term& t, const std::vector<int>& kept) {
  Ints gone;
  std::vector<int> left;
  for (size_t k = 0; k < t.labels.size(); ++k) {
    if (holds(kept, t.labels[k]))
      left.push_back(t.labels[k]);
    else
      gone.push_back(static_cast<int64_t>(k));
  }
  t.v = c.sum(t.v, gone);
  t.labels = left;
}

// t's dims in the order of the labels, which it all has.
V ordered(Call& c, const Term& t, const std::vector<int>& labels) {
  Ints perm;
  for (const int label : labels) perm.push_back(static_cast<int64_t>(place_of(t.labels, label)));
  return c.permute(t.v, perm);
}

// Drops the dims of 1 that broadcast to another size of the other one's.
void drop_broadcast(Call& c, Term& t, const Term& other) {
  const Shape own = c.shape(t.v), others = c.shape(other.v);
  Ints gone;
  std::vector<int> kept;
  for (size_t k = 0; k < t.labels.size(); ++k) {
    const size_t at = place_of(other.labels, t.labels[k]);
    if (at < other.labels.size() && own[k] == Dim(1) && !(others[at] == Dim(1)))
      gone.push_back(static_cast<int64_t>(k));
    else
      kept.push_back(t.labels[k]);
  }
  if (gone.empty()) return;
  t.v = c.op("squeeze", {t.v}, {{"dim", gone}});
  t.labels = kept;
}

Term multiplied_terms(Call& c, Term a, Term b, const std::vector<int>& later) {
  drop_broadcast(c, a, b);
  drop_broadcast(c, b, a);
  std::vector<int> for_a = later, for_b = later;
  for_a.insert(for_a.end(), b.labels.begin(), b.labels.end());
  for_b.insert(for_b.end(), a.labels.begin(), a.labels.end());
  drop_labels(c, a, for_a);
  drop_labels(c, b, for_b);
  std::vector<int> batch, summed, rows, columns;
  for (const int label : a.labels)
    (!holds(b.labels, label) ? rows : holds(later, label) ? batch : summed).push_back(label);
  for (const int label : b.labels)
    if (!holds(a.labels, label)) columns.push_back(label);
  if (!c.status().ok()) return {};
  const auto size = [&](const Term& t, const std::vector<int>& labels) {
    Shape s;
    for (const int label : labels) s.push_back(c.shape(t.v)[place_of(t.labels, label)]);
    return s;
  };
  const auto all = [](std::initializer_list<std::vector<int>> lists) {
    std::vector<int> out;
    for (const auto& l : lists) out.insert(out.end(), l.begin(), l.end());
    return out;
  };
  const Shape batch_size = size(a, batch), row_size = size(a, rows), sum_size = size(a, summed),
              column_size = size(b, columns);
  const auto count = [](const Shape& s) { return product_of(s, 0, s.size()); };
  const V x = c.op("reshape", {ordered(c, a, all({batch, rows, summed}))},
                   {{"shape", Shape{count(batch_size), count(row_size), count(sum_size)}}});
  const V y = c.op("reshape", {ordered(c, b, all({batch, summed, columns}))},
                   {{"shape", Shape{count(batch_size), count(sum_size), count(column_size)}}});
  Shape out = batch_size;
  out.insert(out.end(), row_size.begin(), row_size.end());
  out.insert(out.end(), column_size.begin(), column_size.end());
  return {c.view(c.op("bmm", {x, y}), out), all({batch, rows, columns})};
}

Status einsum(Call& c) {
  std::string equation = c.text("equation");
  std::erase(equation, ' ');
  const size_t arrow = equation.find("->");
  std::vector<std::string> inputs(1);
  for (const char ch : equation.substr(0, arrow))
    if (ch == ',')
      inputs.emplace_back();
    else
      inputs.back() += ch;
  if (inputs.size() != c.count())
    return user_error("\"{}\" has {} operands, {} are given", equation, inputs.size(), c.count());
  std::vector<Term> terms;
  std::map<int, int> seen;
  int ellipsis = 0;
  for (size_t k = 0; k < inputs.size(); ++k) {
    CLEAVE_TRY(std::vector<int> labels, labels_of(inputs[k], c.rank(k)));
    if (static_cast<int64_t>(labels.size()) != c.rank(k))
      return user_error("\"{}\" is of an operand of {} dims", inputs[k], c.rank(k));
    for (const int label : labels) {
      ++seen[label];
      if (label >= 1000) ellipsis = std::max(ellipsis, label - 999);
    }
    terms.push_back({c.in(k), std::move(labels)});
  }
  std::vector<int> out;
  if (arrow != std::string::npos) {
    const std::string text = equation.substr(arrow + 2);
    const auto letters = std::ranges::count_if(text, [](char ch) { return ch != '.'; });
    CLEAVE_TRY(out,
               labels_of(text, letters + (text.find('.') != std::string::npos ? ellipsis : 0)));
  } else {
    for (int d = ellipsis; d-- > 0;) out.push_back(1000 + d);
    for (const auto& [label, times] : seen)
      if (times == 1 && label < 1000) out.push_back(label);
  }
  for (const int label : out)
    if (!seen.contains(label))
      return user_error("\"{}\" gives a label that no operand has", equation);
  for (Term& t : terms) take_diagonals(c, t);
  Term all = terms[0];
  for (size_t k = 1; k < terms.size() && c.status().ok(); ++k) {
    std::vector<int> later = out;
    for (size_t j = k + 1; j < terms.size(); ++j)
      later.insert(later.end(), terms[j].labels.begin(), terms[j].labels.end());
    all = multiplied_terms(c, std::move(all), terms[k], later);
  }
  if (!c.status().ok()) return {};
  drop_labels(c, all, out);
  c.give(0, ordered(c, all, out), c.element(0));
  return {};
}

// By the first row, of matrices of up to 3 rows.
Status det(Call& c) {
  CLEAVE_TRY(const Ints sizes, c.sizes(0));
  if (sizes.size() < 2 || sizes[sizes.size() - 1] != sizes[sizes.size() - 2])
    return user_error("the operand holds no square matrices");
  const int64_t n = sizes.back();
  if (n < 1 || n > 3) return unsupported("matrices of {} rows, expected 1 to 3", n);
  const V x = c.in(0);
  const auto at = [&](int64_t i, int64_t k) { return c.select(c.select(x, -2, i), -1, k); };
  const auto minor = [&](int64_t i, int64_t k, int64_t l) {  // of rows i and i + 1
    return c.sub(c.mul(at(i, k), at(i + 1, l)), c.mul(at(i, l), at(i + 1, k)));
  };
  V y = n == 1 ? at(0, 0) : minor(0, 0, 1);
  if (n == 3)
    y = c.add(c.sub(c.mul(at(0, 0), minor(1, 1, 2)), c.mul(at(0, 1), minor(1, 0, 2))),
              c.mul(at(0, 2), minor(1, 0, 1)));
  c.give(0, y, c.element(0));
  return {};
}

constexpr RuleEntry entries[] = {
    {"MatMul", mat_mul}, {"Gemm", gemm}, {"Einsum", einsum}, {"Det", det}};

}  // namespace

std::span<const RuleEntry> product_rules() { return entries; }

}  // namespace cleave::onnx
