#include "library/check_attention.h"

namespace cleave {

Status check_sizes(const AttentionSpec& s) {
  const bool sizes = s.batch >= 0 && s.heads >= 0 && s.rows >= 0 && s.columns >= 0 &&
                     s.width >= 0 && s.value_width >= 0;
  const bool groups = s.key_group > 0 && s.value_group > 0 && s.heads % s.key_group == 0 &&
                      s.heads % s.value_group == 0;
  if (!sizes || !groups || (s.sum_rows != 0 && s.sum_rows < s.rows))
    return bug("attention: [{}, {}, {}, {}, {}, {}] in groups of {} and {}", s.batch, s.heads,
               s.rows, s.columns, s.width, s.value_width, s.key_group, s.value_group);
  return {};
}

}  // namespace cleave
