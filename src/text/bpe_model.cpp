// BPE: byte pair encoding (Sennrich, Haddow and Birch 2016). A word begins as its code points; of
// all pairs of neighbours that may merge, the one with the least rank, and of these the leftmost,
// does so, until none is left.
#include <queue>

#include "text/merge_table.h"
#include "text/model.h"
#include "text/unicode.h"
#include "text/word_cache.h"

namespace cleave::text {
namespace {

struct BpeOptions {
  std::optional<std::string> unknown, prefix, suffix;
  bool fuse_unknown = false, byte_fallback = false, ignore_merges = false;
};

// A part of a word. Parts are a list, as merged ones go.
struct Symbol {
  uint32_t id;
  int32_t previous, next;  // -1: none
};

struct Candidate {
  uint32_t rank;
  int32_t left;                               // the symbol that merges with the next one
  uint32_t id;                                // of what they become
  bool operator<(const Candidate& o) const {  // the queue gives the largest first
    return std::tie(rank, left) > std::tie(o.rank, o.left);
  }
};

class Bpe final : public Model {
 public:
  Bpe(Vocabulary vocabulary, MergeTable merges, BpeOptions options)
      : Model(std::move(vocabulary)), merges_(std::move(merges)), o_(std::move(options)) {
    if (o_.unknown) unknown_ = vocabulary_.id(*o_.unknown);
    if (o_.byte_fallback)
      for (size_t b = 0; b < bytes_.size(); ++b)
        bytes_[b] = vocabulary_.id(byte_token(static_cast<char>(b)));
  }

  Status append_ids(std::string_view word, std::vector<int64_t>& ids) const override {
    if (o_.ignore_merges) {
      if (const auto whole = vocabulary_.id(word)) {
        ids.push_back(*whole);
        return {};
      }
    }
    if (cache_.find(word, ids)) return {};
    const size_t before = ids.size();
    CLEAVE_CHECK(merge_word(word, ids));
    cache_.put(word, ids.data() + before, ids.size() - before);
    return {};
  }

 private:
  Status merge_word(std::string_view word, std::vector<int64_t>& ids) const {
    const size_t added = (o_.prefix ? o_.prefix->size() : 0) + (o_.suffix ? o_.suffix->size() : 0);
    if (word.size() > INT32_MAX / (1 + added))
      return user_error("a word of {} bytes: split the text, as the tokenizer doesn't",
                        word.size());
    std::vector<Symbol> symbols;
    CLEAVE_CHECK(begin(word, symbols));
    merge(symbols);
    for (int32_t at = symbols.empty() ? -1 : 0; at >= 0; at = symbols[static_cast<size_t>(at)].next)
      ids.push_back(symbols[static_cast<size_t>(at)].id);
    return {};
  }

  // The symbols of the code points. Unknown ones wait until the next known one, to be fused.
  Status begin(std::string_view word, std::vector<Symbol>& symbols) const {
    symbols.reserve(word.size());
    const auto add = [&](uint32_t id) {
      const auto count = static_cast<int32_t>(symbols.size());
      if (count > 0) symbols.back().next = count;
      symbols.push_back({id, count - 1, -1});
    };
    bool waits = false;
    std::string decorated;
    for (size_t at = 0; at < word.size();) {
      const size_t bytes = code_point_at(word, at).bytes;
      std::string_view part = word.substr(at, bytes);
      if ((o_.prefix && at > 0) || (o_.suffix && at + bytes == word.size())) {
        decorated.clear();
        if (o_.prefix && at > 0) decorated += *o_.prefix;
        decorated += part;
        if (o_.suffix && at + bytes == word.size()) decorated += *o_.suffix;
        part = decorated;
      }
      at += bytes;
      if (const auto id = vocabulary_.id(part)) {
        if (waits) add(*unknown_);
        waits = false;
        add(*id);
        continue;
      }
      if (o_.byte_fallback && all_bytes(part)) {
        for (const char b : part) add(*bytes_[static_cast<uint8_t>(b)]);
        continue;
      }
      if (!o_.unknown) continue;
      if (!unknown_) return no_unknown_token(part, o_.unknown);
      if (waits && !o_.fuse_unknown) add(*unknown_);
      waits = true;
    }
    if (waits) add(*unknown_);
    return {};
  }

