// Reads the wire format of protocol buffers, field by field, without copies.
//
//   message = { tag value }      tag = varint: number * 8 + type
//   type 0  varint                      1 to 10 bytes, 7 bits each, the lowest first
//   type 1  fixed64   type 5  fixed32   8 and 4 bytes, the lowest first
//   type 2  length-delimited            varint length, then as many bytes
//
// Untrusted input: each length is held against what is left before anything is taken; errors name
// the byte of the file. Groups (types 3 and 4) are refused: ONNX has none.
// Source: protobuf.dev/programming-guides/encoding.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace cleave::onnx {

enum class WireType : uint8_t { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 };

struct Field {
  uint32_t number = 0;
  WireType type = WireType::varint;
  uint64_t value = 0;                // of varint, fixed64 and fixed32
  std::span<const std::byte> bytes;  // of bytes
  size_t at = 0;                     // where the tag stands in the file
  size_t begin = 0;                  // where `bytes` begin in the file
};

// A message: its bytes, where they begin in the file, and how deep it is nested.
struct Message {
  std::span<const std::byte> bytes;
  size_t begin = 0;
  int depth = 0;

  static constexpr int deepest = 64;
  // That of a field. Errors (user): the field holds no bytes; it is nested too deep.
  static Result<Message> of(const Field& field, int depth);
};

class WireReader {
 public:
  explicit WireReader(const Message& message) : message_(message) {}
  bool done() const { return at_ == message_.bytes.size(); }
  int depth() const { return message_.depth; }
  // Precondition: !done().
  Result<Field> next();

 private:
  Result<uint64_t> varint();
  Result<uint64_t> fixed(size_t count);
  size_t place() const { return message_.begin + at_; }

  Message message_;
  size_t at_ = 0;
};

// The value of one field. Error (user): it has another wire type.
Result<int64_t> as_int(const Field& field);
Result<float> as_float(const Field& field);
Result<std::string> as_text(const Field& field);

// Appends the numbers of a repeated field, which is packed or a single one.
Status append_ints(const Field& field, std::vector<int64_t>& into);
Status append_floats(const Field& field, std::vector<float>& into);
Status append_doubles(const Field& field, std::vector<double>& into);

}  // namespace cleave::onnx
