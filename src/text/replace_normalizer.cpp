// Replace: each match of a pattern by a text.
#include "text/normalizer.h"

namespace cleave::text {
namespace {

class ReplaceNormalizer final : public Normalizer {
 public:
  ReplaceNormalizer(Regex pattern, std::string content)
      : pattern_(std::move(pattern)), content_(std::move(content)) {}

  Status apply(Section& s, Allowance& allowance) const override {
    Regex::Search search(pattern_, allowance.regex);
    search.start(s.text);
    std::string out;
    size_t done = 0, initial = 0;
    const auto copy = [&](size_t end) {  // what no match is in
      out.append(s.text, done, end - done);
      initial += std::min(end, s.initial) - std::min(done, s.initial);
      done = end;
    };
    for (RegexMatch match;;) {
      CLEAVE_TRY(const bool found, search.next(match));
      if (!found) break;
      copy(match.begin);
      out += content_;
      if (s.initial > 0 && match.end <= s.initial) initial += content_.size();
      done = match.end;
      CLEAVE_CHECK(allowance.check(out.size()));
    }
    if (done == 0 && out.empty()) return {};
    copy(s.text.size());
    s.text = std::move(out);
    s.initial = initial;
    return {};
  }

 private:
  Regex pattern_;
  std::string content_;
};

}  // namespace

Result<NormalizerPtr> read_replace(const Fields& fields) {
  CLEAVE_TRY(Regex pattern, fields.pattern("pattern"));
  CLEAVE_TRY(std::string content, fields.text("content"));
  return NormalizerPtr(
      std::make_unique<const ReplaceNormalizer>(std::move(pattern), std::move(content)));
}

}  // namespace cleave::text
