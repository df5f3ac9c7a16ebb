// What backends share that keep the compiled code of their units in a cache.
#pragma once
#include <string>
#include <vector>

#include "backend/backend.h"

namespace cleave {

// The digest of the compiler's identity, of how it takes the text, and of the text.
std::string unit_key(std::string_view identity, int kind, std::string_view text);

// load(i) for each of `count`, on any thread of the executor; in their order. The failure is the
// first one's in that order.
template <class Loaded, class Load>
Result<std::vector<Loaded>> load_in_parallel(size_t count, Executor& executor, const Load& load) {
  std::vector<Result<Loaded>> results(count, Loaded());
  struct Context {
    const Load& load;
    std::vector<Result<Loaded>>& results;
  } context{load, results};
  const auto load_one = [](void* c, long i) {
    const auto& [load_it, out] = *static_cast<Context*>(c);
    out[static_cast<size_t>(i)] = load_it(static_cast<size_t>(i));
  };
  if (count > 0) executor.parallel_for(static_cast<long>(count), load_one, &context);
  std::vector<Loaded> out;
  for (Result<Loaded>& result : results) {
    if (!result.ok()) return std::move(result).failure();
    out.push_back(*std::move(result));
  }
  return out;
}

// Of the i-th, in messages.
inline std::string unit_name(size_t i) { return fmt::format("unit{}", i); }

}  // namespace cleave
