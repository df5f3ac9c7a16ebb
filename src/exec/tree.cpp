#include "cleave/tree.h"

#include <algorithm>

#include "base/result.h"
#include "ir/lex.h"

namespace cleave {
namespace {

std::string number_text(const Number& n) {
  switch (n.kind()) {
    case Number::Kind::boolean: return n.integer() != 0 ? "true" : "false";
    case Number::Kind::integer: return fmt::format("{}", n.integer());
    case Number::Kind::floating: break;
  }
  const std::string text = fmt::format("{}", n.floating());
  return text.find_first_not_of("-0123456789") == std::string::npos ? text + ".0" : text;
}

std::string key_text(const std::string& key) {
  return is_name(key) ? key : fmt::format("\"{}\"", key);
}

}  // namespace

template <class Leaf>
Tree<Leaf> Tree<Leaf>::list(std::vector<Tree> items) {
  Tree t;
  t.items_ = std::move(items);
  return t;
}

template <class Leaf>
Tree<Leaf> Tree<Leaf>::map(std::vector<std::pair<std::string, Tree>> items) {
  Tree t;
  t.kind_ = Kind::map;
  for (auto& [key, item] : items) {
    if (t.contains(key))
      throw_failure(user_error("Tree: map: the key {} is there twice", key_text(key)));
    t.keys_.push_back(std::move(key));
    t.items_.push_back(std::move(item));
  }
  return t;
}

template <class Leaf>
const Leaf& Tree<Leaf>::leaf() const {
  if (kind_ != Kind::leaf)
    throw_failure(user_error("Tree: {} was asked for as a tensor", shape_text()));
  return leaf_[0];
}
template <class Leaf>
Leaf& Tree<Leaf>::leaf() {
  return const_cast<Leaf&>(std::as_const(*this).leaf());
}

template <class Leaf>
const Number& Tree<Leaf>::number() const {
  if (kind_ != Kind::number)
    throw_failure(user_error("Tree: {} was asked for as a number", shape_text()));
  return number_;
}

template <class Leaf>
const Tree<Leaf>& Tree<Leaf>::item(size_t k) const {
  if (k >= items_.size())
    throw_failure(user_error("Tree: {} has no item {}", shape_text(), static_cast<int64_t>(k)));
  return items_[k];
}

template <class Leaf>
const Tree<Leaf>& Tree<Leaf>::item(std::string_view key) const {
  const auto at = std::ranges::find(keys_, key);
  if (at == keys_.end())
    throw_failure(user_error("Tree: {} has no item {}", shape_text(), key_text(std::string(key))));
  return items_[static_cast<size_t>(at - keys_.begin())];
}

template <class Leaf>
bool Tree<Leaf>::contains(std::string_view key) const {
  return std::ranges::find(keys_, key) != keys_.end();
}

template <class Leaf>
std::string Tree<Leaf>::shape_text() const {
  if (kind_ == Kind::leaf) return "*";
  if (kind_ == Kind::number) return number_text(number_);
  std::vector<std::string> texts;
  for (size_t k = 0; k < items_.size(); ++k)
    texts.push_back(kind_ == Kind::map
                        ? fmt::format("{}: {}", key_text(keys_[k]), items_[k].shape_text())
                        : items_[k].shape_text());
  return kind_ == Kind::map ? fmt::format("{{{}}}", fmt::join(texts, ", "))
                            : fmt::format("[{}]", fmt::join(texts, ", "));
}

template class Tree<Tensor>;
template class Tree<InputSpec>;
template class Tree<InputRef>;
template class Tree<HostTensor>;

}  // namespace cleave
