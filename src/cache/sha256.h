// SHA-256 (FIPS 180-4) and HMAC-SHA-256 (RFC 2104).
//
//   Sha256 h;  h.update(a);  h.update(b);  h.finish()    the digest of a and b, one after the other
//
// Our own: loading libcrypto takes milliseconds, more than a read of the cache, and would be a
// library that every host program needs. About 200 MB/s; an entry of the cache has some 100 KB.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace cleave::cache {

using Digest = std::array<std::byte, 32>;

class Sha256 {
 public:
  void update(std::span<const std::byte> bytes);
  // The digest of all that was given. Called once, last.
  Digest finish();

 private:
  void compress(const std::byte* block);

  std::array<uint32_t, 8> state_ = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                    0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<std::byte, 64> block_{};  // the last, incomplete one
  uint64_t length_ = 0;                // bytes given so far
};

// A code that only who knows the key can make; the key may have any length.
class HmacSha256 {
 public:
  explicit HmacSha256(std::span<const std::byte> key);
  void update(std::span<const std::byte> bytes) { inner_.update(bytes); }
  Digest finish();

 private:
  Sha256 inner_, outer_;
};

// Takes the same time wherever they differ.
bool equal(const Digest& a, std::span<const std::byte> b);

// 64 digits, lower case.
std::string hex(const Digest& digest);

}  // namespace cleave::cache
