// Models: from a word to the ids of its tokens.
#pragma once
#include <memory>
#include <vector>

#include "text/vocabulary.h"

namespace cleave::text {

class Model {
 public:
  virtual ~Model() = default;
  const Vocabulary& vocabulary() const { return vocabulary_; }
  // The number of tokens that the file lists, those that are there twice included.
  virtual size_t listed() const { return vocabulary_.size(); }
  // Appends the ids of a word, which isn't empty. Error (user): a part of it is no token, and the
  // model has none for unknown ones. Several threads may call it.
  virtual Status append_ids(std::string_view word, std::vector<int64_t>& ids) const = 0;

 protected:
  explicit Model(Vocabulary vocabulary) : vocabulary_(std::move(vocabulary)) {}
  Vocabulary vocabulary_;
};
using ModelPtr = std::unique_ptr<const Model>;

// From the object of the file. Errors: (user) a member that is missing, wrong or contradicts the
// vocabulary; (unsupported) a type that isn't covered, dropout.
Result<ModelPtr> read_model(const Fields& fields);

// Of one file each.
Result<ModelPtr> read_bpe(const Fields& fields);
Result<ModelPtr> read_word_piece(const Fields& fields);
Result<ModelPtr> read_unigram(const Fields& fields);
Result<ModelPtr> read_word_level(const Fields& fields);

// What stands for a byte where a model falls back to bytes: "<0x0A>".
std::string byte_token(char byte);
// That the vocabulary lacks a token which the text needs.
Failure no_unknown_token(std::string_view word, const std::optional<std::string>& unknown);

}  // namespace cleave::text
