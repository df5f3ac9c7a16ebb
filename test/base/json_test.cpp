// Writing JSON, and how texts that aren't UTF-8 are written.
#include "base/json.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <limits>

namespace cleave {
namespace {

TEST(Json, members_keep_their_order) {
  Json out = {{"name", "gpt"}, {"steps", 3}, {"met", true}};
  out["losses"] = Json::array();
  out["losses"].push_back(2.5);
  out["losses"].push_back({{"at", uint64_t{1} << 63}});
  out["steps"] = -4;
  EXPECT_EQ(out.text(),
            R"({"name":"gpt","steps":-4,"met":true,"losses":[2.5,{"at":9223372036854775808}]})");
}

TEST(Json, empty_ones_and_null) {
  EXPECT_EQ(Json().text(), "null");
  EXPECT_EQ(Json::array().text(), "[]");
  EXPECT_EQ(Json::object().text(), "{}");
  EXPECT_EQ(Json(std::vector<std::string>{"a", "b"}).text(), R"(["a","b"])");
  Json made;  // a null becomes what it is used as
  made["a"]["b"].push_back(1);
  EXPECT_EQ(made.text(), R"({"a":{"b":[1]}})");
}

TEST(Json, numbers_read_back_the_same) {
  for (const double x : {0.1, 1.0, -2.5e-300, 1e22, 5e-324, 1.7976931348623157e308})
    EXPECT_EQ(std::strtod(Json(x).text().c_str(), nullptr), x);
  EXPECT_EQ(Json(1.0).text(), "1.0");
  EXPECT_EQ(Json(-0.0).text(), "-0.0");
  EXPECT_EQ(Json(std::numeric_limits<int64_t>::min()).text(), "-9223372036854775808");
  EXPECT_EQ(Json(INFINITY).text(), "null");
  EXPECT_EQ(Json(NAN).text(), "null");
}

TEST(Json, texts_are_escaped) {
  EXPECT_EQ(Json("a\"b\\c\n\r\t\b\f\x01").text(), R"("a\"b\\c\n\r\t\b\f\u0001")");
  EXPECT_EQ(Json("\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80 \x7f").text(),
            "\"\xc3\xa9 \xe2\x82\xac \xf0\x9f\x98\x80 \x7f\"");
}

// Each with U+FFFD in place of invalid bytes.
TEST(Json, what_is_no_utf8_is_replaced) {
  const std::string mark = "\xef\xbf\xbd";
  const struct {
    std::string_view text;
    std::string want;
  } cases[] = {
      {"a\xff"
       "b",
       "a" + mark + "b"},                               // no first byte
      {"\xc0\xaf", mark + mark},                        // overlong
      {"\xe0\x80\x80", mark + mark + mark},             // overlong
      {"\xed\xa0\x80", mark + mark + mark},             // a surrogate
      {"\xf4\x90\x80\x80", mark + mark + mark + mark},  // beyond U+10FFFF
      {"\xe2\x82", mark},                               // cut off
      {"\xe2\x82x", mark + "x"},
  };
  for (const auto& c : cases) {
    EXPECT_EQ(Json(c.text).text(), '"' + c.want + '"');
    EXPECT_EQ(json_string(c.text), std::nullopt);
  }
  EXPECT_EQ(json_string("\xe2\x82\xac"), "\"\xe2\x82\xac\"");
}

}  // namespace
}  // namespace cleave
