#include "text/post_processor.h"

#include "base/printable.h"

namespace cleave::text {
namespace {

constexpr size_t most_added = 1024;  // a template may name a long list often

// {"id": "[CLS]", "ids": [101], ...} of "special_tokens".
Status append_special(const Fields& special_tokens, const std::string& name,
                      std::vector<int64_t>& ids) {
  CLEAVE_TRY(const Fields token, special_tokens.fields(name));
  CLEAVE_TRY(const JsonArray list, token.list("ids"));
  for (const JsonElement e : list) {
    CLEAVE_TRY(const int64_t id, natural_of(e, token.place_of("ids")));
    if (ids.size() == most_added)
      return unsupported("{}: more than {} tokens around a text", special_tokens.place(),
                         most_added);
    ids.push_back(id);
  }
  return {};
}

Result<PostProcessor> read_template(const Fields& fields) {
  PostProcessor p;
  p.has_text = false;
  CLEAVE_TRY(const Fields special_tokens, fields.fields("special_tokens"));
  CLEAVE_CHECK(fields.for_each("single", [&](const Fields& piece) -> Status {
    if (piece.maybe("SpecialToken")) {
      CLEAVE_TRY(const Fields special, piece.fields("SpecialToken"));
      CLEAVE_TRY(const std::string name, special.text("id"));
      return append_special(special_tokens, name, p.has_text ? p.after : p.before);
    }
    CLEAVE_TRY(const Fields sequence, piece.fields("Sequence"));
    CLEAVE_TRY(const std::string id, sequence.text("id"));
    if (id != "A")
      return user_error("{}: the sequence {}: one sequence has A alone", piece.place(),
                        printable(id));
    if (p.has_text) return unsupported("{}: a second A isn't covered", piece.place());
    p.has_text = true;
    return {};
  }));
  return p;
}

// ["[CLS]", 101]
Result<int64_t> read_token_pair(const Fields& fields, std::string_view key) {
  CLEAVE_TRY(const JsonArray pair, fields.list(key));
  if (pair.size() != 2) return user_error("{}: expected a token and its id", fields.place_of(key));
  return natural_of(pair.at(1).value(), fields.place_of(key));
}

Result<PostProcessor> read_bert_processing(const Fields& fields) {
  CLEAVE_TRY(const int64_t begin, read_token_pair(fields, "cls"));
  CLEAVE_TRY(const int64_t end, read_token_pair(fields, "sep"));
  return PostProcessor{{begin}, {end}};
}

Result<PostProcessor> read_post_processors(const Fields& fields) {
  std::optional<PostProcessor> found;
  CLEAVE_CHECK(fields.for_each("processors", [&](const Fields& f) -> Status {
    CLEAVE_TRY(PostProcessor p, read_post_processor(f));
    if (p.has_text && p.before.empty() && p.after.empty()) return {};
    if (found) return unsupported("{}: two steps that add tokens aren't covered", fields.place());
    found = std::move(p);
    return {};
  }));
  return found.value_or(PostProcessor{});
}

}  // namespace

Result<PostProcessor> read_post_processor(const Fields& fields) {
  CLEAVE_TRY(const std::string type, fields.type());
  if (type == "TemplateProcessing") return read_template(fields);
  if (type == "BertProcessing" || type == "RobertaProcessing") return read_bert_processing(fields);
  if (type == "ByteLevel") return PostProcessor{};
  if (type == "Sequence") return read_post_processors(fields);
  return fields.unknown_type();
}

}  // namespace cleave::text
