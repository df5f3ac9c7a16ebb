// Code of units, loaded: from a cache on disk if there is one and a process of this user has
// compiled the same text before; else compiled, and kept there.
//
//   key       the digest of the compiler's identity, the kind of the text, and the text
//   entry     a byte for the form of the object, its bytes
//
// Which compiler it would be is remembered in the cache, too (runtime/known_compiler.h), so that
// none is opened where nothing is left to compile. The cache may be null; its failures are never
// the caller's.
#pragma once
#include <atomic>
#include <mutex>
#include <optional>

#include "backend/backend.h"
#include "runtime/compiler.h"

namespace cleave::cpu {

using CodePtr = std::shared_ptr<runtime::LoadedCode>;

struct LoadedUnit {
  CodePtr code;
  std::string key;  // in the cache; empty without one
};

class UnitLoader {
 public:
  UnitLoader(CompilerChoice choice, const Target& target) : choice_(choice), target_(target) {}

  // Any number of threads may call it. `unit_name` is used in diagnostics. Errors: those of
  // make_compiler and Compiler::compile; bug: a unit without text is not in the cache.
  Result<LoadedUnit> load(const SourceUnit& unit, const std::string& unit_name,
                          cache::Store* cache);
  // Of the compiler. Errors: those of make_compiler.
  Result<std::string> identity(cache::Store* cache);
  // Units compiled so far.
  int64_t compiled() const { return compiled_; }

 private:
  Result<std::shared_ptr<runtime::Compiler>> compiler();
  Result<std::shared_ptr<runtime::Compiler>> make_compiler();

  const CompilerChoice choice_;
  const Target target_;
  std::mutex mutex_;
  std::shared_ptr<runtime::Compiler> compiler_;  // once it was needed
  std::optional<std::string> identity_;
  std::atomic<int64_t> compiled_ = 0;
};

}  // namespace cleave::cpu
