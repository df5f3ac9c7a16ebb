#include "ahead/source.h"

namespace cleave::ahead {

std::vector<const Source::Program*> programs_of(const Source& source) {
  std::vector<const Source::Program*> out;
  for (const Source::Sized& s : source.sized) {
    out.push_back(&s.step);
    if (s.gather) out.push_back(&*s.gather);
  }
  return out;
}

}  // namespace cleave::ahead
