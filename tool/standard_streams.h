// stdin, stdout and stderr of the command: output that can't be written to stdout is an error,
// wherever it was printed.
//
//   keep_standard_streams()      at the start
//   ... fmt::print, put ...      a write that fails sets stdout's error flag
//   check_stdout()               at the end, and before work whose output nobody would see
#pragma once
#include <string_view>

#include "base/result.h"

namespace cleave::tool {

// Opens closed descriptors 0, 1 and 2 so that each use of them fails: otherwise the first file that
// the command opens would get that number, and printed text would be written to it. Ignores
// SIGPIPE, so that a reader that exits makes a write fail instead of ending the process in the
// middle of a file.
void keep_standard_streams();

// Writes to stdout. Unlike fmt::print it never throws.
void put(std::string_view text);

// Flushes stdout. Error (user): this or an earlier write failed.
Status check_stdout();

}  // namespace cleave::tool
