#include "schedule/index_key.h"

#include <algorithm>

namespace cleave {

using namespace cleave::loop;

IndexKey index_key(ValueId v, const Exprs& index) {
  IndexKey key = {v.v};
  for (const Expr& e : index) {
    const int64_t* number = e.as_const_int();
    key.push_back(number ? static_cast<uintptr_t>(*number) << 1 | 1
                         : reinterpret_cast<uintptr_t>(&*e));
  }
  return key;
}

bool same_index(const Exprs& a, const Exprs& b) {
  return std::ranges::equal(a, b, [](const Expr& x, const Expr& y) {
    const int64_t *i = x.as_const_int(), *j = y.as_const_int();
    return x == y || (i && j && *i == *j);
  });
}

}  // namespace cleave
