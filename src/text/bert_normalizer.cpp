// BertNormalizer: the clean-up of the BERT models, in their order.
#include "text/normalizer.h"

namespace cleave::text {
namespace {

bool is_chinese(char32_t c) {
  constexpr char32_t ranges[][2] = {{0x4e00, 0x9fff},   {0x3400, 0x4dbf},   {0x20000, 0x2a6df},
                                    {0x2a700, 0x2b73f}, {0x2b740, 0x2b81f}, {0x2b920, 0x2ceaf},
                                    {0xf900, 0xfaff},   {0x2f800, 0x2fa1f}};
  return std::ranges::any_of(ranges, [c](const auto& r) { return c >= r[0] && c <= r[1]; });
}

// Controls go; white space, also what is a control by its category, becomes a space.
void write_clean(std::string& out, char32_t c) {
  if (c == '\t' || c == '\n' || c == '\r') {
    out += ' ';
  } else if (c != 0 && c != 0xfffd && !is_control(c)) {
    append(out, is_white_space(c) ? U' ' : c);
  }
}

void write_spaced(std::string& out, char32_t c) {
  const bool alone = is_chinese(c);
  if (alone) out += ' ';
  append(out, c);
  if (alone) out += ' ';
}

class BertNormalizer final : public Normalizer {
 public:
  struct Options {
    bool clean_text, handle_chinese_chars, strip_accents, lowercase;
  };
  explicit BertNormalizer(const Options& o) : o_(o) {}

  Status apply(Section& s, Allowance&) const override {
    if (o_.clean_text) rewrite(s, write_clean);
    if (o_.handle_chinese_chars) rewrite(s, write_spaced);
    if (o_.strip_accents) {
      CLEAVE_CHECK(normalize(s, Normalization::nfd));
      rewrite(s, [](std::string& out, char32_t c) {
        if (!is_nonspacing_mark(c)) append(out, c);
      });
    }
    if (o_.lowercase) rewrite(s, append_lower);
    return {};
  }

 private:
  Options o_;
};

}  // namespace

Result<NormalizerPtr> read_bert_normalizer(const Fields& fields) {
  BertNormalizer::Options o{};
  CLEAVE_TRY(o.clean_text, fields.boolean("clean_text"));
  CLEAVE_TRY(o.handle_chinese_chars, fields.boolean("handle_chinese_chars"));
  CLEAVE_TRY(o.lowercase, fields.boolean("lowercase"));
  CLEAVE_TRY(o.strip_accents, fields.boolean("strip_accents", o.lowercase));
  return NormalizerPtr(std::make_unique<const BertNormalizer>(o));
}

}  // namespace cleave::text
