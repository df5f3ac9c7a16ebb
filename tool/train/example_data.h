// The data of a model run: examples in an order that the seed decides, and a held-out part.
//
//   examples    [0 ........... n)          each once an epoch, in an order of its own
//   batch k     examples of the order from k B on; what is left at an epoch's end is dropped
//   held out    all of them in order, up to 64 batches of them; the last one is filled up with rows
//               whose labels are -100, which no loss counts
#pragma once
#include <functional>

#include "cleave/data.h"
#include "tool/train/run_data.h"

namespace cleave::tool {

struct Examples {
  data::SourcePtr train, held_out;
  std::string about;     // where they come from: "book.txt: 81,234 tokens of 3 documents"
  std::string unit;      // "windows of 64", "images"
  std::string identity;  // of the training part's contents
};

// Alters a batch after its examples were read. `stream` and the place in the batch tell each of its
// draws from all others: batch numbers in training, -1 - number of held-out batches.
using AlterBatch = std::function<void(int64_t stream, HostTensors& batch)>;

class ExampleData final : public RunData {
 public:
  // The last tensor of an example has its labels, i64. Errors (user): too few examples for one
  // batch, or none held out; `advice` says what would give more.
  static Result<RunDataPtr> make(Examples examples, int64_t batch, uint64_t seed,
                                 const AlterBatch& alter, const std::string& advice);

  const HostTensors& train_batch(int64_t number) override;
  int64_t held_out_batches() const override;
  HeldOut held_out_batch(int64_t number) override;
  std::string about() const override;
  Metadata identity() const override { return {{"data", examples_.identity}}; }
  int64_t batches_per_epoch() const override { return batches_.per_epoch(); }

 private:
  ExampleData(Examples examples, int64_t batch, uint64_t seed, AlterBatch alter);

  Examples examples_;
  int64_t batch_size_;
  AlterBatch alter_;
  data::Batches batches_;
  HostTensors batch_;  // of the held-out part, or altered
};

// The last tenth of a source, at least one example, is held out: [training, held out].
std::pair<data::SourcePtr, data::SourcePtr> hold_out(const data::SourcePtr& all);

}  // namespace cleave::tool
