// An executor of any number of threads, none of which there are: pieces run on the caller, the last
// one first.
#pragma once
#include "cleave/executor.h"

namespace cleave::test {

struct ClaimedThreads final : Executor {
  explicit ClaimedThreads(int count) : count_(count) {}
  int threads() const override { return count_; }
  void parallel_for(long pieces, void (*f)(void*, long), void* context) override {
    while (pieces-- > 0) f(context, pieces);
  }

 private:
  const int count_;
};

}  // namespace cleave::test
