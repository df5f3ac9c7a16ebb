// Tokens by id and ids by token.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "text/fields.h"

namespace cleave::text {

class Vocabulary {
 public:
  Vocabulary() = default;
  Vocabulary(Vocabulary&&) noexcept = default;
  Vocabulary& operator=(Vocabulary&&) noexcept = default;

  // From the object {"token": id, ...} of a file. Errors (user): an id that is none.
  static Result<Vocabulary> read(const Fields& fields, std::string_view key);

  // A token that is there already takes the new id. Of tokens with one id the first is its text.
  void add(std::string token, uint32_t id);
  // Makes room for so many.
  void reserve(size_t tokens);

  std::optional<uint32_t> id(std::string_view token) const {
    const auto found = ids_.find(token);
    if (found == ids_.end()) return std::nullopt;
    return found->second;
  }
  // Nothing where no token has this id.
  std::optional<std::string_view> token(uint32_t id) const;
  size_t size() const { return ids_.size(); }
  // Calls f(token, id) for each, in no order.
  template <class F>
  void for_each(F&& f) const {
    for (const auto& [token, id] : ids_) f(std::string_view(token), id);
  }
  int64_t largest_id() const { return largest_id_; }  // -1: there is none

 private:
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view s) const { return std::hash<std::string_view>()(s); }
  };
  std::unordered_map<std::string, uint32_t, Hash, std::equal_to<>> ids_;
  std::unordered_map<uint32_t, const std::string*> tokens_;  // into ids_, whose nodes stay
  int64_t largest_id_ = -1;
};

}  // namespace cleave::text
