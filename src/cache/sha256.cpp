#include "cache/sha256.h"

#include <algorithm>
#include <bit>
#include <string_view>

namespace cleave::cache {
namespace {

// The fractional parts of the cube roots of the first 64 primes.
constexpr std::array<uint32_t, 64> round_constants = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

uint32_t word_at(const std::byte* p) {  // big endian
  return uint32_t(p[0]) << 24 | uint32_t(p[1]) << 16 | uint32_t(p[2]) << 8 | uint32_t(p[3]);
}

}  // namespace

void Sha256::compress(const std::byte* block) {
  std::array<uint32_t, 64> w;
  for (size_t i = 0; i < 16; ++i) w[i] = word_at(block + 4 * i);
  for (size_t i = 16; i < 64; ++i) {
    const uint32_t x = w[i - 15], y = w[i - 2];
    w[i] = w[i - 16] + (std::rotr(x, 7) ^ std::rotr(x, 18) ^ x >> 3) + w[i - 7] +
           (std::rotr(y, 17) ^ std::rotr(y, 19) ^ y >> 10);
  }
  auto [a, b, c, d, e, f, g, h] = state_;
  for (size_t i = 0; i < 64; ++i) {
    const uint32_t t1 = h + (std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25)) +
                        ((e & f) ^ (~e & g)) + round_constants[i] + w[i];
    const uint32_t t2 =
        (std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
    h = g, g = f, f = e, e = d + t1, d = c, c = b, b = a, a = t1 + t2;
  }
  const std::array<uint32_t, 8> sum = {a, b, c, d, e, f, g, h};
  for (size_t i = 0; i < 8; ++i) state_[i] += sum[i];
}

void Sha256::update(std::span<const std::byte> bytes) {
  const size_t filled = length_ % block_.size();
  length_ += bytes.size();
  if (filled > 0) {
    const size_t n = std::min(block_.size() - filled, bytes.size());
    std::copy_n(bytes.begin(), n, block_.begin() + static_cast<std::ptrdiff_t>(filled));
    bytes = bytes.subspan(n);
    if (filled + n < block_.size()) return;
    compress(block_.data());
  }
  for (; bytes.size() >= block_.size(); bytes = bytes.subspan(block_.size()))
    compress(bytes.data());
  std::copy(bytes.begin(), bytes.end(), block_.begin());
}

Digest Sha256::finish() {
  const uint64_t bits = length_ * 8;
  std::array<std::byte, 72> padding{std::byte{0x80}};
  const size_t zeros = (119 - length_ % 64) % 64;  // up to the last 8 bytes of a block
  for (size_t i = 0; i < 8; ++i) padding[1 + zeros + i] = std::byte(bits >> (56 - 8 * i));
  update(std::span(padding).first(1 + zeros + 8));
  Digest out;
  for (size_t i = 0; i < out.size(); ++i)
    out[i] = std::byte(state_[i / 4] >> (24 - 8 * (i % 4)) & 0xff);
  return out;
}

HmacSha256::HmacSha256(std::span<const std::byte> key) {
  Digest hashed;
  if (key.size() > 64) {
    Sha256 h;
    h.update(key);
    hashed = h.finish();
    key = hashed;
  }
  std::array<std::byte, 64> inner, outer;
  for (size_t i = 0; i < 64; ++i) {
    const std::byte k = i < key.size() ? key[i] : std::byte{0};
    inner[i] = k ^ std::byte{0x36};
    outer[i] = k ^ std::byte{0x5c};
  }
  inner_.update(inner);
  outer_.update(outer);
}

Digest HmacSha256::finish() {
  outer_.update(inner_.finish());
  return outer_.finish();
}

bool equal(const Digest& a, std::span<const std::byte> b) {
  if (b.size() != a.size()) return false;
  std::byte difference{0};
  for (size_t i = 0; i < a.size(); ++i) difference |= a[i] ^ b[i];
  return difference == std::byte{0};
}

std::string hex(const Digest& digest) {
  constexpr std::string_view digits = "0123456789abcdef";
  std::string out;
  for (const std::byte b : digest) {
    out += digits[size_t(b) >> 4];
    out += digits[size_t(b) & 15];
  }
  return out;
}

}  // namespace cleave::cache
