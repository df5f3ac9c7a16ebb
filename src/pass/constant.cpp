#include "pass/constant.h"

namespace cleave {

Pattern full_of(const std::string& name) {
  return call("full", {}, {{"size", anything()}, {"fill_value", bind(name)}, {"dtype", anything()}})
      .shared();
}

Pattern constant(const std::string& name) { return either({number(name), full_of(name)}); }

bool is_number(const Match& m, const char* name, double v) { return m.scalar(name) == v; }

}  // namespace cleave
