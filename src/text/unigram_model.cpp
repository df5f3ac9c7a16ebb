// Unigram: the tokens whose scores (logarithms of probabilities) have the largest sum (Kudo 2018),
// by Viterbi's algorithm. A code point that is no token is unknown, at 10 less than the least
// score; unknown neighbours are one.
#include <limits>

#include "base/printable.h"
#include "text/model.h"
#include "text/token_trie.h"
#include "text/unicode.h"
#include "text/word_cache.h"

namespace cleave::text {
namespace {

constexpr double unknown_penalty = 10;

struct UnigramOptions {
  std::vector<double> scores;  // by id
  std::optional<uint32_t> unknown;
  bool byte_fallback = false;
};

class Unigram final : public Model {
 public:
  Unigram(Vocabulary vocabulary, TokenTrie trie, UnigramOptions options)
      : Model(std::move(vocabulary)), trie_(std::move(trie)), o_(std::move(options)) {
    double least = std::numeric_limits<double>::infinity();
    for (const double s : o_.scores) least = std::min(least, s);
    unknown_score_ = least - unknown_penalty;
    if (o_.byte_fallback)
      for (size_t b = 0; b < bytes_.size(); ++b)
        bytes_[b] = vocabulary_.id(byte_token(static_cast<char>(b)));
  }

  size_t listed() const override { return o_.scores.size(); }

  Status append_ids(std::string_view word, std::vector<int64_t>& ids) const override {
    if (cache_.find(word, ids)) return {};
    const size_t before = ids.size();
    CLEAVE_CHECK(append_best(word, ids));
    cache_.put(word, ids.data() + before, ids.size() - before);
    return {};
  }

 private:
  // The best way to each byte of the word.
  struct Step {
    double score = 0;
    size_t begin = none;  // of its last token
    uint32_t id = 0;
  };
  static constexpr size_t none = std::string_view::npos;

  Status append_best(std::string_view word, std::vector<int64_t>& ids) const {
    std::vector<Step> steps(word.size() + 1);
    const auto offer = [&](size_t begin, size_t end, double score, uint32_t id) {
      Step& s = steps[end];
      const double sum = score + steps[begin].score;
      if (s.begin == none || sum > s.score) s = {sum, begin, id};
    };
    for (size_t at = 0; at < word.size();) {
      const size_t bytes = code_point_at(word, at).bytes;
      bool known = false;
      trie_.for_each_prefix(word, at, [&](size_t length, uint32_t id) {
        offer(at, at + length, o_.scores[id], id);
        known = known || length == bytes;
      });
      if (!known) {
        const Step& s = steps[at + bytes];
        const bool better = s.begin == none || unknown_score_ + steps[at].score > s.score;
        if (better && !o_.unknown) return no_unknown_token(word.substr(at, bytes), std::nullopt);
        if (better) offer(at, at + bytes, unknown_score_, *o_.unknown);
      }
      at += bytes;
    }
    return append_path(word, steps, ids);
  }

  Status append_path(std::string_view word, const std::vector<Step>& steps,
                     std::vector<int64_t>& ids) const {
    std::vector<size_t> ends;
    for (size_t end = word.size(); end > 0; end = steps[end].begin) ends.push_back(end);
    for (size_t i = ends.size(); i-- > 0;) {
      const size_t begin = steps[ends[i]].begin;
      if (!o_.unknown || steps[ends[i]].id != *o_.unknown) {
        ids.push_back(steps[ends[i]].id);
        continue;
      }
      while (i > 0 && steps[ends[i - 1]].id == *o_.unknown) --i;
      append_unknown(word.substr(begin, ends[i] - begin), ids);
    }
    return {};
  }

  // Unknown code points: what they are together may be a token, or their bytes are.
  void append_unknown(std::string_view part, std::vector<int64_t>& ids) const {
    if (const auto id = vocabulary_.id(part)) {
      ids.push_back(*id);
    } else if (o_.byte_fallback && std::ranges::all_of(part, [&](char b) {
                 return bytes_[static_cast<uint8_t>(b)].has_value();
               })) {
      for (const char b : part) ids.push_back(*bytes_[static_cast<uint8_t>(b)]);
    } else {
      ids.push_back(*o_.unknown);
    }
  }

  TokenTrie trie_;
  UnigramOptions o_;
  double unknown_score_;
  std::array<std::optional<uint32_t>, 256> bytes_;
  mutable WordCache cache_;
};

}  // namespace

Result<ModelPtr> read_unigram(const Fields& fields) {
  CLEAVE_TRY(const JsonArray list, fields.list("vocab"));
  UnigramOptions o;
  Vocabulary vocabulary;
  std::vector<std::pair<std::string_view, uint32_t>> tokens;
  for (const JsonElement e : list) {
    JsonArray pair;
    std::string_view token;
    double score = 0;
    if (e.get_array().get(pair) != simdjson::SUCCESS || pair.size() != 2 ||
        pair.at(0).get_string().get(token) != simdjson::SUCCESS ||
        pair.at(1).get_double().get(score) != simdjson::SUCCESS)
      return user_error("{}[{}]: expected a token and its score", fields.place_of("vocab"),
                        tokens.size());
    const auto id = static_cast<uint32_t>(tokens.size());
    vocabulary.add(std::string(token), id);
    tokens.emplace_back(token, id);
    o.scores.push_back(score);
  }
  if (fields.maybe("unk_id")) {
    CLEAVE_TRY(const int64_t unknown, fields.natural("unk_id"));
    if (unknown >= std::ssize(tokens))
      return user_error("{}: {} is no token, there are {}", fields.place_of("unk_id"), unknown,
                        tokens.size());
    o.unknown = static_cast<uint32_t>(unknown);
  }
  CLEAVE_TRY(o.byte_fallback, fields.boolean("byte_fallback", false));
  TokenTrie trie(std::move(tokens));
  return ModelPtr(
      std::make_unique<const Unigram>(std::move(vocabulary), std::move(trie), std::move(o)));
}

}  // namespace cleave::text
