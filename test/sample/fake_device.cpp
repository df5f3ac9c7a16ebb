#include "test/sample/fake_device.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <set>

#include "backend/make_backend.h"
#include "base/alignment.h"
#include "base/device_alignment.h"
#include "run/queue_graph.h"
#include "test/sample/backend_of.h"

namespace cleave::test {
namespace {

constexpr int64_t block_alignment = 256;
constexpr int fresh = 0xa5;  // of new memory: NaNs and large integers

int64_t round_up(int64_t bytes) {
  return (bytes + block_alignment - 1) / block_alignment * block_alignment;
}

// Work that is done when somebody waits for it, in its order; while it is noted it isn't done.
class Queue {
 public:
  using Work = std::function<void()>;
  static constexpr int64_t none = -1;
  // Of a graph, on a lane. It waits for the end of a call, or is one.
  struct Noted {
    Work work;
    size_t lane = 0;
    int64_t waits_for = none, ends = none;
  };
  Queue() = default;
  // A lane beside `home`, on which its work is noted.
  Queue(Queue& home, size_t lane) : home_(&home), lane_(lane) {}
  void add(Work work) { add(Noted{std::move(work)}); }
  void add(Noted work) {
    work.lane = lane_;
    if (home_ != nullptr) {
      home_->noted_->push_back(std::move(work));
    } else if (is_noting()) {
      noted_->push_back(std::move(work));
    } else {
      work_.push_back(std::move(work.work));
    }
  }
  void drain() { drain(end()); }
  // All that was added before end() was this.
  void drain(size_t end) {
    if (noted_) {
      is_spoilt_ = true;
      throw_bug("the queue is waited for while its calls are noted");
    }
    for (; done_ < end; ++done_) {
      const Work now = std::move(work_.front());
      work_.pop_front();
      now();
    }
  }
  size_t end() const { return done_ + work_.size(); }

  void begin_noting() {
    noted_.emplace();
    is_spoilt_ = false;
  }
  // None where it was waited for.
  std::optional<std::vector<Noted>> end_noting() {
    std::optional<std::vector<Noted>> noted = std::exchange(noted_, {});
    return is_spoilt_ ? std::nullopt : noted;
  }
  bool is_noting() const { return noted_.has_value(); }

  // Of the first kernel whose check failed.
  struct Failed {
    QueuedFault queued;
    Fault fault;
  };
  std::optional<Failed> failed;

 private:
  Queue* const home_ = nullptr;
  const size_t lane_ = 0;
  std::deque<Work> work_;
  size_t done_ = 0;
  std::optional<std::vector<Noted>> noted_;
  bool is_spoilt_ = false;
};

}  // namespace

class FakeMemory final : public DeviceMemory {
 public:
  FakeMemory(int64_t bytes, Device where) : where_(where), size_(bytes) {
    const auto size = static_cast<size_t>(bytes);
    const int file = memfd_create("fake_device", 0);
    if (file < 0 || ftruncate(file, bytes) != 0) std::abort();
    const auto map = [&](int allowed) {
      void* const at = mmap(nullptr, size, allowed, MAP_SHARED, file, 0);
      if (at == MAP_FAILED) std::abort();
      return static_cast<std::byte*>(at);
    };
    addresses_ = map(PROT_NONE);
    pages_ = map(PROT_READ | PROT_WRITE);
    close(file);
    free_[0] = bytes;
  }
  ~FakeMemory() override {
    munmap(addresses_, static_cast<size_t>(size_));
    munmap(pages_, static_cast<size_t>(size_));
  }

  Device device() const override { return where_; }

