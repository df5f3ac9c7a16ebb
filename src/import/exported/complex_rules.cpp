#include "import/exported/complex_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "import/exported/complex_views.h"
#include "import/exported/target.h"

namespace cleave::exported {
namespace {

using Kind = Argument::Kind;
using Table = std::map<std::string_view, Rule>;

Table all_rules() {
  Table table;
  for (const std::span<const RuleRow> rows :
       {complex_fourier_rules(), complex_part_rules(), complex_pointwise_rules(),
        complex_product_rules(), complex_reduction_rules(), complex_shape_rules()})
    for (const RuleRow& row : rows) table.emplace(row.name, row.rule);
  return table;
}

bool is_complex(const Argument& a, const Graph& source) {
  if (a.kind == Kind::complex) return true;
  if (a.kind == Kind::tensor) {
    const auto at = source.tensors.find(a.text);
    return at != source.tensors.end() && at->second.is_complex;
  }
  return a.kind == Kind::list && std::ranges::any_of(a.items, [&](const Argument& item) {
           return is_complex(item, source);
         });
}

}  // namespace

bool touches_complex(const Node& node, const Graph& source) {
  const auto touches = [&](const Argument& a) { return is_complex(a, source); };
  return std::ranges::any_of(node.outputs, touches) ||
         std::ranges::any_of(node.inputs, touches, &NamedArgument::value);
}

Rule find_complex_rule(std::string_view name, std::string_view overload) {
  static const Table table = all_rules();
  for (const std::string& key : {fmt::format("{}.{}", name, overload), std::string(name)})
    if (const auto at = table.find(key); at != table.end()) return at->second;
  return nullptr;
}

bool covers_complex(std::string_view name, std::string_view overload) {
  return find_complex_rule(name, overload) || is_complex_view(name);
}

}  // namespace cleave::exported
