#include "tool/remat_graph.h"

#include <simdjson.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>

namespace cleave::tool {
namespace {

namespace dom = simdjson::dom;
using plan::Link;
using plan::Task;
using plan::TaskId;

constexpr size_t deepest_nesting = 64;
constexpr size_t longest_shown = 60;

std::optional<NodeName> name_in(const dom::element& value) {
  int64_t number = 0;
  std::string_view text;
  if (value.get_int64().get(number) == simdjson::SUCCESS) return NodeName(number);
  if (value.get_string().get(text) == simdjson::SUCCESS) return NodeName(std::string(text));
  return std::nullopt;
}

// The element of the first key, else of the second one.
std::optional<dom::element> either(const dom::object& object, const char* first,
                                   const char* second) {
  dom::element value;
  if (object.at_key(first).get(value) == simdjson::SUCCESS) return value;
  if (object.at_key(second).get(value) == simdjson::SUCCESS) return value;
  return std::nullopt;
}

Result<int64_t> amount(const dom::object& node, const char* first, const char* second) {
  const auto value = either(node, first, second);
  if (!value) return user_error("there is neither {} nor {}", first, second);
  int64_t number = 0;
  if (value->get_int64().get(number) != simdjson::SUCCESS)
    return user_error("{} (or {}) is no integer of 64 bits", first, second);
  if (number < 0) return user_error("{} (or {}) is {}, expected 0 or more", first, second, number);
  return number;
}

class Reader {
 public:
  Result<RematGraph> read(const dom::object& root) {
    CLEAVE_CHECK(read_nodes(root));
    CLEAVE_CHECK(read_links(root));
    if (const auto cycle = plan::find_cycle(tasks_.size(), links_); !cycle.empty())
      return user_error("nodes {} form a cycle; a node may not need itself", path(cycle));
    CLEAVE_TRY(out_.graph, plan::make_task_graph(std::move(tasks_), links_));
    CLEAVE_CHECK(read_order(root));
    return std::move(out_);
  }

 private:
  Status read_nodes(const dom::object& root) {
    dom::array nodes;
    if (root.at_key("nodes").get_array().get(nodes) != simdjson::SUCCESS)
      return user_error("nodes: expected an array of objects");
    size_t index = 0;
    for (const dom::element element : nodes) {
      dom::object node;
      if (element.get_object().get(node) != simdjson::SUCCESS)
        return user_error("nodes[{}]: expected an object", index);
      const auto key = either(node, "id", "name");
      const auto name = key ? name_in(*key) : std::nullopt;
      if (!name)
        return user_error("nodes[{}]: expected an integer or a string as id (or name)", index);
      if (!by_name_.emplace(*name, static_cast<TaskId>(index)).second)
        return user_error("node {} is there twice", to_text(*name));
      Task task;
      auto bytes = amount(node, "cost_ram", "out_cost"),
           time = amount(node, "cost_cpu", "duration");
      for (auto* r : {&bytes, &time})
        if (!r->ok()) return Failure(r->failure()).within(fmt::format("node {}", to_text(*name)));
      task.bytes = *bytes;
      task.time = *time;
      if (task.bytes > plan::largest_sum - bytes_ || task.time > plan::largest_sum - time_)
        return user_error("node {}: the sums of sizes and times must stay below 2^50",
                          to_text(*name));
      bytes_ += task.bytes;
      time_ += task.time;
      tasks_.push_back(task);
      out_.names.push_back(*name);
      ++index;
    }
    if (tasks_.empty()) return user_error("nodes: there is none to plan");
    return {};
  }

  Status read_links(const dom::object& root) {
    const auto value = either(root, "links", "edges");
    dom::array links;
    if (!value || value->get_array().get(links) != simdjson::SUCCESS)
      return user_error("links: expected an array of objects");
    size_t index = 0;
    for (const dom::element element : links) {
      dom::object link;
      if (element.get_object().get(link) != simdjson::SUCCESS)
        return user_error("links[{}]: expected an object", index);
      auto from = end_of(link, "source", "0"), to = end_of(link, "target", "1");
      for (auto* r : {&from, &to})
        if (!r->ok()) return Failure(r->failure()).within(fmt::format("links[{}]", index));
      links_.emplace_back(*from, *to);
      ++index;
    }
    return {};
  }

