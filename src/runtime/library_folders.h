// Where the files that are installed beside libcleave.so may lie.
#pragma once
#include <filesystem>
#include <vector>

namespace cleave::runtime {

// The folder of the library or program that contains this code, and those of libraries beside it;
// none if this code's own isn't known.
std::vector<std::filesystem::path> library_folders();

}  // namespace cleave::runtime
