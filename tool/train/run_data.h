// What a run is trained on: batches by number, so that a run that is resumed gets the same ones.
#pragma once
#include <memory>

#include "cleave/host_tensor.h"
#include "cleave/weights.h"

namespace cleave::tool {

class RunData {
 public:
  virtual ~RunData() = default;

  // The inputs of batch `number`, counted from 0 over the whole run; valid until the next call.
  virtual const HostTensors& train_batch(int64_t number) = 0;

  // A batch of the held-out part, and its weight in the mean of the losses.
  struct HeldOut {
    const HostTensors* inputs;  // valid until the next call
    double weight;
  };
  virtual int64_t held_out_batches() const = 0;
  virtual HeldOut held_out_batch(int64_t number) = 0;

  virtual std::string about() const = 0;  // one line for people
  // Of a checkpoint's metadata: a run that resumes from it has to have the same.
  virtual Metadata identity() const = 0;
  // Whole batches of the training part; 0: it has no end.
  virtual int64_t batches_per_epoch() const { return 0; }
};
using RunDataPtr = std::unique_ptr<RunData>;

// A hash of bytes, for identity().
class Digest {
 public:
  void add(const void* data, size_t bytes);
  std::string text() const;

 private:
  uint64_t state_ = 0;
};

}  // namespace cleave::tool
