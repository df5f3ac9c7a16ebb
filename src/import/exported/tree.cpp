#include "import/exported/tree.h"

#include "base/printable.h"
#include "import/exported/json.h"

namespace cleave::exported {
namespace {

constexpr int deepest = 60;

struct Writer {
  const std::vector<std::string>& leaves;
  size_t next = 0;
  std::string text;

  Status write(Element e, int depth) {
    CLEAVE_TRY(const Object o, object_of(e, "a tree"));
    CLEAVE_TRY(const Element children_value, member(o, "children_spec"));
    CLEAVE_TRY(const Array children, array_of(children_value, "children_spec"));
    const auto type = maybe_member(o, "type");
    if (!type) {
      if (next >= leaves.size())
        return user_error("a tree with more than {} leaves", leaves.size());
      text += leaves[next++];
      return {};
    }
    if (depth > deepest) return user_error("a tree of more than {} levels", deepest);
    CLEAVE_TRY(const std::string name, text_of(*type, "type"));
    const bool is_list = name == "builtins.list", is_dict = name.ends_with("dict");
    std::vector<std::string> keys;
    if (is_dict) CLEAVE_CHECK(read_keys(o, keys));
    if (!is_list && !is_dict && name != "builtins.tuple") {
      const std::string shown = printable(name.substr(name.rfind('.') + 1));
      text += shown.substr(1, shown.size() - 2);
    }
    text += is_list ? "[" : is_dict ? "{" : "(";
    size_t k = 0;
    for (const Element child : children) {
      if (k > 0) text += ", ";
      if (k < keys.size()) text += keys[k] + ": ";
      CLEAVE_CHECK(write(child, depth + 1));
      ++k;
    }
    if (name == "builtins.tuple" && k == 1) text += ",";
    text += is_list ? "]" : is_dict ? "}" : ")";
    return {};
  }

  // The context of a dict is the list of its keys, as a text of JSON.
  static Status read_keys(Object o, std::vector<std::string>& keys) {
    const auto context = maybe_member(o, "context");
    std::string_view json;
    if (!context || context->get_string().get(json) != simdjson::SUCCESS) return {};
    simdjson::dom::parser parser;
    CLEAVE_TRY(const Element e, parse_json(parser, json));
    Array list;
    if (e.get_array().get(list) != simdjson::SUCCESS) return {};
    for (const Element key : list) {
      std::string_view s;
      keys.push_back(key.get_string().get(s) == simdjson::SUCCESS ? printable(s) : "?");
    }
    return {};
  }
};

}  // namespace

Result<std::string> tree_text(std::string_view spec, const std::vector<std::string>& leaves) {
  simdjson::dom::parser parser;
  CLEAVE_TRY(const Element root, parse_json(parser, spec));
  CLEAVE_TRY(const Array versioned, array_of(root, "a tree"));
  if (versioned.size() != 2) return user_error("a tree without a version");
  Writer w{leaves, 0, {}};
  CLEAVE_CHECK(w.write(versioned.at(1), 0));
  if (w.next != leaves.size())
    return user_error("a tree of {} leaves for {}", w.next, leaves.size());
  return w.text;
}

}  // namespace cleave::exported
