// Documents as one stream of token ids.
//
//   [prefix] tokens of document 0 [suffix] [prefix] tokens of document 1 [suffix] ...
//
// Prefix and suffix are what the tokenizer's post-processor adds around a text ([CLS] and [SEP],
// <s>); where it adds nothing behind, the separator stands there (end of text).
#pragma once
#include <optional>
#include <vector>

#include "base/result.h"
#include "cleave/tokenizer.h"

namespace cleave::tool {

struct TokenStream {
  std::vector<int32_t> ids;
  int64_t documents = 0;
};

class DocumentTokenizer {
 public:
  DocumentTokenizer(Tokenizer tokenizer, std::optional<int64_t> separator);

  // Whether there is something between a document and the next one.
  bool separates() const { return !suffix_.empty(); }
  // The ids that stand around documents.
  std::vector<int64_t> around() const;
  const Tokenizer& tokenizer() const { return tokenizer_; }

  // A document of the file (.jsonl: each line's field; else all of it).
  Result<TokenStream> text(const std::string& path) const;
  Result<TokenStream> json_lines(const std::string& path, const std::string& field) const;

 private:
  void add(std::string_view piece, bool ends, bool& begun, TokenStream& to) const;

  Tokenizer tokenizer_;
  std::vector<int64_t> prefix_, suffix_;
};

// A file of token numbers, u16 or i32 without a head, little-endian. Errors (user): the file can't
// be read, is no multiple of an element, has a number outside of [0, vocabulary), named with its
// place; or is read as u16 and has nothing but zeros in every other place, as one of i32 would.
Result<TokenStream> read_token_file(const std::string& path, bool is_u16, int64_t vocabulary);

}  // namespace cleave::tool
