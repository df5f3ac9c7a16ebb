// The normalizers that are short, and sequences of all.
#include "text/normalizer.h"

#include "text/byte_level.h"

namespace cleave::text {
namespace {

class NormalForm final : public Normalizer {
 public:
  explicit NormalForm(Normalization form) : form_(form) {}
  Status apply(Section& s, Allowance&) const override { return normalize(s, form_); }

 private:
  Normalization form_;
};

// Writes each code point anew.
template <class F>
class CodePointwise final : public Normalizer {
 public:
  explicit CodePointwise(F write) : write_(write) {}
  Status apply(Section& s, Allowance&) const override {
    rewrite(s, write_);
    return {};
  }

 private:
  F write_;
};
template <class F>
NormalizerPtr code_pointwise(F write) {
  return std::make_unique<const CodePointwise<F>>(write);
}

class StripNormalizer final : public Normalizer {
 public:
  StripNormalizer(bool left, bool right) : left_(left), right_(right) {}
  Status apply(Section& s, Allowance&) const override {
    size_t begin = 0, end = s.text.size();
    while (left_ && begin < end) {
      const CodePoint c = code_point_at(s.text, begin);
      if (!is_white_space(c.value)) break;
      begin += c.bytes;
    }
    while (right_ && begin < end) {
      const size_t last = last_code_point(std::string_view(s.text).substr(0, end));
      if (!is_white_space(code_point_at(s.text, last).value)) break;
      end = last;
    }
    s.text = s.text.substr(begin, end - begin);
    s.initial = std::min(s.initial > begin ? s.initial - begin : 0, s.text.size());
    return {};
  }

 private:
  bool left_, right_;
};

class PrependNormalizer final : public Normalizer {
 public:
  explicit PrependNormalizer(std::string text) : text_(std::move(text)) {}
  Status apply(Section& s, Allowance& allowance) const override {
    if (s.text.empty()) return {};
    CLEAVE_CHECK(allowance.check(s.text.size() + text_.size()));
    s.text.insert(0, text_);
    if (s.initial > 0) s.initial += text_.size();
    return {};
  }

 private:
  std::string text_;
};

class NormalizerSequence final : public Normalizer {
 public:
  explicit NormalizerSequence(std::vector<NormalizerPtr> steps) : steps_(std::move(steps)) {}
  Status apply(Section& s, Allowance& allowance) const override {
    for (const NormalizerPtr& step : steps_) {
      CLEAVE_CHECK(step->apply(s, allowance));
      CLEAVE_CHECK(allowance.check(s.text.size()));
    }
    return {};
  }

 private:
  std::vector<NormalizerPtr> steps_;
};

Result<NormalizerPtr> read_normalizers(const Fields& fields) {
  std::vector<NormalizerPtr> steps;
  CLEAVE_CHECK(fields.for_each("normalizers", [&](const Fields& f) -> Status {
    CLEAVE_TRY(NormalizerPtr step, read_normalizer(f));
    steps.push_back(std::move(step));
    return {};
  }));
  return NormalizerPtr(std::make_unique<const NormalizerSequence>(std::move(steps)));
}

// The rules of neural machine translation: controls go, other separators become a space.
void write_nmt(std::string& out, char32_t c) {
  const bool is_control = (c >= 1 && c <= 8) || c == 0xb || (c >= 0xe && c <= 0x1f) || c == 0x7f ||
                          c == 0x8f || c == 0x9f;
  if (is_control) return;
  const bool is_space = c == 9 || c == 0xa || c == 0xc || c == 0xd || c == 0x1680 ||
                        (c >= 0x200b && c <= 0x200f) || c == 0x2028 || c == 0x2029 || c == 0x2581 ||
                        c == 0xfeff || c == 0xfffd;
  append(out, is_space ? U' ' : c);
}

}  // namespace

Status normalize(Section& section, Normalization form) {
  std::string out;
  CLEAVE_CHECK(append_normalized(out, section.text, form));
  if (section.initial > 0) {
    std::string initial;
    CLEAVE_CHECK(append_normalized(
        initial, std::string_view(section.text).substr(0, section.initial), form));
    // Up to the next code point: the last one may be composed of one that is beyond.
    section.initial = std::min(initial.size(), out.size());
    while (section.initial < out.size() &&
           (static_cast<uint8_t>(out[section.initial]) & 0xc0) == 0x80)
      ++section.initial;
  }
  section.text = std::move(out);
  return {};
}

Result<NormalizerPtr> read_normalizer(const Fields& fields) {
  CLEAVE_TRY(const std::string type, fields.type());
  if (type == "Sequence") return read_normalizers(fields);
  if (type == "BertNormalizer") return read_bert_normalizer(fields);
  if (type == "Precompiled") return read_precompiled(fields);
  if (type == "Replace") return read_replace(fields);
  constexpr std::string_view forms[] = {"NFC", "NFD", "NFKC", "NFKD"};
  const auto form = std::ranges::find(forms, type);
  if (form != std::end(forms))
    return NormalizerPtr(
        std::make_unique<const NormalForm>(static_cast<Normalization>(form - std::begin(forms))));
  if (type == "Lowercase") return code_pointwise(append_lower);
  if (type == "StripAccents")
    return code_pointwise([](std::string& out, char32_t c) {
      if (!is_combining_mark(c)) append(out, c);
    });
  if (type == "Nmt") return code_pointwise(write_nmt);
  if (type == "ByteLevel")
    return code_pointwise([](std::string& out, char32_t c) {
      std::string bytes;
      append(bytes, c);
      append_byte_level(out, bytes);
    });
  if (type == "Strip") {
    CLEAVE_TRY(const bool left, fields.boolean("strip_left"));
    CLEAVE_TRY(const bool right, fields.boolean("strip_right"));
    return NormalizerPtr(std::make_unique<const StripNormalizer>(left, right));
  }
  if (type == "Prepend") {
    CLEAVE_TRY(std::string text, fields.text("prepend"));
    return NormalizerPtr(std::make_unique<const PrependNormalizer>(std::move(text)));
  }
  return fields.unknown_type();
}

}  // namespace cleave::text
