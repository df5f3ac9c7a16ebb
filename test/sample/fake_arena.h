// Arenas and graphs of a device that isn't there (fake_device.h).
#pragma once
#include "test/sample/fake_memory.h"

namespace cleave::test {

class FakeGraph final : public QueueGraph {
 public:
  FakeGraph(Queue& queue, FakeMemory& memory) : queue_(queue), memory_(memory) {}
  Status begin(std::span<void* const> pointers) override {
    is_made_ = false;
    pointers_.assign(pointers.begin(), pointers.end());
    queue_.begin_noting();
    return {};
  }
  Status end() override {
    std::optional<std::vector<Queue::Noted>> calls = queue_.end_noting();
    is_made_ = calls && memory_.notes();
    if (!is_made_) return unsupported("this device notes nothing");
    calls_ = *std::move(calls);
    memory_.count_graph(1, 0);
    return {};
  }
  bool holds(std::span<void* const> pointers) const override {
    return is_made_ && std::ranges::equal(pointers_, pointers);
  }
  Status launch() override {
    memory_.count_graph(0, 1);
    is_early_ = !is_early_;
    for (const size_t call : order()) queue_.add(calls_[call].work);
    return {};
  }

 private:
  // One in which lanes wait for no more than they say: the other lanes' calls as early as can be
  // beside lane 0, or as late.
  std::vector<size_t> order() const {
    std::map<size_t, std::deque<size_t>> lanes;
    std::map<int64_t, size_t> lane_of_end;
    for (size_t k = 0; k < calls_.size(); ++k) {
      lanes[calls_[k].lane].push_back(k);
      if (calls_[k].ends != Queue::none) lane_of_end[calls_[k].ends] = calls_[k].lane;
    }
    std::vector<size_t> out;
    std::set<int64_t> ended;
    const auto is_ready = [&](size_t lane) {
      return !lanes[lane].empty() && (calls_[lanes[lane].front()].waits_for == Queue::none ||
                                      ended.contains(calls_[lanes[lane].front()].waits_for));
    };
    const auto take = [&](size_t lane) {
      const size_t k = lanes[lane].front();
      lanes[lane].pop_front();
      ended.insert(calls_[k].ends);
      out.push_back(k);
    };
    const std::function<void(size_t)> pull = [&](size_t lane) {
      while (!is_ready(lane)) pull(lane_of_end.at(calls_[lanes[lane].front()].waits_for));
      take(lane);
    };
    const auto take_ready = [&] {
      for (bool found = true; found;) {
        found = false;
        for (auto& [lane, left] : lanes)
          for (; lane > 0 && is_ready(lane); found = true) take(lane);
      }
    };
    while (!lanes[0].empty()) {
      if (is_early_) take_ready();
      pull(0);
    }
    for (const auto& [lane, left] : lanes)
      if (!left.empty()) memory_.blame("the end of a graph doesn't wait for a lane");
    return out;
  }

  Queue& queue_;
  FakeMemory& memory_;
  std::vector<void*> pointers_;
  std::vector<Queue::Noted> calls_;
  bool is_made_ = false, is_early_ = false;
};

class FakeArena final : public ArenaMemory {
 public:
  FakeArena(std::shared_ptr<FakeMemory> memory, DeviceBlock block)
      : memory_(std::move(memory)), block_(std::move(block)) {}
  ~FakeArena() override { queue_.drain(); }

  std::byte* data() const override { return block_.data(); }
  int64_t size_bytes() const override { return block_.bytes(); }
  bool flag(const std::byte* at) const override {
    queue_.drain();
    return *memory_->at(at) != std::byte{0};
  }
  void fill_pattern() override {
    std::byte* const begin = memory_->at(data());
    for (int64_t i = 0; i < size_bytes(); ++i) begin[i] = pattern(i);
  }
  int64_t touched_bytes() const override {
    const std::byte* const begin = memory_->at(data());
    for (int64_t i = size_bytes(); i > 0; --i)
      if (begin[i - 1] != pattern(i - 1)) return rounded_for_device(i);
    return 0;
  }
  void* queue() const override { return &queue_; }
  void* fault() const override { return &queue_; }
  void start_times(size_t /*calls*/) override {
    queue_.drain();
    marks_.assign(1, Clock::now());
  }
  void mark_time() override {
    queue_.drain();
    marks_.push_back(Clock::now());
  }
  std::vector<int64_t> take_times() override {
    std::vector<int64_t> out;
    for (size_t k = 1; k < marks_.size(); ++k)
      out.push_back(std::chrono::nanoseconds(marks_[k] - marks_[k - 1]).count());
    marks_.clear();
    return out;
  }
  std::optional<QueuedFault> finish() override {
    queue_.drain();
    if (!queue_.failed) return {};
    return std::exchange(queue_.failed, {})->queued;
  }

