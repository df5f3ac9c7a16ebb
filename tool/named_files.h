// Checks the files that a command line names, before anything is done: a combination in which data
// would be lost is an error.
//
//   --forward half.clv --backward ./half.clv    two results in one file: the first would be lost
//   run g.clv --out g.clv                       a result replaces an input
//   plan - -o - --json                          two results on stdout
//   run - --in -                                two inputs from stdin
//   plan b.csv --json -o f > f                  a result in the file that stdout is redirected to
//
// Files are compared by device and inode, after following links; files that don't exist by their
// path. Devices (/dev/null) may be named twice.
#pragma once
#include <string>
#include <vector>

#include "base/result.h"

namespace cleave::tool {

struct NamedFile {
  std::string option;
  std::string path;              // empty: not given; - is stdin or stdout
  bool may_be_replaced = false;  // an input that the result may replace
};

// What the command itself writes to stdout: `free` means that it may be used for a result.
enum class Stdout : uint8_t { free, json };

// Errors (user): the cases above, naming both options.
Status check_files(const std::vector<NamedFile>& read, const std::vector<NamedFile>& written,
                   Stdout else_there);

// Whether this path is stdout, so that nothing else may be written there.
bool goes_to_stdout(const std::string& path);

}  // namespace cleave::tool
