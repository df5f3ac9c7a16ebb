#include "backend/cuda/cuda_arena.h"

#include <algorithm>
#include <chrono>
#include <thread>
#include <vector>

#include "backend/cuda/stream_graph.h"
#include "base/device_alignment.h"

namespace cleave::cuda {
namespace {

constexpr int64_t fault_bytes = 32;
// Of pinned memory: the words of faults of each turn and of finish(), and a flag.
constexpr int64_t last_words_at = ArenaMemory::turns * fault_bytes;
constexpr int64_t flag_at = last_words_at + fault_bytes, pinned_bytes = flag_at + fault_bytes;
constexpr std::byte pattern_byte{0xa5};

class CudaArena final : public ArenaMemory {
 public:
  CudaArena(CudaDevicePtr device, CudaStream stream)
      : device_(std::move(device)), stream_(std::move(stream)) {}
  ~CudaArena() override {
    const Status waited = stream_.wait();  // nothing is to be done about a device that failed
    if (block_ != 0) device_->free(block_);
    if (pinned_ != nullptr) device_->free_pinned(pinned_);
    for (const std::optional<CudaStream>* stream : {&copies_, &out_, &in_})
      if (*stream) { const Status copied = (*stream)->wait(); }
    for (std::byte* room : rooms_) device_->free_pinned(room);
    for (const CUevent event : {ends_[0], ends_[1], copied_, begun_, forked_})
      if (event != nullptr) driver().cuEventDestroy(event);
    for (const std::vector<CUevent>* events : {&copy_ends_, &marks_, &call_ends_})
      for (const CUevent event : *events)
        if (event != nullptr) driver().cuEventDestroy(event);
  }
  Status allocate(int64_t bytes) {
    bytes_ = bytes;
    room_ = rounded_for_device(bytes);
    CLEAVE_TRY(block_, device_->allocate(room_ + fault_bytes, "arena"));
    CLEAVE_TRY(void* const pinned, device_->allocate_pinned(pinned_bytes));
    pinned_ = static_cast<std::byte*>(pinned);
    CLEAVE_CHECK(clear_faults());
    return stream_.wait();
  }

  std::byte* data() const override { return bytes_ > 0 ? at(0) : nullptr; }
  int64_t size_bytes() const override { return bytes_; }
  bool flag(const std::byte* flag) const override {
    copy_back(reinterpret_cast<CUdeviceptr>(flag), pinned_ + flag_at, 1);
    return pinned_[flag_at] != std::byte{0};
  }
  void fill_pattern() override {
    if (room_ == 0) return;
    value_or_bug(device_->make_current());
    value_or_bug(driver().check(
        driver().cuMemsetD8Async(block_, std::to_integer<unsigned char>(pattern_byte),
                                 static_cast<size_t>(room_), stream_.get()),
        "filling the arena"));
  }
  int64_t touched_bytes() const override;

  void* queue() const override {
    value_or_bug(device_->make_current());
    return stream_.get();
  }
  void* fault() const override { return at(room_); }
  std::optional<QueuedFault> finish() override;
  void start_times(size_t calls) override;
  void mark_time() override;
  std::vector<int64_t> take_times() override;

  void* copy_queue() const override {
    if (!copies_) copies_.emplace(value_or_bug(CudaStream::make(device_)));
    return copies_->get();
  }
  void join_copies() override {
    record(copied_, cuda_event_without_time, *copies_);
    value_or_bug(driver().check(driver().cuStreamWaitEvent(stream_.get(), copied_, 0),
                                "waiting for copies"));
  }
  Status reserve_host(int64_t bytes) override;
  void begin_copy(const ArenaCopy& copy) override;
  void end_copy(size_t number) override {
    value_or_bug(driver().check(driver().cuStreamWaitEvent(stream_.get(), copy_ends_[number], 0),
                                "waiting for a copy"));
  }
  void copy_faults(size_t turn) override { copy_words(words_of(turn)); }
  void mark(size_t turn) override { record(ends_[turn], cuda_event_without_time, stream_); }
  std::optional<QueuedFault> finish_turn(size_t turn) override;
  Status reserve_lanes(size_t lanes, size_t calls) override;
  void* lane(size_t lane) const override { return lane_stream(lane).get(); }
  void fork_lane(size_t lane) override {
    record(forked_, cuda_event_without_time, stream_);
    wait(lane, forked_);
  }
  void end_call(size_t lane, size_t call) override {
    record(call_ends_[call], cuda_event_without_time, lane_stream(lane));
  }
  void wait_for_call(size_t lane, size_t call) override { wait(lane, call_ends_[call]); }
  std::shared_ptr<QueueGraph> make_graph() override {
    return std::make_shared<StreamGraph>(device_, stream_.get());
  }

