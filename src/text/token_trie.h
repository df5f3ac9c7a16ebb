// Tokens by their first bytes: which of them begin here.
//
//   a ─ b        the children of a node are neighbours in an array, in the order of their bytes
//   └── c ─ d
#pragma once
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

namespace cleave::text {

class TokenTrie {
 public:
  static constexpr uint32_t none = UINT32_MAX;

  TokenTrie() = default;
  // Of tokens and what each stands for, which is below `none`. Of equal ones the last counts; empty
  // ones are left out.
  explicit TokenTrie(std::vector<std::pair<std::string_view, uint32_t>> tokens);

  bool empty() const { return nodes_.size() < 2; }

  // Calls f(bytes, value) for each token that begins at text[at], the shortest first.
  template <class F>
  void for_each_prefix(std::string_view text, size_t at, F&& f) const {
    if (empty()) return;
    uint32_t node = first_child(static_cast<uint8_t>(text[at]));
    for (size_t bytes = 1; node != none; ++bytes) {
      if (nodes_[node].value != none) f(bytes, nodes_[node].value);
      if (at + bytes == text.size()) return;
      node = child(node, static_cast<uint8_t>(text[at + bytes]));
    }
  }

 private:
  struct Node {
    uint32_t children = 0;  // the first of them
    uint32_t value = none;
    uint16_t count = 0;  // of children
    uint8_t byte = 0;
  };
  uint32_t first_child(uint8_t byte) const { return roots_[byte]; }
  uint32_t child(uint32_t node, uint8_t byte) const;
  std::vector<Node> nodes_;
  std::vector<uint32_t> roots_;  // by byte
};

}  // namespace cleave::text
