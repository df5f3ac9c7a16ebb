// Philox 4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011): key =
// seed, counter = the block's number. Normal numbers by Box-Muller, two from each pair of uniforms.
#include "cleave/generator.h"

#include <cmath>
#include <numbers>

#include "base/result.h"

namespace cleave {

void Generator::refill() {
  uint32_t c0 = static_cast<uint32_t>(block_), c1 = static_cast<uint32_t>(block_ >> 32);
  uint32_t c2 = 0, c3 = 0;
  uint32_t k0 = static_cast<uint32_t>(seed_), k1 = static_cast<uint32_t>(seed_ >> 32);
  for (int round = 0; round < 10; ++round) {
    const uint64_t p0 = uint64_t{0xD2511F53} * c0, p1 = uint64_t{0xCD9E8D57} * c2;
    c0 = static_cast<uint32_t>(p1 >> 32) ^ c1 ^ k0;
    c2 = static_cast<uint32_t>(p0 >> 32) ^ c3 ^ k1;
    c1 = static_cast<uint32_t>(p1);
    c3 = static_cast<uint32_t>(p0);
    k0 += 0x9E3779B9;
    k1 += 0xBB67AE85;
  }
  words_[0] = c0;
  words_[1] = c1;
  words_[2] = c2;
  words_[3] = c3;
  ++block_;
  used_ = 0;
}

uint32_t Generator::next() {
  if (used_ == 4) refill();
  return words_[used_++];
}

double Generator::uniform() {
  const uint64_t high = next() >> 5, low = next() >> 6;  // 27 + 26 bits
  return static_cast<double>(high << 26 | low) * 0x1p-53;
}

double Generator::normal() {
  if (has_spare_) {
    has_spare_ = false;
    return spare_normal_;
  }
  const double radius = std::sqrt(-2 * std::log1p(-uniform()));
  const double angle = 2 * std::numbers::pi * uniform();
  spare_normal_ = radius * std::sin(angle);
  has_spare_ = true;
  return radius * std::cos(angle);
}

int64_t Generator::integer(int64_t below) {
  if (below < 1) throw_failure(user_error("Generator: integer: below {} is less than 1", below));
  const uint64_t n = static_cast<uint64_t>(below);
  const uint64_t rejected = (0 - n) % n;  // 2^64 mod n: words below it would cause a bias
  for (;;) {
    const uint64_t high = next();
    const uint64_t word = high << 32 | next();
    if (word >= rejected) return static_cast<int64_t>(word % n);
  }
}

HostTensor Generator::uniform(std::vector<int64_t> shape, double low, double high) {
  HostTensor t(DType::f32, std::move(shape));
  for (float& x : t.span<float>())
    x = static_cast<float>(low + (high - low) * ((next() >> 8) * 0x1p-24));
  return t;
}

HostTensor Generator::normal(std::vector<int64_t> shape, double mean, double deviation) {
  HostTensor t(DType::f32, std::move(shape));
  for (float& x : t.span<float>()) x = static_cast<float>(mean + deviation * normal());
  return t;
}

HostTensor Generator::integers(std::vector<int64_t> shape, int64_t low, int64_t high) {
  if (high <= low)
    throw_failure(user_error("Generator: integers: the range [{}, {}) is empty", low, high));
  int64_t width = 0;
  if (__builtin_sub_overflow(high, low, &width))
    throw_failure(
        user_error("Generator: integers: the range [{}, {}) is wider than 2^63", low, high));
  HostTensor t(DType::i64, std::move(shape));
  for (int64_t& x : t.span<int64_t>()) x = low + integer(width);
  return t;
}

}  // namespace cleave
