// Marks something that only one thread at a time may use, for the lifetime of a Busy of its flag:
//
//   const Busy busy(running_);
//   if (!busy.is_mine()) return user_error("it is running already");
#pragma once
#include <atomic>

namespace cleave {

class Busy {
 public:
  explicit Busy(std::atomic<bool>& flag) : flag_(flag), is_mine_(!flag.exchange(true)) {}
  ~Busy() {
    if (is_mine_) flag_ = false;
  }
  Busy(const Busy&) = delete;
  Busy& operator=(const Busy&) = delete;
  bool is_mine() const { return is_mine_; }

 private:
  std::atomic<bool>& flag_;
  const bool is_mine_;
};

}  // namespace cleave
