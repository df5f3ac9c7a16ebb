// Calls that move, add or leave out elements: what they do to each part alone.
#include <array>

#include "import/exported/complex_rules.h"
#include "import/exported/target.h"

namespace cleave::exported {
namespace {

using V = ValueId;
using Kind = Argument::Kind;

constexpr std::array<std::string_view, 4> same_for_both = {"index", "indices", "mask", "offsets"};
constexpr std::array<std::string_view, 3> numbers = {"value", "fill_value", "values"};

bool among(std::string_view name, std::span<const std::string_view> names) {
  return std::ranges::find(names, name) != names.end();
}

Argument part_of_number(const Argument& a, bool imaginary) {
  Argument out = a;
  if (imaginary || a.kind == Kind::complex) out = Argument();
  out.kind = a.kind == Kind::complex || imaginary ? Kind::floating : a.kind;
  if (a.kind == Kind::complex) out.floating = imaginary ? a.imaginary : a.floating;
  return out;
}

bool is_number(const Argument& a) {
  return a.kind == Kind::complex || a.kind == Kind::floating || a.kind == Kind::integer ||
         a.kind == Kind::boolean;
}

// The arguments that are complex dtypes go: the parts have theirs.
Node node_of_part(const Node& node, bool imaginary) {
  Node out = node;
  for (NamedArgument& a : out.inputs) {
    if (is_number(a.value) && (a.value.kind == Kind::complex || among(a.name, numbers)))
      a.value = part_of_number(a.value, imaginary);
    if (a.value.kind == Kind::dtype && parts_of_code(a.value.number)) a.value = Argument();
  }
  return out;
}

void collect_indices(const Node& node, std::set<std::string>& into) {
  for (const NamedArgument& a : node.inputs)
    if (among(a.name, same_for_both)) collect_tensors(a.value, into);
}

Values of_part(Call& c, bool imaginary) {
  const Node node = node_of_part(c.node(), imaginary);
  std::set<std::string> indices;
  collect_indices(node, indices);
  const DType t = parts_dtype(c);
  Call::Context context = c.context();
  context.tensor = [&](const std::string& name) -> Result<V> {
    CLEAVE_TRY(const V v, c.context().tensor(name));
    if (indices.contains(name)) return v;
    const TensorMeta* m = c.context().meta(name);
    if (m && m->is_complex)
      return c.to(c.op("select", {v}, {{"dim", -1}, {"index", imaginary ? 1 : 0}}), t);
    const V x = c.to(v, t);
    return imaginary ? c.op("zeros_like", {x}) : x;
  };
  Call part(node, c.builder(), context);
  const Target target = parse_target(node.target);
  std::string name = target.name;
  if (name.ends_with('_') && !name.ends_with("__")) name.pop_back();
  Values out;
  if (const Rule rule = find_rule(name, target.overload)) {
    out = rule(part);
  } else if (const OpDef* op = c.builder().ops().find(name)) {
    Result<Values> called = part.direct(*op);
    if (called.ok())
      out = *std::move(called);
    else
      c.builder().fail(std::move(called).failure());
  } else {
    c.fail("the operator {} is not covered", name);
  }
  if (part.is_sharing()) c.share_arguments();
  return c.ok() ? out : Values();
}

}  // namespace

Values of_each_part(Call& c) {
  const Values re = of_part(c, false), im = of_part(c, true);
  Values out;
  for (size_t k = 0; c.ok() && k < std::min(re.size(), im.size()); ++k)
    out.push_back(joined(c, {re[k], im[k]}));
  return out;
}

std::span<const RuleRow> complex_part_rules() {
  static constexpr RuleRow rows[] = {
      {"broadcast_tensors", of_each_part},
      {"column_stack", of_each_part},
      {"constant_pad_nd", of_each_part},
      {"cumsum", of_each_part},
      {"diag_embed", of_each_part},
      {"diagonal_scatter", of_each_part},
      {"diff", of_each_part},
      {"dstack", of_each_part},
      {"fft_fftshift", of_each_part},
      {"fft_ifftshift", of_each_part},
      {"flip", of_each_part},
      {"fliplr", of_each_part},
      {"flipud", of_each_part},
      {"gather", of_each_part},
      {"hstack", of_each_part},
      {"index", of_each_part},
      {"index_add", of_each_part},
      {"index_copy", of_each_part},
      {"index_fill", of_each_part},
      {"index_put", of_each_part},
      {"index_select", of_each_part},
      {"masked_scatter", of_each_part},
      {"meshgrid", of_each_part},
      {"pad", of_each_part},
      {"pixel_shuffle", of_each_part},
      {"pixel_unshuffle", of_each_part},
      {"repeat", of_each_part},
      {"repeat_interleave", of_each_part},
      {"roll", of_each_part},
      {"rot90", of_each_part},
      {"scatter", of_each_part},
      {"scatter_add", of_each_part},
      {"select_scatter", of_each_part},
      {"slice_scatter", of_each_part},
      {"take", of_each_part},
      {"take_along_dim", of_each_part},
      {"tile", of_each_part},
      {"trace", of_each_part},
      {"tril", of_each_part},
      {"triu", of_each_part},
      {"vstack", of_each_part},
  };
  return rows;
}

}  // namespace cleave::exported
