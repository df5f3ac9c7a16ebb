#include "base/build_identity.h"

#include "version.h"

namespace cleave {

std::string_view build_identity() {
  return "cleave " CLEAVE_VERSION
         " "
#include "source_digest.inc"
         ", compiled by " __VERSION__;
}

}  // namespace cleave
