#include "text/vocabulary.h"

#include <algorithm>

#include "base/printable.h"

namespace cleave::text {

Result<Vocabulary> Vocabulary::read(const Fields& fields, std::string_view key) {
  CLEAVE_TRY(const Fields object, fields.fields(key));
  Vocabulary v;
  v.reserve(object.object().size());
  for (const simdjson::dom::key_value_pair field : object.object()) {
    const auto id = natural_of(field.value, object.place());
    if (!id.ok())
      return user_error("{}: the id of {}: expected an integer in [0, 2^32 - 1)", object.place(),
                        printable(field.key));
    v.add(std::string(field.key), static_cast<uint32_t>(*id));
  }
  return v;
}

void Vocabulary::reserve(size_t tokens) {
  ids_.reserve(tokens);
  tokens_.reserve(tokens);
}

void Vocabulary::add(std::string token, uint32_t id) {
  largest_id_ = std::max(largest_id_, int64_t{id});
  const auto entry = ids_.insert_or_assign(std::move(token), id).first;
  tokens_.emplace(id, &entry->first);
}

std::optional<std::string_view> Vocabulary::token(uint32_t id) const {
  const auto found = tokens_.find(id);
  if (found == tokens_.end()) return std::nullopt;
  return *found->second;
}

}  // namespace cleave::text
