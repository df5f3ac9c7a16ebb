// Any text is a target file, or a word for a target, or an error; what is read is written so that
// it reads back the same.
#include "base/target_file.h"
#include "test/fuzz/harness.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace cleave;
  const std::string_view text = fuzz::text_of(data, size);
  if (const auto file = parse_target_file(text); file.ok()) {
    const std::string printed = print_target_file(*file);
    const auto again = parse_target_file(printed);
    if (!again.ok()) fuzz::found("a file that doesn't read back", printed);
    if (print_target_file(*again) != printed) fuzz::found("another file", printed);
  } else {
    fuzz::expect_clear(file.failure());
  }
  if (const auto word = parse_target_word(text); word.ok()) {
    const std::string printed = target_word(*word);
    const auto again = parse_target_word(printed);
    if (!again.ok()) fuzz::found("a word that doesn't read back", printed);
    if (target_word(*again) != printed) fuzz::found("another word", printed);
  } else {
    fuzz::expect_clear(word.failure());
  }
  return 0;
}
