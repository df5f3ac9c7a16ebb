// A server: twenty threads answer requests with one compiled function. Each thread has an instance
// of it, which is made in microseconds and has its own memory for inputs and results; the compiled
// code, the weights and the thread pool are shared. Requests hold 1 to 16 rows.
#include <cleave/cleave.h>

#include <chrono>
#include <cmath>
#include <condition_variable>
#include <cstdio>
#include <deque>
#include <future>
#include <mutex>
#include <thread>

using namespace cleave;

// Rows of points, and where the answer goes.
struct Request {
  HostTensor points;
  std::promise<HostTensor> answer;
};

class Server {
 public:
  Server(const CompiledFunction& function, int threads) {
    for (int i = 0; i < threads; ++i)
      threads_.emplace_back([this, mine = function.instance()](
                                const std::stop_token& stop) mutable { work(mine, stop); });
  }
  std::future<HostTensor> ask(HostTensor points) {
    const std::lock_guard lock(mutex_);
    waiting_.push_back({std::move(points), {}});
    changed_.notify_one();
    return waiting_.back().answer.get_future();
  }

 private:
  void work(CompiledFunction& function, const std::stop_token& stop) {
    for (;;) {
      std::unique_lock lock(mutex_);
      if (!changed_.wait(lock, stop, [this] { return !waiting_.empty(); })) return;
      Request request = std::move(waiting_.front());
      waiting_.pop_front();
      lock.unlock();
      try {
        request.answer.set_value(function.run({request.points})[0]);
      } catch (...) { request.answer.set_exception(std::current_exception()); }  // for who asked
    }
  }

  std::mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<Request> waiting_;
  std::vector<std::jthread> threads_;  // the last member: stopped before the others go
};

int main() {
  // A model that knows whether a point lies in the unit circle.
  Generator rng(1);
  nn::Sequential model(nn::Linear(2, 64, rng), nn::Tanh(), nn::Linear(64, 1, rng));
  TrainStep step = train_step(
      model, [&](const Tensor& p, const Tensor& in) { return mse_loss(model(p), in); },
      optim::Adam({.lr = 1e-2}), {{"p", DType::f32, {256, 2}}, {"in", DType::f32, {256, 1}}});
  const auto inside = [](const HostTensor& p, int64_t row) {
    return std::hypot(p.number(2 * row), p.number(2 * row + 1)) < 1;
  };
  for (int i = 0; i < 600; ++i) {
    HostTensor points = rng.uniform({256, 2}, -1.5, 1.5), in(DType::f32, {256, 1});
    for (int64_t k = 0; k < 256; ++k) in.set_number(k, inside(points, k) ? 1 : 0);
    step.run({points, in});
  }

  CompiledFunction predict = compile(model, [&](const Tensor& p) { return model(p) > 0.5; },
                                     {{"p", DType::f32, {dyn("rows", 1, 16), 2}}});
  int64_t right = 0, rows = 0;
  Server server(predict, 20);
  std::vector<std::pair<HostTensor, std::future<HostTensor>>> asked;
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < 4000; ++i) {
    HostTensor points = rng.uniform({1 + i % 16, 2}, -1.5, 1.5);
    asked.emplace_back(points, server.ask(points));
  }
  for (auto& [points, answer] : asked) {
    const HostTensor is_inside = answer.get();
    for (int64_t k = 0; k < is_inside.numel(); ++k, ++rows)
      right += (is_inside.number(k) != 0) == inside(points, k);
  }
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begin;
  std::printf("%zu requests in %.2f s, %ld rows, %.1f %% right\n", asked.size(), took.count(), rows,
              100.0 * double(right) / double(rows));
  try {
    server.ask(rng.uniform({17, 2})).get();
  } catch (const Error& error) { std::printf("%s\n", error.what()); }
  return right > rows * 9 / 10 ? 0 : 1;
}
