// stdin, stdout and stderr of the command: what can't be written to stdout is an error, whoever
// printed it.
//
//   keep_standard_streams()      at the start
//   ... fmt::print, put ...      a write that fails leaves its mark on stdout
//   check_stdout()               at the end, and where going on makes no sense without it
#pragma once
#include <string_view>

#include "base/result.h"

namespace cleave::tool {

// A closed descriptor 0, 1 or 2 is taken by one that fails each use: the first file that the
// command opens would get its number, and what is printed. A reader that goes away is then a
// failing write, not a signal that ends the process in the middle of a file.
void keep_standard_streams();

// To stdout. Unlike fmt::print it never throws.
void put(std::string_view text);

// Writes out what is buffered. Error (user): stdout can't be written, now or earlier.
Status check_stdout();

}  // namespace cleave::tool
