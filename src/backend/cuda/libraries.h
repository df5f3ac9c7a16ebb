// Which of CUDA's libraries this machine has, for people who look for what is missing.
#pragma once
#include <string>
#include <vector>

#include "backend/cuda/find_library.h"

namespace cleave::cuda {

struct LibraryState {
  std::string name;  // cuda driver, nvrtc, cublaslt, cudnn
  bool is_there = false;
  std::string found;  // version, path, GPUs; or what is missing
};

// In this order. Opens all that are there.
std::vector<LibraryState> library_states(const LibraryPlaces& places = library_places());

}  // namespace cleave::cuda
