// cleave plan B.csv: plans offsets for buffers with lifetimes.
#include <chrono>

#include "base/byte_size.h"
#include "plan/offsets.h"
#include "tool/buffer_table.h"
#include "tool/command.h"
#include "tool/graph_file.h"
#include "tool/named_files.h"

namespace cleave::tool {
namespace {

struct Options {
  std::string buffers, capacity = "none", out;
  int64_t alignment = 1;
  bool json = false;
};

// The effort of the search: a user waits longer for this command than for a compile.
constexpr int64_t fit_mops = 20000, search_mops = 4000;

Status run(const Options& o) {
  CLEAVE_CHECK(check_files({{"BUFFERS", o.buffers, true}}, {{"-o", o.out}},
                           o.json ? Stdout::json : Stdout::free));
  plan::OffsetOptions options{
      .alignment = o.alignment, .fit_mops = fit_mops, .search_mops = search_mops};
  if (o.capacity != "none") {
    CLEAVE_TRY(options.capacity, parse_byte_size(o.capacity, "--capacity"));
  }
  CLEAVE_TRY(std::string text, read_text(o.buffers));
  const std::string name = o.buffers == "-" ? "stdin" : o.buffers;
  CLEAVE_TRY(BufferTable table, parse_buffer_table(text, name));
  CLEAVE_CHECK(plan::check_lifetimes(table.buffers, o.alignment));
  const auto begin = std::chrono::steady_clock::now();
  const plan::Offsets p = plan::plan_offsets(table.buffers, options);
  const std::chrono::duration<double, std::milli> took = std::chrono::steady_clock::now() - begin;
  CLEAVE_CHECK(plan::verify_offsets(table.buffers, o.alignment, p));
  const bool met = options.capacity < 0 || p.height <= options.capacity;
  if (met && !o.out.empty()) CLEAVE_CHECK(write_text(o.out, with_offsets(table, p.offset)));
  if (o.json)
    CLEAVE_CHECK(print_json({{"height", p.height},
                             {"lower_bound", p.lower_bound},
                             {"optimal", p.optimal},
                             {"solve_ms", took.count()}}));
  else if (!goes_to_stdout(o.out))
    fmt::print("{} buffers: height {}, lower bound {}{}; {:.1f} ms\n", table.buffers.size(),
               p.height, p.lower_bound, p.optimal ? " (optimal)" : "", took.count());
  if (met) return {};
  return user_error(
      "{}: the capacity {} {}; the best height found is {}, the lower bound {}", name,
      options.capacity,
      p.lower_bound > options.capacity ? "is below what is possible" : "wasn't reached", p.height,
      p.lower_bound);
}

}  // namespace

Command plan_command() {
  return {"plan", "offsets for buffers with lifetimes, as low as can be",
          "  cleave plan buffers.csv --capacity 1MiB -o planned.csv\n\n"
          "buffers.csv has the columns id, lower, upper (steps, half-open) and size; planned.csv\n"
          "has one more, offset.",
          [](OptionList& options) {
            auto o = std::make_shared<Options>();
            options.required("BUFFERS", o->buffers, "a .csv file; - is stdin");
            options.option("--capacity", o->capacity,
                           "a height not to pass (1048576, 1MiB), or none");
            options.option("--alignment", o->alignment, "what divides every offset");
            options.option("-o,--out", o->out, "where the table with offsets goes; - is stdout");
            options.flag("--json", o->json, "print one JSON object");
            return [o] { return run(*o); };
          }};
}

}  // namespace cleave::tool