  Result<void*> allocate(int64_t bytes) override {
    const std::lock_guard lock(mutex_);
    const int64_t wanted = round_up(bytes);
    for (const auto& [begin, size] : free_)
      if (size >= wanted) {
        const int64_t at = begin, rest = size - wanted;
        free_.erase(at);
        if (rest > 0) free_[at + wanted] = rest;
        used_[at] = wanted;
        used_bytes_ += wanted;
        std::memset(pages_ + at, fresh, static_cast<size_t>(wanted));
        return static_cast<void*>(addresses_ + at);
      }
    return user_error("{}: {} bytes are asked for, {} are free", where_.text(), bytes,
                      size_ - used_bytes_);
  }
  void free(void* block) noexcept override {
    const std::lock_guard lock(mutex_);
    const int64_t at = static_cast<std::byte*>(block) - addresses_;
    const auto known = used_.find(at);
    if (known == used_.end()) {
      blame("a block is freed that isn't one");
      return;
    }
    std::memset(pages_ + at, fresh, static_cast<size_t>(known->second));
    used_bytes_ -= known->second;
    auto next = free_.emplace(at, known->second).first;
    used_.erase(known);
    if (next != free_.begin())
      if (auto before = std::prev(next); before->first + before->second == at) {
        before->second += next->second;
        free_.erase(next);
        next = before;
      }
    if (auto after = std::next(next);
        after != free_.end() && next->first + next->second == after->first) {
      next->second += after->second;
      free_.erase(after);
    }
  }
  Result<void*> allocate_pinned(int64_t bytes) override {
    void* const block = std::aligned_alloc(64, static_cast<size_t>(rounded(bytes)));
    std::memset(block, fresh, static_cast<size_t>(bytes));
    const std::lock_guard lock(mutex_);
    pinned_[static_cast<std::byte*>(block)] = bytes;
    return block;
  }
  void free_pinned(void* block) noexcept override {
    const std::lock_guard lock(mutex_);
    pinned_.erase(static_cast<std::byte*>(block));
    std::free(block);
  }

  Status copy_in(void* device, const void* host, int64_t bytes, void* queue) override {
    return copied(at(device, bytes), host, {.in = 1, .in_bytes = bytes}, queue, is_pinned(host));
  }
  Status copy_out(void* host, const void* device, int64_t bytes, void* queue) override {
    return copied(host, at(device, bytes), {.out = 1, .out_bytes = bytes}, queue, is_pinned(host));
  }
  Status copy(void* to, const void* from, int64_t bytes, void* queue) override {
    const auto work = [to = at(to, bytes), from = at(from, bytes), bytes] {
      std::memcpy(to, from, static_cast<size_t>(bytes));
    };
    put(queue, work);
    return {};
  }
  Status wait(void* queue) override {
    if (queue != nullptr) static_cast<Queue*>(queue)->drain();
    return {};
  }
  Result<Room> room() const override {
    const std::lock_guard lock(mutex_);
    return Room{size_ - used_bytes_, size_};
  }

  // Where the memory under an address really is; null for null.
  std::byte* at(const void* address, int64_t bytes = 1) {
    if (address == nullptr) return nullptr;
    const auto* a = static_cast<const std::byte*>(address);
    if (a < addresses_ || a + bytes > addresses_ + size_) {
      blame("an address of the host reaches the device");
      return const_cast<std::byte*>(a);
    }
    return pages_ + (a - addresses_);
  }
  void blame(const char* what) {
    const std::lock_guard lock(blame_mutex_);
    if (wrong_.empty()) wrong_ = what;
  }
  std::string wrong() const {
    const std::lock_guard lock(blame_mutex_);
    return wrong_;
  }
  FakeDevice::Copies copies() {
    const std::lock_guard lock(mutex_);
    return std::exchange(copies_, {});
  }
  FakeDevice::Graphs graphs() {
    const std::lock_guard lock(mutex_);
    return std::exchange(graphs_, {});
  }
  void count_graph(int64_t noted, int64_t launched) {
    const std::lock_guard lock(mutex_);
    graphs_.noted += noted;
    graphs_.launched += launched;
  }
  // Whether calls can be noted.
  bool notes() const { return notes_; }
  void set_notes(bool on) { notes_ = on; }
  // Whether library calls wait for the queue.
  bool library_waits() const { return library_waits_; }
  void set_library_waits(bool on) { library_waits_ = on; }
  // Calls that have run.
  int64_t calls() const { return calls_; }
  void count_call() { ++calls_; }
  int64_t used_bytes() const {
    const std::lock_guard lock(mutex_);
    return used_bytes_;
  }

