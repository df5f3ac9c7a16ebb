// A text in pieces: words that a model shall cut further, and tokens that were found already.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "text/section.h"
#include "text/unicode.h"

namespace cleave::text {

// The bytes [begin, end) of Words::text.
struct Word {
  size_t begin, end;
};

// Of one section.
struct Words {
  std::string text;
  std::vector<Word> words;  // in order, none is empty
  size_t initial = 0;       // as in Section: of the first bytes of `text`

  std::string_view view(Word w) const {
    return std::string_view(text).substr(w.begin, w.end - w.begin);
  }
  bool is_initial(Word w) const { return w.begin < initial; }
};

// Where a pattern is found in a word, and what lies between; all of it, in order.
struct Part {
  size_t begin, end;  // in the word
  bool is_match;
};
using Parts = std::vector<Part>;

// What becomes of the matches of a pattern.
enum class SplitBehavior : uint8_t {
  removed,
  isolated,  // a word each
  merged_with_previous,
  merged_with_next,
  contiguous  // runs of matches are a word
};

// Splits each word by its parts: find(word, parts) -> Status fills them.
template <class F>
Status split(Words& words, SplitBehavior behavior, F&& find);
// Parts of code points that are matches.
template <class Is>
void find_code_points(std::string_view word, Parts& parts, Is&& is);

// Changes `parts` into the words that are left, with is_match where one goes.
void merge_parts(Parts& parts, SplitBehavior behavior);

template <class F>
Status split(Words& words, SplitBehavior behavior, F&& find) {
  std::vector<Word> made;
  made.reserve(words.words.size());
  Parts parts;
  for (const Word w : words.words) {
    parts.clear();
    CLEAVE_CHECK(find(words.view(w), parts));
    merge_parts(parts, behavior);
    for (const Part& p : parts)
      if (!p.is_match && p.begin != p.end) made.push_back({w.begin + p.begin, w.begin + p.end});
  }
  words.words = std::move(made);
  return {};
}

template <class Is>
void find_code_points(std::string_view word, Parts& parts, Is&& is) {
  size_t done = 0;
  for_each_code_point(word, [&](char32_t c, size_t at, size_t bytes) {
    if (!is(c)) return;
    if (done < at) parts.push_back({done, at, false});
    done = at + bytes;
    parts.push_back({at, done, true});
  });
  if (done < word.size()) parts.push_back({done, word.size(), false});
}

}  // namespace cleave::text
