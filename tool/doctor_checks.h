// What `cleave doctor` looks at: each check asks the part of cleave that needs it.
#pragma once
#include <string>
#include <vector>

#include "base/result.h"

namespace cleave::tool {

struct DoctorCheck {
  std::string name;
  bool ok = false;
  std::string found;
  std::string cure = {};  // what to do; of a check that is ok: what would be better
};

// In the order in which they are shown. A check that fails keeps none from running.
std::vector<DoctorCheck> doctor_checks(const Result<std::string>& cache_folder);

}  // namespace cleave::tool