 private:
  bool is_pinned(const void* host) const {
    const auto* p = static_cast<const std::byte*>(host);
    const std::lock_guard lock(mutex_);
    auto after = pinned_.upper_bound(const_cast<std::byte*>(p));
    return after != pinned_.begin() && p < std::prev(after)->first + std::prev(after)->second;
  }
  static void put(void* queue, Queue::Work work) {
    queue == nullptr ? work() : static_cast<Queue*>(queue)->add(std::move(work));
  }
  // Counted when it is made.
  Status copied(void* to, const void* from, FakeDevice::Copies copy, void* queue, bool is_pinned) {
    put(queue, [this, to, from, copy] {
      std::memcpy(to, from, static_cast<size_t>(copy.in_bytes + copy.out_bytes));
      const std::lock_guard lock(mutex_);
      copies_.in += copy.in;
      copies_.out += copy.out;
      copies_.in_bytes += copy.in_bytes;
      copies_.out_bytes += copy.out_bytes;
    });
    if (queue != nullptr && !is_pinned) static_cast<Queue*>(queue)->drain();
    return {};
  }

  const Device where_;
  const int64_t size_;
  std::byte *addresses_ = nullptr, *pages_ = nullptr;
  mutable std::mutex mutex_;
  std::map<int64_t, int64_t> free_, used_;  // begin, bytes
  int64_t used_bytes_ = 0;
  std::map<std::byte*, int64_t> pinned_;
  FakeDevice::Copies copies_;
  FakeDevice::Graphs graphs_;
  std::atomic<bool> notes_ = true, library_waits_ = false;
  std::atomic<int64_t> calls_ = 0;
  mutable std::mutex blame_mutex_;
  std::string wrong_;
};

namespace {

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

std::vector<void*> found(FakeMemory& memory, void* const* addresses, size_t count) {
  std::vector<void*> out;
  for (size_t k = 0; k < count; ++k) out.push_back(memory.at(addresses[k]));
  return out;
}

class FakeKernel final : public KernelFunction {
 public:
  FakeKernel(std::shared_ptr<FakeMemory> memory, std::unique_ptr<const KernelFunction> kernel,
             std::vector<bool> writes, size_t scalars)
      : memory_(std::move(memory)), kernel_(std::move(kernel)), writes_(std::move(writes)),
        buffers_(writes_.size()), scalars_(scalars) {}

  std::optional<Fault> call(void* const* buffers, const int64_t* scalars,
                            const RunContext& context) const override {
    auto* const words = static_cast<Queue*>(context.fault);
    const auto work = [this, words, own = found(*memory_, buffers, buffers_),
                       numbers = std::vector<int64_t>(scalars, scalars + scalars_), context] {
      if (words->failed) return;
      memory_->count_call();
      if (const auto fault = kernel_->call(own.data(), numbers.data(), context)) {
        const std::lock_guard lock(mutex_);
        last_ = *fault;
        words->failed = {{context.thunk, 0, fault->index, fault->bound}, *fault};
      }
    };
    static_cast<Queue*>(context.queue)->add(work);
    return std::nullopt;
  }
  bool writes(size_t buffer) const override { return writes_[buffer]; }
  Fault fault_of(const QueuedFault& /*failed*/) const override {
    const std::lock_guard lock(mutex_);
    return last_;
  }

