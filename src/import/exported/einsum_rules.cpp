// einsum of one or two operands, as a product of matrices.
//
//   "bhid,bhjd->bhij"   batch bh, rows i, inner d, columns j: [b*h, i, d] x [b*h, d, j]
//
// More operands are taken from the left, two at a time.
//
//   "bii->bi"    a label that stands for several dims is their diagonal
//   "...ij,jk"   dims that '...' stands for are broadcast; without "->" the result has the labels
//                that occur once, in order
#include <algorithm>

#include "import/exported/rules.h"

namespace cleave::exported {
namespace {

using V = ValueId;
constexpr size_t most_labels = 26;

struct Term {
  V value;
  std::string labels;  // one a dim
};

bool has(const std::string& labels, char l) { return labels.find(l) != labels.npos; }

// The term with its dims in the order of `labels`.
V ordered(Call& c, const Term& t, const std::string& labels) {
  std::vector<int64_t> dims;
  for (const char l : labels) dims.push_back(static_cast<int64_t>(t.labels.find(l)));
  return t.labels == labels ? t.value : c.permute(t.value, dims);
}

// Each label once: the diagonal of the dims that it stands for, as the last dim.
Term diagonals(Call& c, Term t) {
  for (size_t k = 0; k < t.labels.size() && c.ok();) {
    const char label = t.labels[k];
    const size_t again = t.labels.find(label, k + 1);
    if (again == std::string::npos) {
      ++k;
      continue;
    }
    const auto dim1 = static_cast<int64_t>(k), dim2 = static_cast<int64_t>(again);
    if (!(c.size(t.value, dim1) == c.size(t.value, dim2)))
      return {c.fail("einsum: '{}' stands for dims of several sizes of one operand", label), {}};
    t.value = c.op("diagonal", {t.value}, {{"dim1", dim1}, {"dim2", dim2}});
    t.labels.erase(again, 1).erase(k, 1).push_back(label);
  }
  return t;
}

// Sums over the labels that nothing else needs.
Term without(Call& c, Term t, const std::string& needed) {
  std::vector<int64_t> dims;
  std::string kept;
  for (size_t k = 0; k < t.labels.size(); ++k)
    if (has(needed, t.labels[k]))
      kept += t.labels[k];
    else
      dims.push_back(static_cast<int64_t>(k));
  if (dims.empty()) return t;
  return {c.op("sum", {t.value}, {{"dim", dims}}), kept};
}

Dim product(Call& c, const Term& t, const std::string& labels) {
  Dim p = 1;
  for (const char l : labels) p = p * c.size(t.value, static_cast<int64_t>(t.labels.find(l)));
  return p;
}

Term contracted(Call& c, Term a, Term b, const std::string& needed) {
  a = without(c, a, b.labels + needed);
  b = without(c, b, a.labels + needed);
  std::string batch, rows, inner, columns;
  for (const char l : a.labels) (!has(b.labels, l) ? rows : has(needed, l) ? batch : inner) += l;
  for (const char l : b.labels)
    if (!has(a.labels, l)) columns += l;
  Shape size;
  for (const char l : batch + rows) size.push_back(product(c, a, std::string(1, l)));
  for (const char l : columns) size.push_back(product(c, b, std::string(1, l)));
  const Dim n = product(c, a, batch), k = product(c, a, inner);
  const V x = c.view(ordered(c, a, batch + rows + inner), {n, product(c, a, rows), k});
  const V y = c.view(ordered(c, b, batch + inner + columns), {n, k, product(c, b, columns)});
  return {c.view(c.op("bmm", {x, y}), size), batch + rows + columns};
}

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> out(1);
  for (const char ch : text)
    if (ch == at)
      out.emplace_back();
    else
      out.back() += ch;
  return out;
}

// Drops labels of size 1 where another term has more.
void drop_broadcast(Call& c, std::vector<Term>& terms) {
  const auto size = [&](const Term& t, char l) {
    return c.size(t.value, static_cast<int64_t>(t.labels.find(l)));
  };
  std::string wide;  // of which some term has more
  for (const Term& t : terms)
    for (const char l : t.labels)
      if (!(size(t, l) == Dim(1))) wide += l;
  for (Term& t : terms) {
    std::vector<int64_t> dims;
    std::string kept;
    for (const char l : t.labels)
      if (has(wide, l) && size(t, l) == Dim(1))
        dims.push_back(static_cast<int64_t>(t.labels.find(l)));
      else
        kept += l;
    if (!dims.empty()) t = {c.op("squeeze", {t.value}, {{"dim", dims}}), kept};
  }
}

// The result of an equation without one: labels that occur once, in order; dots before them.
std::string alphabetical(const std::vector<std::string>& labels) {
  std::string all, once;
  for (const std::string& l : labels) all += l;
  std::ranges::sort(all);
  for (const char l : all)
    if (l != '.' && std::ranges::count(all, l) == 1) once += l;
  return has(all, '.') ? "..." + once : once;
}

// Dots stand for dims that the operands share from the right: they are named by digits, 0 the last.
bool name_dots(Call& c, std::vector<std::string>& labels, std::string& result, const Values& xs) {
  size_t most = 0;
  std::vector<size_t> hidden(labels.size());
  for (size_t k = 0; k < labels.size(); ++k) {
    const size_t at = labels[k].find("...");
    if (at == std::string::npos) continue;
    const auto rank = static_cast<size_t>(c.rank(xs[k]));
    if (rank + 3 < labels[k].size()) return c.fail("einsum: more labels than dims").valid();
    hidden[k] = rank + 3 - labels[k].size();
    most = std::max(most, hidden[k]);
  }
  if (most > 10) return c.fail("einsum: '...' of {} dims", most).valid();
  std::string names;
  for (size_t d = most; d-- > 0;) names += static_cast<char>('0' + d);
  for (size_t k = 0; k < labels.size(); ++k)
    if (const size_t at = labels[k].find("..."); at != std::string::npos)
      labels[k].replace(at, 3, names.substr(most - hidden[k]));
  if (const size_t at = result.find("..."); at != std::string::npos) result.replace(at, 3, names);
  return true;
}

Values einsum(Call& c) {
  std::string equation = c.text("equation", "");
  std::erase(equation, ' ');
  const size_t arrow = equation.find("->");
  std::vector<std::string> labels = split(equation.substr(0, arrow), ',');
  std::string result = arrow == equation.npos ? alphabetical(labels) : equation.substr(arrow + 2);
  const Values xs = c.tensors("tensors");
  if (!c.ok() || labels.size() != xs.size() || xs.empty())
    return {c.fail("einsum of {} tensors with {} terms", xs.size(), labels.size())};
  if (equation.find('.') != equation.npos && !name_dots(c, labels, result, xs)) return {};
  std::vector<Term> terms;
  for (size_t k = 0; k < xs.size(); ++k) {
    if (std::ssize(labels[k]) != c.rank(xs[k]) || labels[k].size() > most_labels)
      return {c.fail("einsum: the term '{}' of {} labels for a tensor of rank {}", labels[k],
                     labels[k].size(), c.rank(xs[k]))};
    terms.push_back(diagonals(c, {xs[k], labels[k]}));
    if (!c.ok()) return {};
  }
  drop_broadcast(c, terms);
  Term all = terms[0];
  for (size_t k = 1; k < terms.size(); ++k) {
    std::string needed = result;
    for (size_t later = k + 1; later < terms.size(); ++later) needed += terms[later].labels;
    all = contracted(c, all, terms[k], needed);
  }
  all = without(c, all, result);
  if (terms.size() == 1) c.share_arguments();
  std::string a = all.labels, b = result;
  std::ranges::sort(a);
  std::ranges::sort(b);
  if (a != b) return {c.fail("einsum: the result's labels are not those of the operands")};
  return {ordered(c, all, result)};
}

}  // namespace

std::span<const RuleRow> einsum_rules() {
  static constexpr RuleRow rows[] = {{"einsum", einsum}};
  return rows;
}

}  // namespace cleave::exported
