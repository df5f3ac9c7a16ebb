#include "text/regex.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <algorithm>

#include "text/translate_regex.h"
#include "text/unicode.h"

namespace cleave::text {
namespace {

constexpr size_t longest_pattern = 65'536;  // bytes
constexpr uint32_t deepest_nesting = 100;   // of groups
constexpr uint32_t free_steps = 1'000;      // of each place where a match may begin
constexpr uint32_t step_factor = 16;
constexpr uint32_t most_heap = 64 * 1024;  // KiB

constexpr auto free_code = [](const pcre2_code* c) { pcre2_code_free(const_cast<pcre2_code*>(c)); };

Status check_length(std::string_view pattern) {
  if (pattern.size() <= longest_pattern) return {};
  return unsupported("a regular expression of {} bytes, at most {} are covered", pattern.size(),
                     longest_pattern);
}

std::string message_of(int error) {
  PCRE2_UCHAR text[256];
  pcre2_get_error_message(error, text, sizeof text);
  return reinterpret_cast<const char*>(text);
}

}  // namespace

Result<Regex> Regex::read(std::string_view pattern) {
  CLEAVE_CHECK(check_length(pattern));
  CLEAVE_TRY(const std::string translated, translate_regex(pattern));
  auto regex = compile(translated);
  if (!regex.ok())
    return std::move(regex).failure().within(
        fmt::format("regular expression {}", shown_pattern(pattern)));
  return regex;
}

Result<Regex> Regex::compile(std::string_view pattern) {
  if (pattern.empty()) return unsupported("an empty regular expression isn't covered");
  CLEAVE_CHECK(check_length(pattern));
  const std::unique_ptr<pcre2_compile_context, decltype(&pcre2_compile_context_free)> context(
      pcre2_compile_context_create(nullptr), &pcre2_compile_context_free);
  pcre2_set_newline(context.get(), PCRE2_NEWLINE_LF);
  pcre2_set_parens_nest_limit(context.get(), deepest_nesting);
  int error = 0;
  PCRE2_SIZE at = 0;
  pcre2_code* code = pcre2_compile(
      reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(),
      PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE | PCRE2_NEVER_BACKSLASH_C | PCRE2_USE_OFFSET_LIMIT,
      &error, &at, context.get());
  if (!code)
    return user_error("{} (at byte {} in PCRE2's syntax)", message_of(error),
                      static_cast<size_t>(at));
  std::shared_ptr<const pcre2_code> owned(code, free_code);
  pcre2_jit_compile(code, PCRE2_JIT_COMPLETE);  // where it fails, matches are interpreted
  return Regex(std::move(owned), std::string(pattern));
}

Result<Regex> Regex::literal(std::string_view text) {
  if (text.empty()) return unsupported("an empty text as a pattern isn't covered");
  return Regex(nullptr, std::string(text));
}

struct Regex::Search::Memory {
  pcre2_match_data* data = pcre2_match_data_create(1, nullptr);
  pcre2_match_context* context = pcre2_match_context_create(nullptr);
  Memory() { pcre2_set_heap_limit(context, most_heap); }
  ~Memory() {
    pcre2_match_context_free(context);
    pcre2_match_data_free(data);
  }
};

Regex::Search::Search(const Regex& regex, RegexBudget& budget) : regex_(&regex), budget_(&budget) {
  if (regex.code_) memory_ = std::make_unique<Memory>();
}
Regex::Search::~Search() = default;

void Regex::Search::start(std::string_view text) {
  text_ = text;
  from_ = 0;
  last_end_ = std::string_view::npos;
}

Result<bool> Regex::Search::next(RegexMatch& match) {
  if (text_.empty()) return false;
  while (from_ <= text_.size()) {
    CLEAVE_TRY(const bool found, search(from_, match));
    if (!found) return false;
    if (match.begin != match.end || match.end != last_end_) {
      from_ = last_end_ = match.end;
      return true;
    }
    from_ += from_ < text_.size() ? code_point_at(text_, from_).bytes : 1;
  }
  return false;
}

// PCRE2's result for matches that begin in [from, last].
int Regex::Search::search_between(size_t from, size_t last, uint32_t limit, RegexMatch& match) {
  pcre2_set_match_limit(memory_->context, limit);
  pcre2_set_offset_limit(memory_->context, last);
  const auto run = [&](uint32_t options) {
    return pcre2_match(regex_->code_.get(), reinterpret_cast<PCRE2_SPTR>(text_.data()),
                       text_.size(), from, PCRE2_NO_UTF_CHECK | options, memory_->data,
                       memory_->context);
  };
  int rc = run(0);  // compiled code has 32 KiB of the thread's stack
  if (rc == PCRE2_ERROR_JIT_STACKLIMIT) rc = run(PCRE2_NO_JIT);
  if (rc >= 0) {
    const PCRE2_SIZE* ends = pcre2_get_ovector_pointer(memory_->data);
    match = {ends[0], std::max(ends[0], ends[1])};
  }
  return rc;
}

Failure Regex::Search::failure(std::string_view what) const {
  return user_error("regular expression {}: {} on a text of {} bytes",
                    shown_pattern(regex_->pattern_), what, text_.size());
}

Result<bool> Regex::Search::search(size_t from, RegexMatch& match) {
  if (!regex_->code_) {
    const size_t at = text_.find(regex_->pattern_, from);
    match = {at, at + regex_->pattern_.size()};
    return at != std::string_view::npos;
  }
  const int rc = search_between(from, text_.size(), free_steps, match);
  if (rc >= 0) return true;
  if (rc == PCRE2_ERROR_NOMATCH) return false;
  if (rc != PCRE2_ERROR_MATCHLIMIT) return failure(message_of(rc));
  return search_closely(from, match);
}

size_t Regex::Search::boundary(size_t at) const {
  while (at < text_.size() && (static_cast<uint8_t>(text_[at]) & 0xc0) == 0x80) ++at;
  return at;
}

// Looks for the place that needs more steps, in windows of 1, 2, 4, ... bytes, and gives it some.
Result<bool> Regex::Search::search_closely(size_t from, RegexMatch& match) {
  for (size_t window = 1; from <= text_.size();) {
    const size_t last = std::min(text_.size(), from + window - 1);
    const int rc = search_between(from, last, free_steps, match);
    if (rc >= 0) return true;
    if (rc == PCRE2_ERROR_NOMATCH) {
      from = boundary(last + 1);
      window *= 2;
    } else if (rc != PCRE2_ERROR_MATCHLIMIT) {
      return failure(message_of(rc));
    } else if (window > 1) {
      window = 1;
    } else {
      CLEAVE_TRY(const bool found, search_at(from, match));
      if (found) return true;
      from = boundary(from + 1);
    }
  }
  return false;
}

// A match that begins here.
Result<bool> Regex::Search::search_at(size_t from, RegexMatch& match) {
  for (uint64_t limit = free_steps * step_factor; limit <= budget_->steps; limit *= step_factor) {
    budget_->steps -= limit;
    const int rc = search_between(from, from, static_cast<uint32_t>(limit), match);
    if (rc >= 0) return true;
    if (rc == PCRE2_ERROR_NOMATCH) return false;
    if (rc != PCRE2_ERROR_MATCHLIMIT) return failure(message_of(rc));
  }
  return failure("takes too many steps (split the text, or simplify the expression)");
}

}  // namespace cleave::text
