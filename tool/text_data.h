// A text as a stream of characters (bytes) for a language model.
//
//   |<------------- training: nine tenths ------------->|<- held out ->|
//
// Batch `step` of a run takes B windows of T+1 characters; window b begins at
//   splitmix64(seed + golden * (step * B + b + 1)) mod (training characters - T)
// so a resumed run gets the same batches as an uninterrupted one. Held-out windows are spread
// evenly. Source of splitmix64: Steele, Lea, Flood, "Fast splittable pseudorandom number
// generators" (2014).
#pragma once
#include <string>
#include <vector>

#include "base/result.h"
#include "cleave/host_tensor.h"

namespace cleave::tool {

// A batch: input and target, i64[B,T] each; target is input one character later.
class TextData {
 public:
  // Errors (user): the file is missing, empty, has a byte 0 (so it is no text), fewer than
  // 20 (context + 1) characters, or fewer than two different characters.
  static Result<TextData> open(const std::string& path, int64_t context);

  const std::string& vocabulary() const { return vocabulary_; }  // the characters, sorted
  int64_t train_size() const { return train_size_; }
  int64_t held_out_size() const { return static_cast<int64_t>(codes_.size()) - train_size_; }
  void train_batch(uint64_t seed, int64_t step, HostTensors& into) const;
  // How many batches of this shape are taken from the held-out part: 1 to 64.
  int64_t held_out_batches(int64_t batch, int64_t context) const;
  void held_out_batch(int64_t number, HostTensors& into) const;

 private:
  void window(int64_t begin, int64_t row, HostTensors& into) const;

  std::string vocabulary_;
  std::vector<uint8_t> codes_;
  int64_t train_size_ = 0;
};

}  // namespace cleave::tool
