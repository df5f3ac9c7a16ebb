// Archives that tests make: zip files in memory, and the smallest .pt2.
#pragma once
#include <string>
#include <vector>

#include "import/zip_archive.h"

namespace cleave {

struct Part {
  std::string name, bytes;
  bool deflated = false;
};

// A zip file with these entries.
std::vector<std::byte> zipped(const std::vector<Part>& parts);

// The parts of a .pt2 of forward(x) = w * x, w: f32[2] = {2, 3}, x: f32[4,2].
//   0 archive_format   1 models/model.json   2, 3 lists of weights and constants   4 weight_0
std::vector<Part> small_model();
// The text with the first `from` replaced, which must be there.
std::string with(std::string text, const std::string& from, const std::string& to);

}  // namespace cleave