 private:
  // Notes on the stream when it comes to here. The event is made if need be.
  void record(CUevent& event, unsigned flags, const CudaStream& stream) {
    value_or_bug(device_->make_current());
    if (event == nullptr)
      value_or_bug(driver().check(driver().cuEventCreate(&event, flags), "making an event"));
    value_or_bug(driver().check(driver().cuEventRecord(event, stream.get()), "an event"));
  }
  const CudaStream& lane_stream(size_t lane) const {
    return lane == 0 ? stream_ : lanes_[lane - 1];
  }
  void wait(size_t lane, CUevent event) {
    value_or_bug(driver().check(driver().cuStreamWaitEvent(lane_stream(lane).get(), event, 0),
                                "a lane that waits"));
  }
  std::byte* words_of(size_t turn) const {
    return pinned_ + static_cast<int64_t>(turn) * fault_bytes;
  }
  void copy_words(std::byte* to) const {
    value_or_bug(device_->make_current());
    value_or_bug(
        driver().check(driver().cuMemcpyDtoHAsync(to, block_ + static_cast<CUdeviceptr>(room_),
                                                  fault_bytes, stream_.get()),
                       "copying the words of faults"));
  }
  // What the words say. If they say something, waits for all, and clears those of the device.
  std::optional<QueuedFault> taken(const std::byte* words);
  const Driver& driver() const { return device_->driver(); }
  std::byte* at(int64_t offset) const { return reinterpret_cast<std::byte*>(block_) + offset; }
  Status clear_faults() {
    return driver().check(driver().cuMemsetD8Async(block_ + static_cast<CUdeviceptr>(room_), 0,
                                                   fault_bytes, stream_.get()),
                          "clearing the words of faults");
  }
  // After all that is queued.
  void copy_back(CUdeviceptr from, void* to, int64_t bytes) const {
    value_or_bug(device_->make_current());
    value_or_bug(driver().check(
        driver().cuMemcpyDtoHAsync(to, from, static_cast<size_t>(bytes), stream_.get()),
        "copying from the arena"));
    value_or_bug(stream_.wait());
  }

