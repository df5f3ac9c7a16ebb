// The decoders that are short, and sequences of all.
#include "text/decoder.h"

#include "text/metaspace.h"
#include "text/unicode.h"

namespace cleave::text {
namespace {

class FuseDecoder final : public Decoder {
 public:
  Status apply(Tokens& tokens, Allowance&) const override {
    std::string all;
    for (const std::string& t : tokens) all += t;
    tokens.assign(1, std::move(all));
    return {};
  }
};

// A space for each replacement; none at the beginning of the text, where one was added.
class MetaspaceDecoder final : public Decoder {
 public:
  explicit MetaspaceDecoder(Metaspace options) : options_(options) {
    append(space_, options.replacement);
  }
  Status apply(Tokens& tokens, Allowance&) const override {
    for (size_t i = 0; i < tokens.size(); ++i)
      replace_all(tokens[i], space_, i == 0 && options_.scheme != PrependScheme::never ? "" : " ");
    return {};
  }

 private:
  Metaspace options_;
  std::string space_;
};

class ReplaceDecoder final : public Decoder {
 public:
  ReplaceDecoder(Regex pattern, std::string content)
      : pattern_(std::move(pattern)), content_(std::move(content)) {}
  Status apply(Tokens& tokens, Allowance& allowance) const override {
    Regex::Search search(pattern_, allowance.regex);
    size_t bytes = 0;
    for (std::string& token : tokens) {
      search.start(token);
      std::string out;
      size_t done = 0;
      for (RegexMatch match;;) {
        CLEAVE_TRY(const bool found, search.next(match));
        if (!found) break;
        out.append(token, done, match.begin - done);
        out += content_;
        done = match.end;
        CLEAVE_CHECK(allowance.check(bytes + out.size()));
      }
      out.append(token, done);
      bytes += out.size();
      token = std::move(out);
    }
    return {};
  }

 private:
  Regex pattern_;
  std::string content_;
};

// Takes a character away, up to so many times, from the ends of each token.
class StripDecoder final : public Decoder {
 public:
  StripDecoder(char32_t content, int64_t start, int64_t stop) : start_(start), stop_(stop) {
    append(content_, content);
  }
  Status apply(Tokens& tokens, Allowance&) const override {
    for (std::string& token : tokens) {
      std::string_view left = token;
      for (int64_t i = 0; i < start_ && left.starts_with(content_); ++i)
        left.remove_prefix(content_.size());
      for (int64_t i = 0; i < stop_ && left.ends_with(content_); ++i)
        left.remove_suffix(content_.size());
      token = std::string(left);
    }
    return {};
  }

 private:
  std::string content_;
  int64_t start_, stop_;
};

// A space for the mark that ends a word; none for that of the last.
class BpeDecoder final : public Decoder {
 public:
  explicit BpeDecoder(std::string suffix) : suffix_(std::move(suffix)) {}
  Status apply(Tokens& tokens, Allowance&) const override {
    for (size_t i = 0; i < tokens.size(); ++i)
      replace_all(tokens[i], suffix_, i + 1 == tokens.size() ? "" : " ");
    return {};
  }

 private:
  std::string suffix_;
};

class DecoderSequence final : public Decoder {
 public:
  explicit DecoderSequence(std::vector<DecoderPtr> steps) : steps_(std::move(steps)) {}
  Status apply(Tokens& tokens, Allowance& allowance) const override {
    for (const DecoderPtr& step : steps_) CLEAVE_CHECK(step->apply(tokens, allowance));
    return {};
  }

 private:
  std::vector<DecoderPtr> steps_;
};

Result<DecoderPtr> read_decoders(const Fields& fields) {
  std::vector<DecoderPtr> steps;
  CLEAVE_CHECK(fields.for_each("decoders", [&](const Fields& f) -> Status {
    CLEAVE_TRY(DecoderPtr step, read_decoder(f));
    steps.push_back(std::move(step));
    return {};
  }));
  return DecoderPtr(std::make_unique<const DecoderSequence>(std::move(steps)));
}

Result<DecoderPtr> read_replace_decoder(const Fields& fields) {
  CLEAVE_TRY(Regex pattern, fields.pattern("pattern"));
  CLEAVE_TRY(std::string content, fields.text("content"));
  return DecoderPtr(std::make_unique<const ReplaceDecoder>(std::move(pattern), std::move(content)));
}

Result<DecoderPtr> read_strip_decoder(const Fields& fields) {
  CLEAVE_TRY(const char32_t content, fields.character("content"));
  CLEAVE_TRY(const int64_t start, fields.natural("start"));
  CLEAVE_TRY(const int64_t stop, fields.natural("stop"));
  return DecoderPtr(std::make_unique<const StripDecoder>(content, start, stop));
}

}  // namespace

void replace_all(std::string& text, std::string_view from, std::string_view to) {
  if (from.empty()) return;
  size_t at = text.find(from);
  if (at == std::string::npos) return;
  std::string out;
  size_t done = 0;
  for (; at != std::string::npos; at = text.find(from, done)) {
    out.append(text, done, at - done);
    out += to;
    done = at + from.size();
  }
  out.append(text, done);
  text = std::move(out);
}

Result<DecoderPtr> read_decoder(const Fields& fields) {
  CLEAVE_TRY(const std::string type, fields.type());
  if (type == "Sequence") return read_decoders(fields);
  if (type == "ByteLevel") return make_byte_level_decoder();
  if (type == "ByteFallback") return make_byte_fallback_decoder();
  if (type == "WordPiece") return read_word_piece_decoder(fields);
  if (type == "Replace") return read_replace_decoder(fields);
  if (type == "Strip") return read_strip_decoder(fields);
  if (type == "Fuse") return DecoderPtr(std::make_unique<const FuseDecoder>());
  if (type == "Metaspace") {
    CLEAVE_TRY(const Metaspace options, read_metaspace_options(fields));
    return DecoderPtr(std::make_unique<const MetaspaceDecoder>(options));
  }
  if (type == "BPEDecoder") {
    CLEAVE_TRY(std::string suffix, fields.text("suffix"));
    if (suffix.empty()) return unsupported("{}: an empty suffix isn't covered", fields.place());
    return DecoderPtr(std::make_unique<const BpeDecoder>(std::move(suffix)));
  }
  return fields.unknown_type();
}

}  // namespace cleave::text
