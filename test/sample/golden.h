// The goldens of passes: src/pass/STAGE/NAME.clv beside each pass; a long one has parts,
// NAME.PART.clv.
//
//   # NAME: what it does
//   == title
//   a file of graphs
//   -- becomes          or   -- unchanged
//   the graphs after the pass
#pragma once
#include <string>
#include <vector>

#include "pass/pipeline.h"

namespace cleave::golden {

struct Case {
  std::string title, before, after;  // after: empty where nothing changes
};

// Error (user): there is no file, or it has another format.
Result<std::vector<Case>> cases_of(const PassRow& row);

}  // namespace cleave::golden
