// Normalizers: from a text as it is given to the text that is split into words.
#pragma once
#include <algorithm>
#include <memory>
#include <vector>

#include "text/fields.h"
#include "text/section.h"
#include "text/unicode.h"

namespace cleave::text {

class Normalizer {
 public:
  virtual ~Normalizer() = default;
  // Errors (user): more steps or bytes than allowed.
  virtual Status apply(Section& section, Allowance& allowance) const = 0;
};
using NormalizerPtr = std::unique_ptr<const Normalizer>;

// From the object of the file. Errors: (user) a member that is missing or wrong; (unsupported) a
// type that isn't covered.
Result<NormalizerPtr> read_normalizer(const Fields& fields);

// Of types that have a file of their own.
Result<NormalizerPtr> read_bert_normalizer(const Fields& fields);
Result<NormalizerPtr> read_precompiled(const Fields& fields);
Result<NormalizerPtr> read_replace(const Fields& fields);

// Writes each code point anew: write(out, code point).
template <class F>
void rewrite(Section& section, F&& write) {
  std::string out;
  out.reserve(section.text.size() + section.text.size() / 8);
  size_t initial = 0;
  for_each_code_point(section.text, [&](char32_t c, size_t at, size_t bytes) {
    write(out, c);
    if (at + bytes <= section.initial) initial = out.size();
  });
  section.text = std::move(out);
  section.initial = initial;
}

// To a normal form.
Status normalize(Section& section, Normalization form);

}  // namespace cleave::text
