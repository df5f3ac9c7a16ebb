// rows: parallel over rows, each folded on its own.
#include "schedule/group_row.h"
#include "schedule/group_writers.h"

namespace cleave {

using namespace cleave::loop;

void write_rows(GroupContext& c) {
  const int64_t rows = c.plan.frame.rows();
  RowWriter row(c, nullptr);
  c.builder.parallel({rows}, [&](const Exprs& p) {
    const OpenScope scope(c, p);
    row.write(c.declared(p[0], rows));
  });
}

}  // namespace cleave
