// Decoders of tokens that stand for bytes: ByteLevel, whose characters do, and ByteFallback, whose
// tokens are "<0x0A>".
#include "text/byte_level.h"
#include "text/decoder.h"
#include "text/unicode.h"

namespace cleave::text {
namespace {

class ByteLevelDecoder final : public Decoder {
 public:
  Status apply(Tokens& tokens, Allowance&) const override {
    std::string bytes;
    for (const std::string& t : tokens)
      if (!append_bytes(bytes, t)) bytes += t;
    tokens.assign(1, with_replacements(bytes));
    return {};
  }
};

std::optional<char> byte_of(std::string_view token) {
  if (token.size() != 6 || !token.starts_with("<0x") || token[5] != '>') return std::nullopt;
  int byte = 0;
  for (const char c : token.substr(3, 2)) {
    const int digit = c >= '0' && c <= '9'   ? c - '0'
                      : c >= 'A' && c <= 'F' ? c - 'A' + 10
                      : c >= 'a' && c <= 'f' ? c - 'a' + 10
                                             : -1;
    if (digit < 0) return std::nullopt;
    byte = 16 * byte + digit;
  }
  return static_cast<char>(byte);
}

// Runs of bytes are a text, or U+FFFD for each.
class ByteFallbackDecoder final : public Decoder {
 public:
  Status apply(Tokens& tokens, Allowance&) const override {
    Tokens made;
    std::string bytes;
    const auto flush = [&] {
      if (bytes.empty()) return;
      if (is_valid(bytes))
        made.push_back(std::move(bytes));
      else
        made.insert(made.end(), bytes.size(), "\xef\xbf\xbd");
      bytes.clear();
    };
    for (std::string& token : tokens) {
      if (const auto byte = byte_of(token)) {
        bytes += *byte;
        continue;
      }
      flush();
      made.push_back(std::move(token));
    }
    flush();
    tokens = std::move(made);
    return {};
  }
};

}  // namespace

DecoderPtr make_byte_level_decoder() { return std::make_unique<const ByteLevelDecoder>(); }
DecoderPtr make_byte_fallback_decoder() { return std::make_unique<const ByteFallbackDecoder>(); }

}  // namespace cleave::text
