#include "data/event_file.h"

#include <array>
#include <cstring>

namespace cleave::data {
namespace {

constexpr std::array<uint32_t, 256> crc_table() {
  std::array<uint32_t, 256> table = {};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t x = i;
    for (int bit = 0; bit < 8; ++bit) x = x & 1 ? 0x82f63b78u ^ (x >> 1) : x >> 1;
    table[i] = x;
  }
  return table;
}

// Of x86's byte order, as both formats ask for.
template <class T>
std::string bytes_of(T value) {
  std::string out(sizeof(T), '\0');
  std::memcpy(out.data(), &value, sizeof(T));
  return out;
}

uint32_t masked_crc(std::string_view bytes) {
  const uint32_t crc = crc32c(bytes);
  return (crc >> 15 | crc << 17) + 0xa282ead8u;
}

std::string varint(uint64_t value) {
  std::string out;
  for (; value >= 128; value >>= 7) out += static_cast<char>(value | 128);
  return out + static_cast<char>(value);
}

enum class Wire : uint8_t { varint, fixed64, bytes, fixed32 = 5 };
std::string tag(int field, Wire wire) {
  return varint(static_cast<uint64_t>(field) << 3 | static_cast<uint64_t>(wire));
}
std::string bytes_field(int field, const std::string& bytes) {
  return tag(field, Wire::bytes) + varint(bytes.size()) + bytes;
}

std::string record(const std::string& event) {
  const std::string length = bytes_of(uint64_t{event.size()});
  return length + bytes_of(masked_crc(length)) + event + bytes_of(masked_crc(event));
}

}  // namespace

uint32_t crc32c(std::string_view bytes) {
  static constexpr std::array<uint32_t, 256> table = crc_table();
  uint32_t crc = ~uint32_t{0};
  for (const char c : bytes) crc = table[(crc ^ static_cast<uint8_t>(c)) & 255] ^ (crc >> 8);
  return ~crc;
}

std::string version_record(double wall_time) {
  return record(tag(1, Wire::fixed64) + bytes_of(wall_time) + bytes_field(3, "brain.Event:2"));
}

std::string scalar_record(double wall_time, int64_t step, const std::string& name, double value) {
  const std::string scalar =
      bytes_field(1, name) + tag(2, Wire::fixed32) + bytes_of(static_cast<float>(value));
  return record(tag(1, Wire::fixed64) + bytes_of(wall_time) + tag(2, Wire::varint) +
                varint(static_cast<uint64_t>(step)) + bytes_field(5, bytes_field(1, scalar)));
}

}  // namespace cleave::data
