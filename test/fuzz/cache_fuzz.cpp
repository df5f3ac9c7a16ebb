// The files of a cache's folder: the first byte says which, the others are the file.
//   'e' an entry, with the code that a process of this user would have put behind it, so that
//       mutations reach what is behind the check; 'r' an entry as it is; 't' the totals
#include "cache/counts.h"
#include "cache/entry.h"
#include "test/fuzz/harness.h"

namespace cleave::cache {
namespace {

constexpr UserKey user_key{};

void check_entry(std::span<const std::byte> file) {
  const std::optional<Entry> e = checked_entry(file, user_key);
  if (!e) return;
  const EntryFrame frame = frame_of(*e, user_key);
  if (frame.head.size() + e->payload.size() + frame.code.size() != file.size())
    fuzz::found("an entry with something else in it");
  if (!is_entry_name(entry_name(e->kind, e->key))) fuzz::found("an odd name");
}

void check_totals(std::string_view text) {
  Counts c = parse_counts(text);
  if (parse_counts(print_counts(c)) != c) fuzz::found("totals that don't read back", text);
  const Counts before = c;
  c += before;
  if (c.hits < before.hits || c.hits < 0) fuzz::found("a count that wraps", text);
  if (print_counts(c).size() > 4096) fuzz::found("totals larger than their block", text);
}

}  // namespace
}  // namespace cleave::cache

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace cleave;
  if (size == 0) return 0;
  const auto rest = std::as_bytes(std::span(data + 1, size - 1));
  if (data[0] == 't') {
    cache::check_totals(fuzz::text_of(data + 1, size - 1));
  } else if (data[0] == 'e') {
    cache::HmacSha256 code(cache::user_key);
    code.update(rest);
    const cache::Digest digest = code.finish();
    std::vector<std::byte> whole(rest.begin(), rest.end());
    const auto tail = std::as_bytes(std::span(digest));
    whole.insert(whole.end(), tail.begin(), tail.end());
    cache::check_entry(whole);
  } else {
    cache::check_entry(rest);
  }
  return 0;
}
