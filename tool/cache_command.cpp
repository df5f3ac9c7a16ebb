// cleave cache stats|verify|prune|clear: the cache on disk.
#include "base/byte_size.h"
#include "cache/disk_cache.h"
#include "tool/cache_location.h"
#include "tool/command.h"
#include "tool/command_line.h"
#include "tool/graph_file.h"
#include "tool/grouped.h"

namespace cleave::tool {
namespace {

struct Options {
  std::string action, folder, to;
  bool json = false;
};

// What an action did and found.
struct Report {
  cache::Sweep sweep;
  cache::Counts totals;
  int64_t corrupt = 0;  // verify: that it found; else of all processes so far
};

const std::vector<std::string> actions = {"stats", "verify", "prune", "clear"};

Status check_action(const Options& o) {
  if (std::ranges::find(actions, o.action) == actions.end()) {
    const std::string near = nearest_word(o.action, actions);
    return user_error("cache {}: expected one of {}{}", o.action, fmt::join(actions, ", "),
                      near.empty() ? "" : fmt::format("; did you mean {}?", near));
  }
  if (o.action == "prune" && o.to.empty())
    return user_error("cache prune: expected --to SIZE, such as --to 512MiB");
  if (o.action != "prune" && !o.to.empty())
    return user_error("cache {}: --to is of prune alone", o.action);
  return {};
}

Report act(cache::DiskCache& cache, const std::string& action, int64_t to_bytes) {
  Report out;
  out.sweep = action == "verify"  ? cache.verify()
              : action == "prune" ? cache.evict(to_bytes)
              : action == "clear" ? cache.clear()
                                  : cache.count();
  out.totals = cache.totals();
  out.corrupt = action == "verify" ? out.sweep.removed : out.totals.corrupt;
  return out;
}

Json to_json(const Report& r) {
  Json bypasses = Json::object();
  for (const auto& [reason, n] : r.totals.bypasses) bypasses[reason] = n;
  return {{"entries", r.sweep.entries}, {"bytes", r.sweep.bytes}, {"hits", r.totals.hits},
          {"misses", r.totals.misses},  {"bypasses", bypasses},   {"corrupt", r.corrupt},
          {"removed", r.sweep.removed}};
}

void print_text(const Options& o, const std::string& folder, const Report& r) {
  fmt::print("{}: {} entries, {} bytes", folder, grouped(r.sweep.entries), grouped(r.sweep.bytes));
  if (o.action != "stats") fmt::print("; {} removed", grouped(r.sweep.removed));
  fmt::print("\n");
  if (o.action != "stats") return;
  fmt::print("{} hits, {} misses, {} corrupt\n", grouped(r.totals.hits), grouped(r.totals.misses),
             grouped(r.corrupt));
  for (const auto& [reason, n] : r.totals.bypasses)
    fmt::print("{} without the cache: {}\n", grouped(n), reason);
}

Status run(const Options& o) {
  CLEAVE_CHECK(check_action(o));
  int64_t to_bytes = 0;
  if (!o.to.empty()) { CLEAVE_TRY(to_bytes, parse_byte_size(o.to, "--to")); }
  std::string folder = o.folder;
  if (folder.empty()) { CLEAVE_TRY(folder, default_cache_folder()); }
  CLEAVE_TRY(const auto cache, cache::DiskCache::find(folder));
  const Report report = cache ? act(*cache, o.action, to_bytes) : Report();
  if (o.json)
    CLEAVE_CHECK(print_json(to_json(report)));
  else
    print_text(o, folder, report);
  if (report.sweep.stuck == 0) return {};
  return user_error("{}: {} entries can't be read or removed; say `rm -r {}` if nothing uses it",
                    folder, report.sweep.stuck, folder);
}

}  // namespace

Command cache_command() {
  return {"cache", "the cache on disk: what is in it, and making it smaller",
          "  cleave cache stats\n"
          "  cleave cache verify --cache /scratch/ada/cleave\n"
          "  cleave cache prune --to 512MiB\n\n"
          "stats counts; verify reads every entry and removes those that aren't as they were\n"
          "written (corrupt: how many); prune removes what went longest without use; clear\n"
          "removes all, and the counts. All may run while programs use the cache.",
          [](OptionList& options) {
            auto o = std::make_shared<Options>();
            options.required("ACTION", o->action, "stats, verify, prune or clear");
            options.option("--to", o->to, "of prune: the size that is left, such as 512MiB");
            options.option("--cache", o->folder,
                           "its folder (default: $XDG_CACHE_HOME/cleave, or ~/.cache/cleave)");
            options.flag("--json", o->json,
                         "one JSON object: entries, bytes, hits, misses, bypasses, corrupt, "
                         "removed");
            return [o] { return run(*o); };
          }};
}

}  // namespace cleave::tool
