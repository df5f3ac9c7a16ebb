#include "import/exported/rules.h"

#include <fmt/format.h>

#include <map>
#include <string>

namespace cleave::exported {
namespace {

using Table = std::map<std::string_view, Rule>;

Table all_rules() {
  Table table;
  for (const std::span<const RuleRow> rows :
       {activation_rules(), bag_rules(),         constructor_rules(), distance_rules(),
        einsum_rules(),     factor_rules(),      index_rules(),       layer_rules(),
        loss_rules(),       margin_rules(),      matrix_rules(),      order_rules(),
        pointwise_rules(),  pool_rules(),        product_rules(),     quantize_rules(),
        random_rules(),     recurrent_rules(),   reduction_rules(),   resize_rules(),
        sampling_rules(),   scan_rules(),        search_rules(),      shape_rules(),
        solve_rules(),      special_rules(),     table_rules(),       tensor_product_rules(),
        unpool_rules(),     weight_norm_rules(), window_rules(),      real_fourier_rules()})
    for (const RuleRow& row : rows) table.emplace(row.name, row.rule);
  return table;
}

}  // namespace

Rule find_rule(std::string_view name, std::string_view overload) {
  static const Table table = all_rules();
  for (const std::string& key : {fmt::format("{}.{}", name, overload), std::string(name)})
    if (const auto at = table.find(key); at != table.end()) return at->second;
  return nullptr;
}

}  // namespace cleave::exported
