// The published vectors of SHA-256 (NIST CAVP, FIPS 180-4's examples) and HMAC (RFC 4231).
#include "cache/sha256.h"

#include <gtest/gtest.h>

#include <string>

#include "base/split_mix.h"

namespace cleave::cache {
namespace {

std::span<const std::byte> span_of(const std::string& text) {
  return std::as_bytes(std::span(text));
}

std::string sha256(const std::string& text) {
  Sha256 h;
  h.update(span_of(text));
  return hex(h.finish());
}

std::string hmac(const std::string& key, const std::string& text) {
  HmacSha256 h(span_of(key));
  h.update(span_of(text));
  return hex(h.finish());
}

TEST(Sha256, published_vectors) {
  EXPECT_EQ(sha256(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256("\xd3"), "28969cdfa74a12c82f3bad960b0b000aca2ac329deea5c2328ebc6f2ba9802c1");
  EXPECT_EQ(sha256("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(sha256("abcdefghbcdefghicdefghijdefghijkefghijklfghijklmghijklmn"
                   "hijklmnoijklmnopjklmnopqklmnopqrlmnopqrsmnopqrstnopqrstu"),
            "cf5b16a778af8380036ce59e7b0492370b249b11e8f07a51afac45037afee9d1");
  EXPECT_EQ(sha256(std::string(1'000'000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256, hmac_of_rfc_4231) {
  const std::string aa20(20, '\xaa'), aa131(131, '\xaa');
  std::string counted;
  for (char c = 1; c <= 25; ++c) counted += c;
  EXPECT_EQ(hmac(std::string(20, '\x0b'), "Hi There"),
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
  EXPECT_EQ(hmac("Jefe", "what do ya want for nothing?"),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  EXPECT_EQ(hmac(aa20, std::string(50, '\xdd')),
            "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe");
  EXPECT_EQ(hmac(counted, std::string(50, '\xcd')),
            "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b");
  EXPECT_EQ(hmac(aa131, "Test Using Larger Than Block-Size Key - Hash Key First"),
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
  EXPECT_EQ(hmac(aa131,
                 "This is a test using a larger than block-size key and a larger than "
                 "block-size data. The key needs to be hashed before being used by the "
                 "HMAC algorithm."),
            "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2");
}

TEST(Sha256, every_split_gives_the_same) {
  uint64_t seed = 1;
  for (size_t length = 0; length < 300; ++length) {
    std::string text(length, '\0');
    for (char& c : text) c = static_cast<char>(split_mix(seed += split_mix_step));
    Sha256 h;
    for (std::span<const std::byte> rest = span_of(text); !rest.empty();) {
      const size_t n = std::min<size_t>(split_mix(seed += split_mix_step) % 90, rest.size());
      h.update(rest.first(n));
      rest = rest.subspan(n);
    }
    EXPECT_EQ(hex(h.finish()), sha256(text)) << length;
  }
}

TEST(Sha256, equal_looks_at_every_byte) {
  Digest a{}, b{};
  EXPECT_TRUE(equal(a, b));
  for (size_t i = 0; i < b.size(); ++i) {
    b[i] = std::byte{1};
    EXPECT_FALSE(equal(a, b)) << i;
    b[i] = std::byte{0};
  }
  EXPECT_FALSE(equal(a, std::span(b).first(31)));
}

}  // namespace
}  // namespace cleave::cache
