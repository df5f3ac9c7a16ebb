#include "test/backend/simulated_threads.h"

#include <ucontext.h>

#include <memory>
#include <stdexcept>
#include <vector>

#include "backend/cuda/device_source.h"

namespace cleave::test {

thread_local Index thread_index, block_index, grid_size;

namespace {

enum class State { runs, waits, ended };

struct Fiber {
  ucontext_t context;
  static constexpr size_t stack_bytes = 64 << 10;
  std::unique_ptr<char[]> stack{new char[stack_bytes]};
  State state = State::ended;
};

struct Block {
  std::vector<Fiber> fibers = std::vector<Fiber>(cuda::device_threads);
  ucontext_t scheduler;
  const std::function<void()>* f = nullptr;
};
thread_local std::unique_ptr<Block> block;

void start() {
  (*block->f)();
  block->fibers[thread_index.x].state = State::ended;
  swapcontext(&block->fibers[thread_index.x].context, &block->scheduler);
}

// Every thread up to the next barrier, or to the end, from the first to the last or the other way
// round; how many wait.
size_t run_to_barrier(bool is_reversed) {
  size_t waiting = 0;
  const size_t count = block->fibers.size();
  for (size_t i = 0; i < count; ++i) {
    const size_t t = is_reversed ? count - 1 - i : i;
    Fiber& fiber = block->fibers[t];
    if (fiber.state == State::ended) continue;
    fiber.state = State::runs;
    thread_index.x = static_cast<unsigned>(t);
    swapcontext(&block->scheduler, &fiber.context);
    waiting += fiber.state == State::waits;
  }
  return waiting;
}

}  // namespace

void wait_for_block() {
  Fiber& fiber = block->fibers[thread_index.x];
  fiber.state = State::waits;
  swapcontext(&fiber.context, &block->scheduler);
}

void run_blocks(int64_t blocks, const std::function<void()>& f) {
  if (!block) block = std::make_unique<Block>();
  block->f = &f;
  grid_size.x = static_cast<unsigned>(blocks);
  for (block_index.x = 0; block_index.x < grid_size.x; ++block_index.x) {
    for (Fiber& fiber : block->fibers) {
      getcontext(&fiber.context);
      fiber.context.uc_stack.ss_sp = fiber.stack.get();
      fiber.context.uc_stack.ss_size = Fiber::stack_bytes;
      fiber.context.uc_link = nullptr;
      makecontext(&fiber.context, start, 0);
      fiber.state = State::runs;
    }
    bool is_reversed = block_index.x % 2 != 0;
    while (const size_t waiting = run_to_barrier(is_reversed = !is_reversed))
      if (waiting != block->fibers.size())
        throw std::runtime_error("a barrier that some threads of a block don't reach");
  }
}

}  // namespace cleave::test
