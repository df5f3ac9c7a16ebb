#include "text/merge_table.h"

#include "base/printable.h"

namespace cleave::text {
namespace {

struct Pair {
  std::string left, right;
};

// "a b", or ["a", "b"].
Result<Pair> read_pair(JsonElement e, std::string_view place) {
  std::string_view line;
  if (e.get_string().get(line) == simdjson::SUCCESS) {
    const size_t space = line.find(' ');
    if (space == std::string_view::npos || line.find(' ', space + 1) != std::string_view::npos)
      return user_error("{}: {}: expected two tokens with a space between", place, printable(line));
    return Pair{std::string(line.substr(0, space)), std::string(line.substr(space + 1))};
  }
  JsonArray items;
  if (e.get_array().get(items) != simdjson::SUCCESS || items.size() != 2)
    return user_error("{}: expected a text or a list of two texts", place);
  Pair pair;
  CLEAVE_TRY(pair.left, text_of(items.at(0).value(), place));
  CLEAVE_TRY(pair.right, text_of(items.at(1).value(), place));
  return pair;
}

}  // namespace

Result<MergeTable> read_merges(const Fields& fields, const Vocabulary& vocabulary, size_t prefix) {
  CLEAVE_TRY(const JsonArray list, fields.list("merges"));
  size_t count = 0;
  for ([[maybe_unused]] const JsonElement e : list) ++count;  // size() stops at 2^24
  MergeTable merges(count);
  uint32_t rank = 0;
  for (const JsonElement e : list) {
    std::string_view line;
    if (e.get_string().get(line) == simdjson::SUCCESS && line.starts_with("#version")) continue;
    CLEAVE_TRY(const Pair pair, read_pair(e, fields.place_of("merges")));
    const auto id_of = [&](const std::string& token) -> Result<uint32_t> {
      if (const auto id = vocabulary.id(token)) return *id;
      return user_error("{}: merge {}: the vocabulary lacks {}", fields.place(), rank,
                        printable(token));
    };
    if (pair.right.size() < prefix)
      return user_error("{}: merge {}: {} is shorter than the continuing_subword_prefix",
                        fields.place(), rank, printable(pair.right));
    CLEAVE_TRY(const uint32_t left, id_of(pair.left));
    CLEAVE_TRY(const uint32_t right, id_of(pair.right));
    CLEAVE_TRY(const uint32_t made, id_of(pair.left + pair.right.substr(prefix)));
    merges.put(left, right, {rank++, made});
  }
  return merges;
}

}  // namespace cleave::text
