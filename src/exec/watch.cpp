#include "exec/watch.h"

#include <algorithm>

#include "base/edit_distance.h"
#include "ir/print.h"

namespace cleave {

Watch::Watch(const std::vector<std::string>& names) : missing_(names) {
  for (std::string& name : missing_) name = plain_name(name);
  std::ranges::sort(missing_);
  const auto doubles = std::ranges::unique(missing_);
  missing_.erase(doubles.begin(), doubles.end());
}

void Watch::find(const Graph& g) {
  std::erase_if(missing_, [&](const std::string& name) {
    if (const ValueId v = g.find(name); v.valid()) values_[name] = v;
    return has(name);
  });
}

void Watch::add_returns(std::vector<Return>& returns) const {
  for (const auto& [name, v] : values_) returns.push_back({v});
}

void Watch::take_returns(const Graph& g, size_t& k) {
  for (auto& [name, v] : values_) v = g.returns()[k++].value;
}

std::map<std::string, size_t> Watch::positions(size_t first) const {
  std::map<std::string, size_t> out;
  for (const auto& [name, v] : values_) out[name] = first++;
  return out;
}

namespace {

void offer_names(NearestName& nearest, const Graph& g) {
  for (const Placeholder& p : g.placeholders()) nearest.offer(g.name(p.value));
  for (const NodeId n : g.order())
    for (uint32_t k = 0; k < g.node(n).output_count; ++k) nearest.offer(g.name(g.node(n).out(k)));
}

// The name of a subgraph that has a value of this name; empty if none has.
std::string inside(const Graph& g, const std::string& name) {
  for (const GraphRef& sub : subgraphs_in_order(g, {}))
    if (sub->find(name).valid()) return sub->name();
  return "";
}

}  // namespace

Status Watch::require_all(const Graph& g) const {
  if (missing_.empty()) return {};
  const std::string& name = missing_.front();
  if (name.empty()) return user_error("watch: a name is empty");
  if (const std::string sub = inside(g, name); !sub.empty())
    return user_error(
        "watch: %{} is inside the branch or loop @{}, whose values aren't kept; make it a result "
        "of the branch or the loop",
        name, sub);
  NearestName nearest(name);
  offer_names(nearest, g);
  return user_error("watch: there is no value %{}{}; graph_text() shows all, .named() names one",
                    name, nearest.best().empty() ? "" : "; the nearest is %" + nearest.best());
}

std::string plain_name(const std::string& name) {
  return name.starts_with('%') ? name.substr(1) : name;
}

Result<size_t> watched_position(const std::string& what,
                                const std::map<std::string, size_t>& positions,
                                const std::string& name) {
  if (const auto found = positions.find(plain_name(name)); found != positions.end())
    return found->second;
  std::vector<std::string> names;
  for (const auto& [known, k] : positions) names.push_back(known);
  return user_error("{}: value(\"{}\") isn't watched; {}", what, name,
                    names.empty() ? "CompileOptions::watch names the values that are"
                                  : fmt::format("watched are {}", fmt::join(names, ", ")));
}

}  // namespace cleave
