// Regular expressions of a tokenizer.json, run by PCRE2 under limits.
//
// A hostile expression may take exponential time on a text. From each place a search has a small
// limit of backtracking steps; a place that needs more takes it from the budget of the whole text,
// by powers of 16, and is an error when that is used up. No clock is asked, so that results are the
// same on every machine.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

struct pcre2_real_code_8;

namespace cleave::text {

// What places that need many steps may use, together, in one text.
struct RegexBudget {
  uint64_t steps = 100'000'000;
};

struct RegexMatch {
  size_t begin, end;  // bytes
};

class Regex {
 public:
  // From Oniguruma's syntax, as the file has it. Errors: (unsupported) what translate_regex()
  // refuses; (user) an expression that is wrong.
  static Result<Regex> read(std::string_view pattern);
  // From PCRE2's syntax.
  static Result<Regex> compile(std::string_view pattern);
  // What finds this text.
  static Result<Regex> literal(std::string_view text);

  // Searches of one text, one after the other. Not for several threads; the Regex is.
  class Search;

 private:
  Regex(std::shared_ptr<const pcre2_real_code_8> code, std::string pattern)
      : code_(std::move(code)), pattern_(std::move(pattern)) {}
  std::shared_ptr<const pcre2_real_code_8> code_;  // null: `pattern_` is a plain text
  std::string pattern_;
};

class Regex::Search {
 public:
  Search(const Regex& regex, RegexBudget& budget);
  ~Search();
  Search(const Search&) = delete;
  Search& operator=(const Search&) = delete;

  // Begins with another text, which must outlive the search.
  void start(std::string_view text);
  // The next match that isn't an empty one just behind the last; false where there is none, as in
  // an empty text. Error (user): the budget is used up.
  Result<bool> next(RegexMatch& match);

 private:
  struct Memory;
  Result<bool> search(size_t from, RegexMatch& match);
  Result<bool> search_closely(size_t from, RegexMatch& match);
  Result<bool> search_at(size_t from, RegexMatch& match);
  int search_between(size_t from, size_t last, uint32_t limit, RegexMatch& match);
  size_t boundary(size_t at) const;  // of code points, here or behind
  Failure failure(std::string_view what) const;
  const Regex* regex_;
  RegexBudget* budget_;
  std::unique_ptr<Memory> memory_;
  std::string_view text_;
  size_t from_ = 0;
  size_t last_end_ = std::string_view::npos;
};

}  // namespace cleave::text
