// WordLevel: each word is a token, or unknown.
#include "text/model.h"

namespace cleave::text {
namespace {

class WordLevel final : public Model {
 public:
  WordLevel(Vocabulary vocabulary, std::string unknown)
      : Model(std::move(vocabulary)), unknown_(std::move(unknown)),
        unknown_id_(vocabulary_.id(unknown_)) {}

  Status append_ids(std::string_view word, std::vector<int64_t>& ids) const override {
    const auto id = vocabulary_.id(word);
    if (!id && !unknown_id_) return no_unknown_token(word, unknown_);
    ids.push_back(id ? *id : *unknown_id_);
    return {};
  }

 private:
  std::string unknown_;
  std::optional<uint32_t> unknown_id_;
};

}  // namespace

Result<ModelPtr> read_word_level(const Fields& fields) {
  CLEAVE_TRY(std::string unknown, fields.text("unk_token"));
  CLEAVE_TRY(Vocabulary vocabulary, Vocabulary::read(fields, "vocab"));
  return ModelPtr(std::make_unique<const WordLevel>(std::move(vocabulary), std::move(unknown)));
}

}  // namespace cleave::text
