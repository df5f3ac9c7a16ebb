// Opens the libraries of CUDA, of which cleave links none.
//
//   1. by name, as the system finds it: LD_LIBRARY_PATH, /etc/ld.so.cache
//   2. in /usr/local/cuda/lib64, where the toolkit is
//   3. in the folders of PyPI's packages nvidia-*, beside each python3 in PATH, and those
//      of this user
#pragma once
#include <initializer_list>
#include <string>
#include <vector>

#include "base/result.h"

namespace cleave::cuda {

struct LibraryPlaces {
  bool asks_system = true;
  std::vector<std::string> folders;  // then these, in order
};
// Of this machine. It reads folders and starts nothing.
LibraryPlaces library_places();

struct OpenedLibrary {
  void* handle = nullptr;  // never closed: such libraries have threads and exit handlers
  std::string path;
};

// The first of `names` that can be opened. Error (unsupported): none can; it says which were looked
// for, why one that is there can't be opened, and `cure`.
Result<OpenedLibrary> open_library(std::initializer_list<const char*> names, std::string_view cure,
                                   const LibraryPlaces& places = library_places());

// Null if the library lacks it.
void* find_symbol(const OpenedLibrary& library, const char* name);

}  // namespace cleave::cuda
