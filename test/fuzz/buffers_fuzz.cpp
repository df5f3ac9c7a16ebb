// Any text is a table for `cleave plan`, or an error. A small table's plan is valid.
#include "test/fuzz/harness.h"
#include "tool/buffer_table.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace cleave;
  const auto table = tool::parse_buffer_table(std::string(fuzz::text_of(data, size)), "t.csv");
  if (!table.ok()) {
    fuzz::expect_clear(table.failure());
    return 0;
  }
  if (table->lines.size() != table->buffers.size()) fuzz::found("lines and buffers differ");
  for (const int64_t alignment : {1, 64}) {
    if (const Status s = plan::check_lifetimes(table->buffers, alignment); !s.ok()) {
      fuzz::expect_clear(s.failure());
      continue;
    }
    if (table->buffers.size() > 24) continue;
    const plan::OffsetOptions options{.alignment = alignment, .fit_mops = 1, .search_mops = 1};
    const plan::Offsets plan = plan::plan_offsets(table->buffers, options);
    if (const Status s = plan::verify_offsets(table->buffers, alignment, plan); !s.ok())
      fuzz::found("a plan that isn't valid", s.failure().message);
    tool::with_offsets(*table, plan.offset);
  }
  return 0;
}
