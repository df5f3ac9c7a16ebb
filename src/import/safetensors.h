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
// A file is hostile until each of these holds; an error names the file, the tensor and the rule:
//   length        n <= 100 MB and 8+n <= size, before anything of that length is allocated
//   header        valid JSON in UTF-8, an object, nested at most 3 deep
//   unique        no key twice: tensors, fields of a tensor, metadata
//   name          not empty
//   field         dtype, shape, data_offsets: each there, no other
//   dtype         F64 F32 BF16 F16 I64 I32 I16 I8 U8 BOOL C64; others are Unsupported
//   shape         integers >= 0 whose product, zeros apart, with the element size fits 63 bits
//   data_offsets  begin <= end <= size-8-n, and end - begin = product(shape) * size of dtype
//   cover         in the order of their offsets the tensors fill the data: no gap, no overlap
//   metadata      texts alone
// The bytes are not looked at: a BOOL may be neither 0 nor 1, so take it as `!= 0`.
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
  // Reads the file into memory. It is not mapped, since a mapping ends the process with SIGBUS when
  // another one cuts the file short; here that is an error. Memory for the data is asked for only
  // after the header is found well, and refused beyond the machine's memory.
  static Result<SafetensorsFile> open(const std::string& path);
  // The same for bytes in memory; `name` stands in errors where the path would.
  static Result<SafetensorsFile> from_bytes(std::vector<std::byte> bytes,
                                            const std::string& name = "safetensors");

  // In the order of their data.
  const std::vector<TensorEntry>& entries() const { return entries_; }
  // Null when there is none of that name.
  const TensorEntry* find(std::string_view name) const;
  const SafetensorsMetadata& metadata() const { return metadata_; }

 private:
  friend class SafetensorsHeaderReader;
  SafetensorsFile() = default;

  std::shared_ptr<const void> owner_;  // of the bytes that entries_ look at
  std::vector<TensorEntry> entries_;
  std::vector<uint32_t> by_name_;  // indices into entries_
  SafetensorsMetadata metadata_;
};

// Writes the file, or leaves everything as it was (base/write_file.h). Data are ordered by element
// size, largest first, then by name, so that each tensor is aligned to its element.
// Errors (user): a name that is empty, twice there, "__metadata__" or not UTF-8; data whose size
// doesn't fit shape and dtype; a file that can't be written.
Status write_safetensors(const std::string& path, std::span<const TensorEntry> entries,
                         const SafetensorsMetadata& metadata = {});
// The same to anywhere: `write` is given the file's bytes, one piece after the other, once they are
// found well; `name` stands in errors where the path would.
using PieceWriter = std::function<Status(std::span<const std::span<const std::byte>>)>;
Status write_safetensors(const std::string& name, std::span<const TensorEntry> entries,
                         const SafetensorsMetadata& metadata, const PieceWriter& write);

}  // namespace cleave
