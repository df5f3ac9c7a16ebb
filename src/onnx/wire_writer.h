// Writes the wire format of protocol buffers: the other half of wire.h.
//
//   WireWriter tensor;
//   tensor.number(2, 1).text(8, "w").bytes(9, memory_of_w);
//   graph.message(5, std::move(tensor));
//
// Numbers, texts and lengths are copied; what bytes() is given is referred to, so that weights of
// gigabytes aren't held twice. Numbers in lists are packed.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace cleave::onnx {

class WireWriter {
 public:
  WireWriter& number(uint32_t field, int64_t value);
  WireWriter& real(uint32_t field, float value);
  WireWriter& text(uint32_t field, std::string_view value);
  WireWriter& numbers(uint32_t field, std::span<const int64_t> values);
  WireWriter& reals(uint32_t field, std::span<const float> values);
  // The memory must live until the pieces are written.
  WireWriter& bytes(uint32_t field, std::span<const std::byte> value);
  WireWriter& message(uint32_t field, WireWriter value);

  size_t size() const { return size_; }
  // The message's bytes in order; valid as long as the writer is unchanged.
  std::vector<std::span<const std::byte>> pieces() const;

 private:
  struct Piece {
    std::string own;
    std::span<const std::byte> borrowed;  // empty: `own` is the piece
  };
  void varint(uint64_t v);
  void append(std::string_view text);
  void tag(uint32_t field, uint32_t type) { varint(uint64_t{field} << 3 | type); }

  std::vector<Piece> pieces_;
  size_t size_ = 0;
};

}  // namespace cleave::onnx
