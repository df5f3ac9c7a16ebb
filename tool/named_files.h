// The files of a command line, by the options that name them: what would lose something is refused
// before anything is done.
//
//   --forward half.clv --backward ./half.clv    two results in one file: the second wins
//   run g.clv --out g.clv                       a result in the place of what it is made from
//   plan - -o - --json                          two results on stdout
//   run - --in -                                two inputs on stdin
//   plan b.csv --json -o f > f                  a result in the file that stdout goes to
//
// Files are told apart by device and inode, through links; those that aren't there by their path.
// Devices (/dev/null) may be named twice.
#pragma once
#include <string>
#include <vector>

#include "base/result.h"

namespace cleave::tool {

struct NamedFile {
  std::string option;
  std::string path;              // empty: not given; - is stdin or stdout
  bool may_be_replaced = false;  // of one that is read: what replaces it means the same, and more
};

// What else goes to stdout.
enum class Stdout : uint8_t { free, json };

// Errors (user): the cases above, naming both options.
Status check_files(const std::vector<NamedFile>& read, const std::vector<NamedFile>& written,
                   Stdout else_there);

// Whether a result goes to stdout, so that nothing else may.
bool goes_to_stdout(const std::string& path);

}  // namespace cleave::tool
