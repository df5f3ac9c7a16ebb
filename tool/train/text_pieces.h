// Documents of a file, read piece by piece: a text, or a line of JSON each.
//
// A text longer than a piece is cut in front of a line that follows a line with contents: no
// tokenizer of words has a token across that place.
#pragma once
#include <cstdio>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

namespace cleave::tool {

class ByteStream {
 public:
  // `-` is stdin. Errors (user): the file is missing, is a folder, or can't be read.
  static Result<ByteStream> open(const std::string& path);
  // Appends up to `count` bytes; returns how many: 0 at the end.
  Result<size_t> read(size_t count, std::string& to);

 private:
  struct Closer {
    void operator()(std::FILE* f) const {
      if (f != stdin) std::fclose(f);
    }
  };
  ByteStream(std::string path, std::FILE* f) : path_(std::move(path)), file_(f) {}
  std::string path_;
  std::unique_ptr<std::FILE, Closer> file_;
};

// What is done with a piece of a document; `ends`: with the last one.
using TakePiece = std::function<Status(std::string_view piece, bool ends)>;

// The file as one document. Errors (user): it is empty, has a byte 0, or isn't UTF-8.
Status read_text_pieces(const std::string& path, const TakePiece& take,
                        size_t piece_bytes = size_t{1} << 20);

// The texts of a field, one document a line; empty lines and texts are skipped. Errors (user), with
// the line's number: a line that is no JSON object, or has no text of that name.
Status read_json_lines(const std::string& path, const std::string& field, const TakePiece& take);

}  // namespace cleave::tool