  bool all_bytes(std::string_view part) const {
    return std::ranges::all_of(part,
                               [&](char b) { return bytes_[static_cast<uint8_t>(b)].has_value(); });
  }

  void merge(std::vector<Symbol>& symbols) const {
    const auto symbol = [&](int32_t at) -> Symbol& { return symbols[static_cast<size_t>(at)]; };
    std::vector<Candidate> room;
    room.reserve(symbols.size());
    std::priority_queue<Candidate> queue(std::less<Candidate>(), std::move(room));
    const auto offer = [&](int32_t left) {
      const int32_t right = symbol(left).next;
      if (right < 0) return;
      if (const Merge* m = merges_.find(symbol(left).id, symbol(right).id))
        queue.push({m->rank, left, m->id});
    };
    for (int32_t at = 0; at < static_cast<int32_t>(symbols.size()); ++at) offer(at);
    while (!queue.empty()) {
      const Candidate top = queue.top();
      queue.pop();
      // A symbol that merged into the one before has no neighbours; others may have changed since.
      const int32_t right = symbol(top.left).next;
      if (right < 0) continue;
      const Merge* m = merges_.find(symbol(top.left).id, symbol(right).id);
      if (!m || m->id != top.id) continue;
      symbol(top.left).id = top.id;
      symbol(top.left).next = symbol(right).next;
      if (symbol(right).next >= 0) symbol(symbol(right).next).previous = top.left;
      symbol(right).next = -1;
      if (symbol(top.left).previous >= 0) offer(symbol(top.left).previous);
      offer(top.left);
    }
  }

  MergeTable merges_;
  BpeOptions o_;
  std::optional<uint32_t> unknown_;
  std::array<std::optional<uint32_t>, 256> bytes_;
  mutable WordCache cache_;
};

}  // namespace

Result<ModelPtr> read_bpe(const Fields& fields) {
  if (const auto dropout = fields.maybe("dropout")) {
    double p = -1;
    if (dropout->get_double().get(p) != simdjson::SUCCESS || p != 0)
      return unsupported("{}: ids would be random: set it to null in the file",
                         fields.place_of("dropout"));
  }
  BpeOptions o;
  CLEAVE_TRY(o.unknown, fields.maybe_text("unk_token"));
  CLEAVE_TRY(o.prefix, fields.maybe_text("continuing_subword_prefix"));
  CLEAVE_TRY(o.suffix, fields.maybe_text("end_of_word_suffix"));
  constexpr size_t longest_affix = 256;  // bytes; each code point may take as many tokens
  if ((o.prefix && o.prefix->size() > longest_affix) ||
      (o.suffix && o.suffix->size() > longest_affix))
    return unsupported("{}: a prefix or suffix of more than {} bytes", fields.place(),
                       longest_affix);
  CLEAVE_TRY(o.fuse_unknown, fields.boolean("fuse_unk", false));
  CLEAVE_TRY(o.byte_fallback, fields.boolean("byte_fallback", false));
  CLEAVE_TRY(o.ignore_merges, fields.boolean("ignore_merges", false));
  CLEAVE_TRY(Vocabulary vocabulary, Vocabulary::read(fields, "vocab"));
  CLEAVE_TRY(MergeTable merges, read_merges(fields, vocabulary, o.prefix ? o.prefix->size() : 0));
  return ModelPtr(
      std::make_unique<const Bpe>(std::move(vocabulary), std::move(merges), std::move(o)));
}

}  // namespace cleave::text
