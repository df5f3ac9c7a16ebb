#include "tool/named_files.h"

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <optional>

namespace cleave::tool {
namespace {

// What a path refers to: an existing file, or a path where one may be made.
struct FileIdentity {
  bool exists = false;
  struct stat info{};
  std::string path;  // if there is no such file

  bool keeps_contents() const { return !exists || !S_ISCHR(info.st_mode); }
  bool is(const FileIdentity& other) const {
    if (exists != other.exists || !keeps_contents()) return false;
    if (!exists) return path == other.path;
    return info.st_dev == other.info.st_dev && info.st_ino == other.info.st_ino;
  }
};

FileIdentity identity_of(const std::string& path, int stream) {
  FileIdentity p;
  p.exists = (path == "-" ? ::fstat(stream, &p.info) : ::stat(path.c_str(), &p.info)) == 0;
  if (p.exists) return p;
  std::error_code error;
  const auto absolute = std::filesystem::absolute(path, error);
  const auto canonical = std::filesystem::weakly_canonical(absolute, error);
  p.path = error ? path : canonical.string();
  return p;
}

bool same_file(const NamedFile& a, int stream_a, const NamedFile& b, int stream_b) {
  if (a.path == "-" && b.path == "-" && stream_a == stream_b) return true;
  return identity_of(a.path, stream_a).is(identity_of(b.path, stream_b));
}

std::string text_of(const NamedFile& file) { return file.option + " " + file.path; }

Status check_pair_read(const NamedFile& a, const NamedFile& b) {
  if (a.path != "-" || b.path != "-") return {};
  return user_error("{} and {} are both stdin, which can be read once: expected a file for one",
                    a.option, b.option);
}

Status check_pair_written(const NamedFile& a, const NamedFile& b) {
  if (!same_file(a, STDOUT_FILENO, b, STDOUT_FILENO)) return {};
  if (a.path == "-" && b.path == "-")
    return user_error("{} and {}: both would go to stdout; expected a file for one", a.option,
                      b.option);
  return user_error("{} and {} name one file, where the second would replace the first", text_of(a),
                    text_of(b));
}

Status check_with_stdout(const NamedFile& file, Stdout else_there) {
  if (file.path == "-" || goes_to_stdout(file.path)) {
    if (else_there == Stdout::free) return {};
    return user_error("--json needs {} FILE: both would go to stdout", file.option);
  }
  return {};
}

}  // namespace

bool goes_to_stdout(const std::string& path) {
  if (path.empty()) return false;
  return path == "-" || identity_of(path, STDOUT_FILENO).is(identity_of("-", STDOUT_FILENO));
}

Status check_files(const std::vector<NamedFile>& read, const std::vector<NamedFile>& written,
                   Stdout else_there) {
  for (size_t i = 0; i < read.size(); ++i)
    for (size_t k = 0; k < i; ++k) CLEAVE_CHECK(check_pair_read(read[k], read[i]));
  for (size_t i = 0; i < written.size(); ++i) {
    const NamedFile& file = written[i];
    if (file.path.empty()) continue;
    CLEAVE_CHECK(check_with_stdout(file, else_there));
    for (size_t k = 0; k < i; ++k)
      if (!written[k].path.empty()) CLEAVE_CHECK(check_pair_written(written[k], file));
    for (const NamedFile& from : read)
      if (!from.path.empty() && !from.may_be_replaced &&
          same_file(from, STDIN_FILENO, file, STDOUT_FILENO))
        return user_error("{} is {}, which would be lost: expected another file", text_of(file),
                          from.option);
  }
  return {};
}

}  // namespace cleave::tool
