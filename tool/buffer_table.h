// Buffers with lifetimes as comma-separated text, in MiniMalloc's format:
//
//   id,lower,upper,size            the header names the columns, in any order; others are kept
//   w0,0,21936,4100                [lower, upper) are times from 0, size is in bytes
//
// Errors (user) name the file and the line: a column is missing or named twice, a field is no
// integer, a number is negative, lower >= upper, an id is empty or given twice, sizes whose sum
// passes 2^62, a line with too few or too many fields, no buffer at all.
#pragma once
#include <string>
#include <vector>

#include "plan/offsets.h"

namespace cleave::tool {

struct BufferTable {
  std::string header;              // as read
  std::vector<std::string> lines;  // one for each buffer, as read
  std::vector<plan::Lifetime> buffers;
};

// `name` is used in messages. O(n log n).
Result<BufferTable> parse_buffer_table(const std::string& text, const std::string& name);
// The table again with a last column `offset`.
std::string with_offsets(const BufferTable& table, const std::vector<int64_t>& offset);

}  // namespace cleave::tool
