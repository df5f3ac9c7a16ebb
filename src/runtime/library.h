// The library of kernels: a function for each spec and target.
//
//   LibraryCache cache(target);                     // one for each program
//   CLEAVE_TRY(auto product, cache.get(spec));
//   plan(product->scratch_bytes());
//   product->call(pointers, scratch, {executor});
//
// Errors: Unsupported for dtypes that a kind of call doesn't cover; Bug for sizes that no operator
// gives.
#pragma once
#include <map>
#include <mutex>

#include "cleave/target.h"
#include "library/library_function.h"
#include "library/spec.h"

namespace cleave::runtime {

Result<LibraryFunctionPtr> make_library_function(const LibrarySpec& spec, const Target& target);

// Functions for one target; equal specs share one. Thread safe.
class LibraryCache {
 public:
  explicit LibraryCache(const Target& target) : target_(target) {}
  const Target& target() const { return target_; }
  Result<LibraryFunctionPtr> get(const LibrarySpec& spec);
  size_t size() const;

 private:
  const Target target_;
  mutable std::mutex mutex_;
  std::map<LibrarySpec, LibraryFunctionPtr> functions_;
};

}  // namespace cleave::runtime