  const CudaDevicePtr device_;
  const CudaStream stream_;
  CUdeviceptr block_ = 0;
  std::byte* pinned_ = nullptr;
  int64_t bytes_ = 0, room_ = 0;
  CUevent ends_[turns] = {}, copied_ = nullptr;
  // Of times: marked_ of the events are in use; what the queue is held up for.
  std::vector<CUevent> marks_;
  size_t marked_ = 0;
  std::chrono::microseconds hold_{0};
  mutable std::optional<CudaStream> copies_;  // made when it is first asked for
  // Of begin_copy: rooms, of which the last is the largest, a stream each way, where the calls
  // were, where each copy ends.
  std::vector<std::byte*> rooms_;
  int64_t room_bytes_ = 0;
  std::optional<CudaStream> out_, in_;
  CUevent begun_ = nullptr;
  std::vector<CUevent> copy_ends_;
  std::vector<CudaStream> lanes_;  // beside stream_
  CUevent forked_ = nullptr;
  std::vector<CUevent> call_ends_;
};

// The streams are made here too: nothing may be while calls are noted. A graph that was noted
// before goes on with the room that there was.
Status CudaArena::reserve_host(int64_t bytes) {
  if (bytes <= room_bytes_) return {};
  CLEAVE_TRY(void* const room, device_->allocate_pinned(bytes));
  rooms_.push_back(static_cast<std::byte*>(room));
  room_bytes_ = bytes;
  for (std::optional<CudaStream>* stream : {&out_, &in_})
    if (!*stream) {
      CLEAVE_TRY(CudaStream made, CudaStream::make(device_));
      stream->emplace(std::move(made));
    }
  return {};
}

Status CudaArena::reserve_lanes(size_t lanes, size_t calls) {
  while (lanes_.size() + 1 < lanes) {
    CLEAVE_TRY(CudaStream lane, CudaStream::make(device_));
    lanes_.push_back(std::move(lane));
  }
  call_ends_.resize(std::max(calls, call_ends_.size()));
  return {};
}

void CudaArena::begin_copy(const ArenaCopy& copy) {
  const CudaStream& stream = copy.is_out ? *out_ : *in_;
  std::byte* const there = rooms_.back() + copy.host_offset;
  const auto here = reinterpret_cast<CUdeviceptr>(copy.at);
  const auto bytes = static_cast<size_t>(copy.bytes);
  if (copy.number >= copy_ends_.size()) copy_ends_.resize(copy.number + 1);
  record(begun_, cuda_event_without_time, stream_);
  value_or_bug(
      driver().check(driver().cuStreamWaitEvent(stream.get(), begun_, 0), "waiting for calls"));
  value_or_bug(driver().check(copy.is_out
                                  ? driver().cuMemcpyDtoHAsync(there, here, bytes, stream.get())
                                  : driver().cuMemcpyHtoDAsync(here, there, bytes, stream.get()),
                              "a copy beside the calls"));
  record(copy_ends_[copy.number], cuda_event_without_time, stream);
}

// The queue waits until the host has had time to queue the calls, of which a call of a library
// takes it longest; the driver holds about a thousand.
void CudaArena::start_times(size_t calls) {
  using std::chrono::microseconds;
  static constexpr microseconds hold_per_call{12}, longest_hold{12'000};
  hold_ = std::min(longest_hold, hold_per_call * static_cast<int64_t>(calls));
  const auto wait = [](void* hold) {
    std::this_thread::sleep_for(*static_cast<const microseconds*>(hold));
  };
  value_or_bug(device_->make_current());
  value_or_bug(
      driver().check(driver().cuLaunchHostFunc(stream_.get(), wait, &hold_), "holding calls"));
  mark_time();
}

void CudaArena::mark_time() {
  if (marked_ == marks_.size()) marks_.push_back(nullptr);
  record(marks_[marked_++], 0, stream_);
}

std::vector<int64_t> CudaArena::take_times() {
  std::vector<int64_t> out;
  if (marked_ > 0)
    value_or_bug(driver().check(driver().cuEventSynchronize(marks_[marked_ - 1]), "waiting"));
  for (size_t k = 1; k < marked_; ++k) {
    float ms = 0;
    value_or_bug(
        driver().check(driver().cuEventElapsedTime(&ms, marks_[k - 1], marks_[k]), "a clock"));
    out.push_back(static_cast<int64_t>(double{ms} * 1e6));
  }
  marked_ = 0;
  return out;
}

int64_t CudaArena::touched_bytes() const {
  constexpr int64_t part = int64_t{16} << 20;
  std::vector<std::byte> bytes(static_cast<size_t>(std::min(part, room_)));
  for (int64_t end = room_; end > 0;) {
    const int64_t begin = (end - 1) / part * part;
    copy_back(block_ + static_cast<CUdeviceptr>(begin), bytes.data(), end - begin);
    for (int64_t i = end - begin; i > 0; --i)
      if (bytes[static_cast<size_t>(i - 1)] != pattern_byte) return rounded_for_device(begin + i);
    end = begin;
  }
  return 0;
}

std::optional<QueuedFault> CudaArena::finish() {
  copy_words(pinned_ + last_words_at);
  value_or_bug(stream_.wait());
  return taken(pinned_ + last_words_at);
}

std::optional<QueuedFault> CudaArena::finish_turn(size_t turn) {
  value_or_bug(device_->make_current());
  value_or_bug(driver().check(driver().cuEventSynchronize(ends_[turn]), "waiting for a run"));
  return taken(words_of(turn));
}

std::optional<QueuedFault> CudaArena::taken(const std::byte* at) {
  const auto* words = reinterpret_cast<const int64_t*>(at);
  if (words[0] == 0) return {};
  const auto first = static_cast<uint64_t>(words[0]);
  const QueuedFault out{.thunk = static_cast<int64_t>(first >> 32),
                        .check = static_cast<int64_t>(first & 0xffffffff) - 1,
                        .index = words[1],
                        .bound = words[2]};
  value_or_bug(clear_faults());
  value_or_bug(stream_.wait());
  return out;
}

}  // namespace

Result<std::unique_ptr<ArenaMemory>> make_cuda_arena(const CudaDevicePtr& device, int64_t bytes) {
  if (bytes < 0) return bug("arena: {} bytes", bytes);
  CLEAVE_TRY(CudaStream stream, CudaStream::make(device));
  auto arena = std::make_unique<CudaArena>(device, std::move(stream));
  CLEAVE_CHECK(arena->allocate(bytes));
  return std::unique_ptr<ArenaMemory>(std::move(arena));
}

}  // namespace cleave::cuda
