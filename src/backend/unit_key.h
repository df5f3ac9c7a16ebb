// What backends share that keep the compiled code of their units in a cache.
#pragma once
#include <string>
#include <vector>

#include "backend/backend.h"

namespace cleave {

// The digest of the compiler's identity, of how it takes the text, and of the text.
std::string unit_key(std::string_view identity, int kind, std::string_view text);

// load(unit, "unit3") of each unit, on any thread of the executor; in the order of the units. The
// failure is the first one's in that order.
template <class Loaded, class Load>
Result<std::vector<Loaded>> load_in_parallel(const std::vector<SourceUnit>& units,
                                             Executor& executor, const Load& load) {
  std::vector<Result<Loaded>> results(units.size(), Loaded());
  struct Context {
    const std::vector<SourceUnit>& units;
    const Load& load;
    std::vector<Result<Loaded>>& results;
  } context{units, load, results};
  const auto load_one = [](void* c, long i) {
    const auto& [all, load_unit, out] = *static_cast<Context*>(c);
    out[static_cast<size_t>(i)] = load_unit(all[static_cast<size_t>(i)], fmt::format("unit{}", i));
  };
  if (!units.empty()) executor.parallel_for(std::ssize(units), load_one, &context);
  std::vector<Loaded> out;
  for (Result<Loaded>& result : results) {
    if (!result.ok()) return std::move(result).failure();
    out.push_back(*std::move(result));
  }
  return out;
}

}  // namespace cleave
