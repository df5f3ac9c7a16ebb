// Batches in a ring of buffers, which a thread fills ahead.
//
//   slots   [ 5 ][ 6 ][ 7 ]     next() has given 5; 6 is ready, 7 is being made
#include <algorithm>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>

#include "base/result.h"
#include "cleave/data.h"
#include "data/permutation.h"

namespace cleave::data {

struct Batches::State {
  State(SourcePtr from, const BatchOptions& options)
      : source(std::move(from)), o(options), types(source->types()), size(source->size()),
        per_epoch(size / o.size + (o.last == LastBatch::keep && size % o.size != 0)),
        slots(static_cast<size_t>(std::max(0, o.prefetch)) + 1) {
    start();
  }
  ~State() { stop(); }

  struct Slot {
    HostTensors tensors;
    std::exception_ptr error;  // that making it has thrown
  };

  void make(int64_t batch, Slot& slot) const {
    const int64_t epoch = batch / per_epoch, first = batch % per_epoch * o.size;
    const int64_t count = std::min(o.size, size - first);
    const Permutation order(size, o.seed, static_cast<uint64_t>(epoch));
    slot.error = nullptr;
    try {
      resize(slot.tensors, count);
      std::vector<void*> to(types.size());
      for (int64_t i = 0; i < count; ++i) {
        for (size_t k = 0; k < to.size(); ++k)
          to[k] = static_cast<std::byte*>(slot.tensors[k].data()) + i * types[k].bytes();
        source->read(o.shuffle ? order(first + i) : first + i, to);
      }
    } catch (...) {  // the host program's source may throw anything; next() throws it again
      slot.error = std::current_exception();
    }
  }
  void resize(HostTensors& tensors, int64_t count) const {
    if (!tensors.empty() && tensors[0].shape()[0] == count) return;
    tensors.clear();
    HostTensors made;  // all of them, or none where memory is refused
    for (const TensorType& t : types) {
      std::vector<int64_t> shape{count};
      shape.insert(shape.end(), t.shape.begin(), t.shape.end());
      made.emplace_back(t.dtype, std::move(shape));
    }
    tensors = std::move(made);
  }

  Slot& slot_of(int64_t batch) { return slots[static_cast<size_t>(batch) % slots.size()]; }

  // ---- the thread
  void start() {
    if (o.prefetch <= 0) return;
    ends = false;
    made = position;
    worker = std::thread([this] { fill_ahead(); });
  }
  void stop() {
    if (!worker.joinable()) return;
    {
      const std::lock_guard lock(mutex);
      ends = true;
    }
    changed.notify_all();
    worker.join();
  }
  void fill_ahead() {
    std::unique_lock lock(mutex);
    while (true) {
      // The slot before `position` is the caller's.
      changed.wait(lock, [&] { return ends || made < position + o.prefetch; });
      if (ends) return;
      Slot& slot = slot_of(made);
      lock.unlock();
      make(made, slot);
      lock.lock();
      ++made;
      changed.notify_all();
      if (slot.error) return;
    }
  }

  // ---- the caller
  const HostTensors& next() {
    Slot& slot = slot_of(position);
    if (o.prefetch <= 0) {
      make(position, slot);
    } else {
      std::unique_lock lock(mutex);
      changed.wait(lock, [&] { return made > position; });
    }
    if (slot.error) {
      const std::exception_ptr error = slot.error;
      seek(position);  // the next call tries it again
      std::rethrow_exception(error);
    }
    {
      const std::lock_guard lock(mutex);
      ++position;
    }
    changed.notify_all();
    return slot.tensors;
  }
  void seek(int64_t batch) {
    stop();
    position = batch;
    start();
  }

  const SourcePtr source;
  const BatchOptions o;
  const std::vector<TensorType> types;
  const int64_t size, per_epoch;
  std::vector<Slot> slots;
  int64_t position = 0;  // of the next batch
  int64_t made = 0;      // batches below it are in their slots
  bool ends = false;
  std::mutex mutex;
  std::condition_variable changed;
  std::thread worker;
};

Batches::Batches(SourcePtr source, const BatchOptions& options, std::source_location at) {
  const auto refuse = [&](const std::string& what) {
    throw_failure(user_error("{}:{}: data::Batches: {}", at.file_name(), at.line(), what));
  };
  if (!source) refuse("the source is null");
  const int64_t size = source->size();
  if (options.size < 1) refuse(fmt::format("size is {}, expected at least 1", options.size));
  if (size == 0 || (options.last == LastBatch::drop && size < options.size))
    refuse(fmt::format("{} examples make no batch of {}", size, options.size));
  state_ = std::make_unique<State>(std::move(source), options);
}
Batches::~Batches() = default;
Batches::Batches(Batches&&) noexcept = default;
Batches& Batches::operator=(Batches&&) noexcept = default;

Batches::State& Batches::state() const {
  if (!state_) throw_failure(user_error("data::Batches: it was moved from"));
  return *state_;
}
const HostTensors& Batches::next() { return state().next(); }
int64_t Batches::per_epoch() const { return state().per_epoch; }
int64_t Batches::position() const { return state().position; }
void Batches::seek(int64_t position) {
  constexpr int64_t limit = int64_t{1} << 60;  // later ones can still be counted
  if (position < 0 || position > limit)
    throw_failure(user_error("data::Batches: seek: {} is outside [0, {}]", position, limit));
  state().seek(position);
}

}  // namespace cleave::data