  void* copy_queue() const override { return &copies_; }
  void join_copies() override {
    queue_.add([this, end = copies_.end()] { copies_.drain(end); });
  }

  Status reserve_host(int64_t bytes) override {
    if (bytes == 0 || (!rooms_.empty() && bytes <= rooms_.back().bytes())) return {};
    CLEAVE_TRY(DeviceBlock room, DeviceBlock::make(memory_, bytes, DeviceBlock::Kind::pinned));
    rooms_.push_back(std::move(room));
    return {};
  }
  // What a copy writes is lost when it begins, and read when it ends: no other call may rely on
  // either in between.
  void begin_copy(const ArenaCopy& copy) override {
    queue_.add([this, copy, there = rooms_.back().data() + copy.host_offset] {
      const Begun& begun = begun_[copy.number] = {copy, there};
      const auto [to, from] = ends_of(begun);
      for (int64_t i = 0; i < copy.bytes; ++i) to[i] = pattern(i);
    });
  }
  void end_copy(size_t number) override {
    queue_.add([this, number] {
      if (!begun_.contains(number)) return memory_->blame("a copy ends that hasn't begun");
      const Begun copy = begun_.extract(number).mapped();
      const auto [to, from] = ends_of(copy);
      std::memcpy(to, from, static_cast<size_t>(copy.asked.bytes));
    });
  }
  void copy_faults(size_t turn) override {
    queue_.add([this, turn] { turns_[turn].failed = queue_.failed; });
  }
  void mark(size_t turn) override {
    if (queue_.is_noting()) memory_->blame("a mark is noted");
    turns_[turn].end = queue_.end();
  }
  std::optional<QueuedFault> finish_turn(size_t turn) override {
    queue_.drain(turns_[turn].end);
    if (!turns_[turn].failed) return {};
    queue_.drain();
    queue_.failed.reset();
    return std::exchange(turns_[turn].failed, {})->queued;
  }
  Status reserve_lanes(size_t lanes, size_t /*calls*/) override {
    while (lanes_.size() + 1 < lanes) lanes_.emplace_back(queue_, lanes_.size() + 1);
    return {};
  }
  void* lane(size_t lane) const override { return lane == 0 ? &queue_ : &lanes_[lane - 1]; }
  void end_call(size_t lane, size_t call) override {
    note(lane, {[] {}, 0, Queue::none, static_cast<int64_t>(call)});
  }
  void wait_for_call(size_t lane, size_t call) override {
    note(lane, {[] {}, 0, static_cast<int64_t>(call), Queue::none});
  }
  std::shared_ptr<QueueGraph> make_graph() override {
    return std::make_shared<FakeGraph>(queue_, *memory_);
  }

 private:
  using Clock = std::chrono::steady_clock;
  void note(size_t lane, Queue::Noted work) {
    static_cast<Queue*>(this->lane(lane))->add(std::move(work));
  }
  static std::byte pattern(int64_t i) {
    return static_cast<std::byte>((static_cast<uint64_t>(i) + 1) * 0x9e3779b97f4a7c15u >> 56);
  }
  struct Turn {
    size_t end = 0;
    std::optional<Queue::Failed> failed;
  };
  // A copy, with the address in the room that it was given when it was queued or noted.
  struct Begun {
    ArenaCopy asked;
    std::byte* there = nullptr;
  };
  std::pair<std::byte*, const std::byte*> ends_of(const Begun& copy) const {
    std::byte* const here = memory_->at(copy.asked.at, copy.asked.bytes);
    return copy.asked.is_out ? std::pair(copy.there, here) : std::pair(here, copy.there);
  }

  const std::shared_ptr<FakeMemory> memory_;
  const DeviceBlock block_;
  std::vector<DeviceBlock> rooms_;  // those before stay: a graph may be noted with them
  std::map<size_t, Begun> begun_;
  mutable Queue queue_, copies_;
  mutable std::deque<Queue> lanes_;
  Turn turns_[turns];
  std::vector<Clock::time_point> marks_;
};

}  // namespace cleave::test
