// RFC 4648, section 10, and what is none.
#include "text/base64.h"

#include <gtest/gtest.h>

namespace cleave::text {
namespace {

TEST(Base64, bytes_of_texts) {
  const std::pair<const char*, const char*> cases[] = {{"", ""},
                                                       {"Zg==", "f"},
                                                       {"Zm8=", "fo"},
                                                       {"Zm9v", "foo"},
                                                       {"Zm9vYg==", "foob"},
                                                       {"Zm9vYmE=", "fooba"},
                                                       {"Zm9vYmFy", "foobar"},
                                                       {"+/+/", "\xfb\xff\xbf"},
                                                       {"Zg", "f"}};
  for (const auto& [text, bytes] : cases) EXPECT_EQ(value_or_throw(decode_base64(text)), bytes);
  EXPECT_EQ(value_or_throw(decode_base64("AAAA")), std::string(3, '\0'));
}

TEST(Base64, what_is_none) {
  for (const char* text : {"A", "Zm9vY", "Zm 9v", "Z=9v", "Zm9v\n", "Zm-_", "===="})
    EXPECT_FALSE(decode_base64(text).ok()) << text;
}

}  // namespace
}  // namespace cleave::text
