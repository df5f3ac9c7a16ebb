// Precompiled: SentencePiece's map of characters, as T5, ALBERT and XLM-R have it.
//
//   bytes 0..3    N, little endian: bytes of the trie
//   N bytes       a double array of 32-bit units (darts-clone): from a text to an offset behind it
//   the rest      UTF-8 texts, each ended by a zero byte
//
// A grapheme cluster of less than 6 bytes is replaced as a whole by what its shortest prefix in the
// trie stands for; where there is none, and in longer ones, each code point is looked up.
#include <bit>
#include <cstring>

#include "text/base64.h"
#include "text/normalizer.h"

namespace cleave::text {
namespace {

class CharacterMap {
 public:
  static Result<CharacterMap> read(std::string_view bytes) {
    uint32_t trie_bytes = 0;
    if (bytes.size() < 4) return user_error("{} bytes, expected a map of characters", bytes.size());
    for (int i = 3; i >= 0; --i)
      trie_bytes = trie_bytes << 8 | static_cast<uint8_t>(bytes[static_cast<size_t>(i)]);
    bytes.remove_prefix(4);
    if (trie_bytes > bytes.size() || trie_bytes % 4 != 0 || trie_bytes == 0)
      return user_error("a trie of {} bytes in {}", trie_bytes, bytes.size());
    CharacterMap map;
    for (size_t at = 0; at < trie_bytes; at += 4) {
      uint32_t unit = 0;
      for (size_t i = 4; i-- > 0;) unit = unit << 8 | static_cast<uint8_t>(bytes[at + i]);
      map.units_.push_back(unit);
    }
    map.texts_ = bytes.substr(trie_bytes);
    if (!is_valid(map.texts_)) return user_error("its texts aren't UTF-8");
    return map;
  }

  // What the shortest prefix of `key` that is in the map stands for.
  std::optional<std::string_view> find(std::string_view key) const {
    size_t node = offset(units_[0]);
    for (const char k : key) {
      const auto byte = static_cast<uint8_t>(k);
      node ^= byte;
      if (byte == 0 || node >= units_.size()) return std::nullopt;
      const uint32_t unit = units_[node];
      if ((unit & (1u << 31 | 0xffu)) != byte) return std::nullopt;
      node ^= offset(unit);
      if (unit >> 8 & 1) {
        if (node >= units_.size()) return std::nullopt;
        return text_at(units_[node] & 0x7fffffffu);
      }
    }
    return std::nullopt;
  }

 private:
  static size_t offset(uint32_t unit) { return size_t{unit >> 10} << ((unit & 1u << 9) >> 6); }
  std::optional<std::string_view> text_at(size_t at) const {
    const std::string_view all = texts_;
    if (at > all.size()) return std::nullopt;
    if (at < all.size() && (static_cast<uint8_t>(all[at]) & 0xc0) == 0x80) return std::nullopt;
    return all.substr(at, std::min(all.find('\0', at), all.size()) - at);
  }

  std::vector<uint32_t> units_;
  std::string texts_;
};

class Precompiled final : public Normalizer {
 public:
  explicit Precompiled(CharacterMap map) : map_(std::move(map)) {}

  Status apply(Section& s, Allowance& allowance) const override {
    const std::string_view in = s.text;
    std::string out;
    size_t initial = 0;
    for (size_t at = 0; at < in.size();) {
      const size_t end = grapheme_end(in, at), from = std::min(at, s.initial);
      initial += append_grapheme(out, in.substr(at, end - at), std::min(end, s.initial) - from);
      CLEAVE_CHECK(allowance.check(out.size()));
      at = end;
    }
    s.text = std::move(out);
    s.initial = initial;
    return {};
  }

 private:
  // The bytes of `out` that stand for the first `initial` bytes of the cluster. Of a cluster that
  // is replaced as a whole, code points stand for those in the same place.
  size_t append_grapheme(std::string& out, std::string_view grapheme, size_t initial) const {
    const size_t begin = out.size();
    if (grapheme.size() < 6) {
      if (const auto whole = map_.find(grapheme)) {
        out += *whole;
        if (initial >= grapheme.size()) return whole->size();
        size_t bytes = 0;
        for (size_t n = count_code_points(grapheme.substr(0, initial));
             n > 0 && bytes < whole->size(); --n)
          bytes += code_point_at(*whole, bytes).bytes;
        return bytes;
      }
    }
    size_t written = 0;
    for_each_code_point(grapheme, [&](char32_t, size_t at, size_t bytes) {
      const std::string_view c = grapheme.substr(at, bytes);
      out += map_.find(c).value_or(c);
      if (at + bytes <= initial) written = out.size() - begin;
    });
    return written;
  }

  CharacterMap map_;
};

}  // namespace

Result<NormalizerPtr> read_precompiled(const Fields& fields) {
  CLEAVE_TRY(const std::string encoded, fields.text("precompiled_charsmap"));
  auto bytes = decode_base64(encoded);
  if (!bytes.ok())
    return std::move(bytes).failure().within(fields.place_of("precompiled_charsmap"));
  auto map = CharacterMap::read(*bytes);
  if (!map.ok()) return std::move(map).failure().within(fields.place_of("precompiled_charsmap"));
  return NormalizerPtr(std::make_unique<const Precompiled>(*std::move(map)));
}

}  // namespace cleave::text