  Result<TaskId> end_of(const dom::object& link, const char* first, const char* second) const {
    const auto key = either(link, first, second);
    const auto name = key ? name_in(*key) : std::nullopt;
    if (!name) return user_error("expected a node's name as {} (or {})", first, second);
    return find(*name);
  }

  Result<TaskId> find(const NodeName& name) const {
    const auto it = by_name_.find(name);
    if (it == by_name_.end()) return user_error("there is no node {}", to_text(name));
    return it->second;
  }

  Status read_order(const dom::object& root) {
    dom::array order;
    if (root.at_key("graph").at_key("order").get_array().get(order) == simdjson::SUCCESS) {
      for (const dom::element element : order) {
        const auto name = name_in(element);
        if (!name) return user_error("graph.order: expected names of nodes");
        const auto task = find(*name);
        if (!task.ok()) return Failure(task.failure()).within("graph.order");
        out_.given_order.push_back(*task);
      }
      return check_order("graph.order");
    }
    dom::element any;
    if (root.at_key("graph").at_key("order").get(any) == simdjson::SUCCESS && !any.is_null())
      return user_error("graph.order: expected an array of names");
    for (const auto& [name, task] : by_name_) out_.given_order.push_back(task);  // integers first
    return check_order("the order by id");
  }

  Status check_order(const char* what) const {
    std::vector<bool> placed(out_.names.size(), false);
    for (const TaskId v : out_.given_order) {
      if (placed[v]) return user_error("{}: node {} is there twice", what, to_text(out_.names[v]));
      for (const TaskId x : out_.graph.operands(v))
        if (!placed[x])
          return user_error("{}: node {} is before {}, which it needs", what,
                            to_text(out_.names[v]), to_text(out_.names[x]));
      placed[v] = true;
    }
    const auto missing = std::find(placed.begin(), placed.end(), false);
    if (missing == placed.end()) return {};
    return user_error("{}: node {} is missing", what,
                      to_text(out_.names[static_cast<size_t>(missing - placed.begin())]));
  }

  std::string path(const std::vector<TaskId>& cycle) const {
    std::string text;
    for (size_t i = 0; i < cycle.size() && i < 8; ++i)
      text += to_text(out_.names[cycle[i]]) + " -> ";
    if (cycle.size() > 8) text += "... -> ";
    return text + to_text(out_.names[cycle[0]]);
  }

  std::map<NodeName, TaskId> by_name_;
  std::vector<Task> tasks_;
  std::vector<Link> links_;
  int64_t bytes_ = 0, time_ = 0;
  RematGraph out_;
};

}  // namespace

std::string to_text(const NodeName& name) {
  if (const auto* number = std::get_if<int64_t>(&name)) return std::to_string(*number);
  const std::string& text = std::get<std::string>(name);
  std::string shown = "'";
  for (const char c : text.substr(0, longest_shown))
    shown += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '?' : c;
  return shown + (text.size() > longest_shown ? "...'" : "'");
}

Result<RematGraph> parse_remat_graph(const std::string& text) {
  dom::parser parser;
  if (parser.allocate(std::max<size_t>(text.size(), 64), deepest_nesting) != simdjson::SUCCESS)
    return user_error("no memory for {} bytes of JSON", text.size());
  dom::element element;
  dom::object root;
  const auto error = parser.parse(text.data(), text.size()).get(element);
  if (error == simdjson::DEPTH_ERROR)
    return user_error("nested more than {} deep", deepest_nesting);
  if (error != simdjson::SUCCESS) return user_error("not JSON: {}", simdjson::error_message(error));
  if (element.get_object().get(root) != simdjson::SUCCESS)
    return user_error("expected an object with nodes and links");
  return Reader().read(root);
}

}  // namespace cleave::tool
