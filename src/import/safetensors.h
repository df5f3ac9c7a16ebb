// Reads and writes .safetensors files.
//
//   bytes   0        8                 8+n                                     size
//           ├────────┼──────────────────┼────────────┬───────────┬──────────────┤
//           │ n: u64 │ header: JSON, n  │ tensor 0   │ tensor 1  │ ...          │
//           └────────┴──────────────────┴────────────┴───────────┴──────────────┘
//   header  {"__metadata__": {"key": "text"},
//            "NAME": {"dtype": "F32", "shape": [2, 3], "data_offsets": [begin, end]}, ...}
//           offsets count from 8+n; little-endian, row-major, at any alignment
//
// A file is untrusted until each of these holds; an error names the file, the tensor and the rule:
//   length        n <= 100 MB and 8+n <= size, before anything of that length is allocated
//   header        valid JSON in UTF-8, an object, nested at most 3 deep
//   unique        no key occurs twice: tensors, fields of a tensor, metadata
//   name          not empty
//   field         dtype, shape, data_offsets: all present, no other
//   dtype         F64 F32 BF16 F16 I64 I32 I16 I8 U8 BOOL C64; others are Unsupported
//   shape         integers >= 0 whose product, zeros apart, with the element size fits 63 bits
//   data_offsets  begin <= end <= size-8-n, and end - begin = product(shape) * size of dtype
//   cover         in the order of their offsets the tensors fill the data: no gap, no overlap
//   metadata      only texts
// The bytes themselves are not checked: a BOOL may be neither 0 nor 1, so read it as `!= 0`.
//
// The format: huggingface/safetensors, README "Format", version 0.4.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cleave/dtype.h"

namespace cleave {

struct TensorEntry {
  std::string name;
  DType dtype = DType::f32;
  std::vector<int64_t> shape;
  std::span<const std::byte> data;  // size = product(shape) * size_of(dtype); any alignment
};

using SafetensorsMetadata = std::map<std::string, std::string>;

class SafetensorsFile {
 public:
  // Reads the file into memory. It is not mapped, since a mapping kills the process with SIGBUS if
  // another process truncates the file; here that is an error. Memory for the data is allocated
  // only after the header is found valid, and refused beyond the machine's memory.
  static Result<SafetensorsFile> open(const std::string& path);
  // The same for bytes in memory; errors name `name` instead of a path.
  static Result<SafetensorsFile> from_bytes(std::vector<std::byte> bytes,
                                            const std::string& name = "safetensors");

  // In the order of their data.
  const std::vector<TensorEntry>& entries() const { return entries_; }
  // Returns null if there is none of that name.
  const TensorEntry* find(std::string_view name) const;
  const SafetensorsMetadata& metadata() const { return metadata_; }

 private:
  friend class SafetensorsHeaderReader;
  SafetensorsFile() = default;

  std::shared_ptr<const void> owner_;  // of the bytes that entries_ refer to
  std::vector<TensorEntry> entries_;
  std::vector<uint32_t> by_name_;  // indices into entries_
  SafetensorsMetadata metadata_;
};

// Writes the file, or leaves everything unchanged (base/write_file.h). Data are ordered by element
// size, largest first, then by name, so that each tensor is aligned to its element. Errors (user):
// a name that is empty, repeated, "__metadata__" or not UTF-8; data whose size doesn't match shape
// and dtype; a file that can't be written.
Status write_safetensors(const std::string& path, std::span<const TensorEntry> entries,
                         const SafetensorsMetadata& metadata = {});
// The same with any destination: passes the file's bytes to `write`, as pieces in order, after all
// checks have passed; errors name `name` instead of a path.
using PieceWriter = std::function<Status(std::span<const std::span<const std::byte>>)>;
Status write_safetensors(const std::string& name, std::span<const TensorEntry> entries,
                         const SafetensorsMetadata& metadata, const PieceWriter& write);

}  // namespace cleave
