// Matches of Oniguruma's expressions, as tokenizers 0.23 splits by them; limits of hostile ones.
// tests: translate_regex.cpp regex_sets.cpp
#include "text/regex.h"

#include <gtest/gtest.h>

#include "text/translate_regex.h"

namespace cleave::text {
namespace {

std::vector<std::string> matches(const Regex& regex, std::string_view text) {
  RegexBudget budget;
  Regex::Search search(regex, budget);
  search.start(text);
  std::vector<std::string> out;
  for (RegexMatch m; value_or_throw(search.next(m));)
    out.emplace_back(text.substr(m.begin, m.end - m.begin));
  return out;
}
std::vector<std::string> matches(std::string_view pattern, std::string_view text) {
  return matches(value_or_throw(Regex::read(pattern)), text);
}
using Texts = std::vector<std::string>;

TEST(Regex, classes_are_those_of_unicode) {
  EXPECT_EQ(matches(R"(\s)", "a\u00a0b\u3000\u180e\u200b"), (Texts{"\u00a0", "\u3000"}));
  EXPECT_EQ(matches(R"(\S+)", "a\u0085b"), (Texts{"a", "b"}));
  EXPECT_EQ(matches(R"([^\s]+)", "a\u2003b"), (Texts{"a", "b"}));
  EXPECT_EQ(matches(R"(\w+)", "e\u0301\u00b2_ \u0915\u094d \u2460"),
            (Texts{"e\u0301\u00b2_", "\u0915\u094d"}));
  EXPECT_EQ(matches(R"([\w]+)", "a\u00b2b"), (Texts{"a", "b"}));  // as in Oniguruma
  EXPECT_EQ(matches(R"(\W+)", "a\u00b2- b"), (Texts{"- "}));
  EXPECT_EQ(matches(R"([\w-]+)", "a-b c"), (Texts{"a-b", "c"}));
  EXPECT_EQ(matches(R"([\s-]+)", "a- b"), (Texts{"- "}));
  EXPECT_EQ(matches(R"(\d+)", "1\u0661\u00bd"), (Texts{"1\u0661"}));
  EXPECT_EQ(matches(R"(\p{L}+|\p{N})", "a\u00e9\u4e2d\u2160"), (Texts{"a\u00e9\u4e2d", "\u2160"}));
  EXPECT_EQ(matches(R"(\p{Letter}+)", "ab1"), (Texts{"ab"}));
  EXPECT_EQ(matches(R"(\p{Han})", "\u4e2d\u3042\u30fb"), (Texts{"\u4e2d"}));
  EXPECT_EQ(matches(R"(\p{^L}|\P{^N})", "a1"), (Texts{"1"}));
  EXPECT_EQ(matches(R"([[:alpha:][:digit:]]+)", "a\u03451-"), (Texts{"a\u03451"}));
  EXPECT_EQ(matches(R"([^[:space:]]+)", "a b"), (Texts{"a", "b"}));
}

TEST(Regex, syntax_of_oniguruma) {
  EXPECT_EQ(matches(R"(a{,2})", "aaa"), (Texts{"aa", "a"}));
  EXPECT_EQ(matches(R"(\u00e9|\x41|\x{1F600})", "\u00e9A\U0001f600"),
            (Texts{"\u00e9", "A", "\U0001f600"}));
  EXPECT_EQ(matches("^.", "ab\ncd"), (Texts{"a", "c"}));
  EXPECT_EQ(matches(".$", "ab\ncd"), (Texts{"b", "d"}));
  EXPECT_EQ(matches("(?m:a.b)", "a\nb"), (Texts{"a\nb"}));
  EXPECT_EQ(matches("a.b", "a\nb"), (Texts{}));
  EXPECT_EQ(matches("(?i:'S|'t)", "'s'T'\u017f"), (Texts{"'s", "'T", "'\u017f"}));
  EXPECT_EQ(matches(R"([]a]|\])", "]a"), (Texts{"]", "a"}));
  EXPECT_EQ(matches(R"(\v)", "\n\v"), (Texts{"\v"}));
  EXPECT_EQ(matches(R"(\s+(?!\S)|\s+)", "a   b "), (Texts{"  ", " ", " "}));
  EXPECT_EQ(matches("(?<=a)b|(?<!a)c|(?>aa|a)d", "abaadc"), (Texts{"b", "aad", "c"}));
}

TEST(Regex, empty_matches) {
  EXPECT_EQ(matches("x*", "axxb"), (Texts{"", "xx", ""}));
  EXPECT_EQ(matches("x*", "\u00e9"), (Texts{"", ""}));
  EXPECT_EQ(matches("x*", ""), (Texts{}));
}

TEST(Regex, plain_texts) {
  EXPECT_EQ(matches(value_or_throw(Regex::literal("a.")), "a.ab"), (Texts{"a."}));
  EXPECT_FALSE(Regex::literal("").ok());
}

TEST(Regex, what_is_not_covered_is_named) {
  const auto refused = [](std::string_view pattern) {
    const auto r = Regex::read(pattern);
    return r.ok() ? "" : r.failure().message;
  };
  EXPECT_EQ(refused(R"([a&&b])"),
            R"(regular expression /[a&&b]/: an intersection of sets at byte 2 isn't covered)");
  EXPECT_EQ(refused(R"([a[b]])"),
            R"(regular expression /[a[b]]/: a set in a set at byte 2 isn't covered)");
  for (const char* pattern :
       {R"(\b)", R"(\h)", R"(\R)", R"(\K)", R"(\G)", R"(\1)", R"((?<n>a))", "(?x)", "(?~a)", "(*F)",
        R"([\W])", R"([[:punct:]])", R"(\x80)", R"(a{1,2}+)", R"([^\p{^Alpha}])"}) {
    const auto r = Regex::read(pattern);
    ASSERT_FALSE(r.ok()) << pattern;
    EXPECT_EQ(r.failure().kind, ErrorKind::unsupported) << pattern;
  }
  EXPECT_EQ(refused("a)"),
            "regular expression /a)/: unmatched closing parenthesis (at byte 1 in "
            "PCRE2's syntax)");
  for (const char* pattern : {"(", "[", "[a", "\\", R"(\p{L)", R"(\x{41)", R"(\u12)", "(?", "(?i",
                              R"(\p{Nowhere})", "a**b("})
    EXPECT_FALSE(Regex::read(pattern).ok()) << pattern;
  EXPECT_FALSE(Regex::read(std::string(70'000, 'a')).ok());
  EXPECT_FALSE(Regex::read(std::string(200, '(') + "a" + std::string(200, ')')).ok());
}

// Exponential, and not: what needs many steps here and there is given them.
TEST(Regex, steps_are_limited) {
  const Regex hostile = value_or_throw(Regex::read("(a|a)*[cd]"));
  RegexBudget budget;
  Regex::Search search(hostile, budget);
  const std::string text(5000, 'a');
  search.start(text);
  RegexMatch m;
  const auto r = search.next(m);
  ASSERT_FALSE(r.ok());
  EXPECT_EQ(r.failure().kind, ErrorKind::user);
  EXPECT_TRUE(
      r.failure().message.ends_with("takes too many steps (split the text, or simplify the "
                                    "expression) on a text of 5000 bytes"))
      << r.failure().message;
}

// Many places that need some thousand steps each have one budget.
TEST(Regex, steps_of_many_places_are_added_up) {
  const Regex slow = value_or_throw(Regex::read("(?:a|a){11}[cd]"));
  const auto run = [&](size_t bytes) {
    RegexBudget budget{1'000'000};
    Regex::Search search(slow, budget);
    const std::string text(bytes, 'a');
    search.start(text);
    RegexMatch m;
    return search.next(m);
  };
  EXPECT_FALSE(value_or_throw(run(40)));
  EXPECT_FALSE(run(400).ok());
}

TEST(Regex, long_runs_are_matched) {
  const std::string spaces(200'000, ' ');
  EXPECT_EQ(matches(R"(\s*[\r\n]+|\s+(?!\S)|\s+)", spaces + "x").size(), 2u);
  EXPECT_EQ(matches(R"((?:\s|\S)+[yz]|x)", std::string(2000, ' ') + "x"), (Texts{"x"}));
  EXPECT_EQ(matches(R"((?:a|b)+)", std::string(100'000, 'a')).size(), 1u);
}

}  // namespace
}  // namespace cleave::text
