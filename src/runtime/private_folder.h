// A temporary folder that other users can't read or guess, removed with what is in it.
#pragma once
#include <cstddef>
#include <memory>
#include <span>
#include <string>

#include "base/result.h"

namespace cleave::runtime {

class PrivateFolder {
 public:
  // Error (user): `inside` can't be written.
  static Result<std::unique_ptr<PrivateFolder>> make(const std::string& inside);
  explicit PrivateFolder(std::string path) : path_(std::move(path)) {}
  ~PrivateFolder();
  PrivateFolder(const PrivateFolder&) = delete;
  PrivateFolder& operator=(const PrivateFolder&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// Makes a file that only this user can read. Error (user): it can't be written, or is there.
Status write_private_file(const std::string& path, std::span<const std::byte> bytes);

}  // namespace cleave::runtime
