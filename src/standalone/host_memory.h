// What a caller gives to an instance instead of its own: memory of a run, threads.
#pragma once
#include "cleave/executor.h"
#include "run/arena_memory.h"
#include "standalone/interface.h"

namespace cleave::standalone {

class GivenArena final : public ArenaMemory {
 public:
  GivenArena(void* data, int64_t bytes) : data_(static_cast<std::byte*>(data)), bytes_(bytes) {}
  std::byte* data() const override { return data_; }
  int64_t size_bytes() const override { return bytes_; }
  bool flag(const std::byte* at) const override { return *at != std::byte{0}; }
  void fill_pattern() override {}
  int64_t touched_bytes() const override { return bytes_; }

 private:
  std::byte* const data_;
  const int64_t bytes_;
};

class HostPool final : public Executor {
 public:
  explicit HostPool(const cleave_options& options)
      : parallel_for_(options.parallel_for), pool_(options.pool), threads_(options.pool_threads) {}
  int threads() const override { return threads_; }
  void parallel_for(long pieces, void (*f)(void*, long), void* context) override {
    parallel_for_(pool_, pieces, f, context);
  }

 private:
  void (*const parallel_for_)(void*, long, void (*)(void*, long), void*);
  void* const pool_;
  const int threads_;
};

}  // namespace cleave::standalone
