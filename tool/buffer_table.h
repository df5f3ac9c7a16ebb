// Buffers with lifetimes as comma-separated text, MiniMalloc's form:
//
//   id,lower,upper,size            a header line names the columns, in any order; others are kept
//   w0,0,21936,4100                [lower, upper) in steps from 0, size in bytes
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
  std::vector<std::string> lines;  // one a buffer, as read
  std::vector<plan::Lifetime> buffers;
};

// `name` stands in the messages. n log n.
Result<BufferTable> parse_buffer_table(const std::string& text, const std::string& name);
// The table again with a last column `offset`.
std::string with_offsets(const BufferTable& table, const std::vector<int64_t>& offset);

}  // namespace cleave::tool