 private:
  const std::shared_ptr<FakeMemory> memory_;
  const std::unique_ptr<const KernelFunction> kernel_;
  const std::vector<bool> writes_;
  const size_t buffers_, scalars_;
  mutable std::mutex mutex_;
  mutable Fault last_;
};

class FakeLibrary final : public LibraryFunction {
 public:
  FakeLibrary(std::shared_ptr<FakeMemory> memory, LibraryFunctionPtr function)
      : memory_(std::move(memory)), function_(std::move(function)) {}
  int64_t scratch_bytes() const override { return function_->scratch_bytes(); }
  void call(void* const* operands, void* scratch, const RunContext& context) const override {
    static_cast<Queue*>(context.queue)
        ->add([this, own = found(*memory_, operands, max_library_operands),
               scratch = memory_->at(scratch), context] {
          memory_->count_call();
          function_->call(own.data(), scratch, context);
        });
    if (memory_->library_waits()) static_cast<Queue*>(context.queue)->drain();
  }

 private:
  const std::shared_ptr<FakeMemory> memory_;
  const LibraryFunctionPtr function_;
};

class FakeBackend final : public BackendOf {
 public:
  FakeBackend(std::shared_ptr<Backend> cpu, std::shared_ptr<FakeMemory> memory)
      : BackendOf(std::move(cpu)), memory_(std::move(memory)) {}

  Result<LibraryFunctionPtr> library(const LibrarySpec& spec) override {
    CLEAVE_TRY(LibraryFunctionPtr function, inner().library(spec));
    return LibraryFunctionPtr(std::make_shared<FakeLibrary>(memory_, std::move(function)));
  }
  Result<std::string> identity(cache::Store* cache) override {
    CLEAVE_TRY(const std::string cpu, inner().identity(cache));
    return "fake\n" + cpu;
  }
  Result<BuiltCode> build(const LoweredProgram& program, const EmittedCode& code,
                          Executor& executor, cache::Store* cache) override {
    CLEAVE_TRY(BuiltCode out, inner().build(program, code, executor, cache));
    for (size_t k = 0; k < out.kernels.size(); ++k) {
      size_t buffers = 0, scalars = 0;
      for (const Thunk& thunk : program.thunks)
        if (auto* call = std::get_if<KernelCall>(&thunk.work); call && call->kernel == k) {
          buffers = call->storages.size();
          scalars = call->scalars.size();
        }
      std::vector<bool> writes(buffers, true);
      for (size_t b = 0; b < buffers && k < program.kernels.size(); ++b)
        writes[b] = program.kernels[k].buffers[b].access != loop::Access::read;
      out.kernels[k] =
          std::make_unique<FakeKernel>(memory_, std::move(out.kernels[k]), writes, scalars);
    }
    return out;
  }
  Result<std::unique_ptr<ArenaMemory>> make_arena(int64_t bytes) const override {
    CLEAVE_TRY(DeviceBlock block, DeviceBlock::make(memory_, bytes));
    return std::unique_ptr<ArenaMemory>(std::make_unique<FakeArena>(memory_, std::move(block)));
  }
  Device device() const override { return memory_->device(); }
  std::shared_ptr<DeviceMemory> device_memory() const override { return memory_; }

 private:
  const std::shared_ptr<FakeMemory> memory_;
};

}  // namespace

FakeDevice::FakeDevice(int64_t bytes, Device where, CompilerChoice compiler)
    : memory(std::make_shared<FakeMemory>(bytes, where)), backend(other_backend(compiler)) {}

std::shared_ptr<Backend> FakeDevice::other_backend(CompilerChoice compiler,
                                                   const Target& target) const {
  return std::make_shared<FakeBackend>(make_backend(target, found_compiler(compiler)), memory);
}

FakeDevice::Copies FakeDevice::copies() { return memory->copies(); }
FakeDevice::Graphs FakeDevice::graphs() { return memory->graphs(); }
int64_t FakeDevice::calls() const { return memory->calls(); }
void FakeDevice::set_notes(bool on) { memory->set_notes(on); }
void FakeDevice::set_library_waits(bool on) { memory->set_library_waits(on); }
int64_t FakeDevice::used_bytes() const { return memory->used_bytes(); }
std::string FakeDevice::wrong() const { return memory->wrong(); }

}  // namespace cleave::test
