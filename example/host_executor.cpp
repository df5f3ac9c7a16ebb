// The host program's own threads run the kernels. Here they are a pool of std::thread; a program
// that has a pool already implements Executor with it in the same way. The result has the same bits
// on one thread and on three.
#include <cleave/cleave.h>

#include <atomic>
#include <condition_variable>
#include <cstdio>
#include <mutex>
#include <thread>
#include <vector>

using namespace cleave;

// Work is a function of a piece's number; each thread takes the next piece until there is none.
class Pool : public Executor {
 public:
  explicit Pool(int threads) {
    for (int i = 1; i < threads; ++i) workers_.emplace_back([this] { work(); });
  }
  ~Pool() override {
    {
      std::lock_guard lock(mutex_);
      stop_ = true;
    }
    wake_.notify_all();
    for (std::thread& t : workers_) t.join();
  }
  int threads() const override { return static_cast<int>(workers_.size()) + 1; }
  long pieces_run() const { return pieces_run_; }

  void parallel_for(long pieces, void (*f)(void*, long), void* context) override {
    {
      std::lock_guard lock(mutex_);
      f_ = f;
      context_ = context;
      pieces_ = pieces;
      next_ = 0;
      busy_ = static_cast<int>(workers_.size());
      ++round_;
    }
    wake_.notify_all();
    take_pieces();
    std::unique_lock lock(mutex_);
    done_.wait(lock, [this] { return busy_ == 0; });
    pieces_run_ += pieces;
  }

 private:
  void take_pieces() {
    for (long i = next_++; i < pieces_; i = next_++) f_(context_, i);
  }
  void work() {
    long seen = 0;
    for (;;) {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [&] { return stop_ || round_ != seen; });
      if (stop_) return;
      seen = round_;
      lock.unlock();
      take_pieces();
      lock.lock();
      if (--busy_ == 0) done_.notify_one();
    }
  }

  std::vector<std::thread> workers_;
  std::mutex mutex_;
  std::condition_variable wake_, done_;
  void (*f_)(void*, long) = nullptr;
  void* context_ = nullptr;
  long pieces_ = 0, round_ = 0, pieces_run_ = 0;
  std::atomic<long> next_ = 0;
  int busy_ = 0;
  bool stop_ = false;
};

// The parameters after 20 steps on this executor.
HostTensor trained(const std::shared_ptr<Executor>& executor) {
  Generator rng(7);
  nn::Sequential model(nn::Linear(256, 512, rng), nn::GELU(), nn::Linear(512, 256, rng));
  TrainStep step = train_step(model, [&](const Tensor& x) { return mse_loss(model(x), x); },
                              optim::SGD({.lr = 0.1}), {{"x", DType::f32, {512, 256}}},
                              {.compile = {.executor = executor}});
  const HostTensor x = rng.normal({512, 256});
  for (int i = 0; i < 20; ++i) step.run({x});
  return model.parameter("0.weight").value();
}

int main() {
  const auto pool = std::make_shared<Pool>(3);
  const bool same = trained(pool).same_bits(trained(std::make_shared<Pool>(1)));
  std::printf("%ld pieces ran on %d threads; bits equal to one thread's: %s\n", pool->pieces_run(),
              pool->threads(), same ? "yes" : "no");
  return same && pool->pieces_run() > 0 ? 0 : 1;
}
