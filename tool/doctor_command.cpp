// cleave doctor: whether this machine has what cleave needs, and what to do where it hasn't.
#include <algorithm>

#include "tool/cache_location.h"
#include "tool/command.h"
#include "tool/doctor_checks.h"
#include "tool/graph_file.h"

namespace cleave::tool {
namespace {

struct Options {
  std::string cache;
  bool json = false;
};

Json to_json(const std::vector<DoctorCheck>& checks) {
  Json out = Json::array();
  for (const DoctorCheck& c : checks)
    out.push_back({{"name", c.name}, {"ok", c.ok}, {"found", c.found}, {"cure", c.cure}});
  return {{"checks", out}};
}

Status run(const Options& o) {
  const std::vector<DoctorCheck> checks =
      doctor_checks(o.cache.empty() ? default_cache_folder() : Result<std::string>(o.cache));
  if (o.json) return print_json(to_json(checks));
  for (const DoctorCheck& c : checks) {
    fmt::print("{:<4}{:<16}{}\n", c.ok ? "ok" : "--", c.name, c.found);
    if (!c.cure.empty()) fmt::print("{:<20}{}{}\n", "", c.ok ? "note: " : "cure: ", c.cure);
  }
  const auto well = std::ranges::count(checks, true, &DoctorCheck::ok);
  fmt::print("{} of {} are well\n", well, checks.size());
  return {};
}

}  // namespace

Command doctor_command() {
  return {"doctor", "whether this machine has what cleave needs, and cures",
          "  cleave doctor\n  cleave doctor --json | jq '.checks[] | select(.ok | not)'",
          [](OptionList& options) {
            auto o = std::make_shared<Options>();
            options.option("--cache", o->cache, "the cache's folder that is looked at");
            options.flag("--json", o->json, "one JSON object: checks [name, ok, found, cure]");
            return [o] { return run(*o); };
          }};
}

}  // namespace cleave::tool
