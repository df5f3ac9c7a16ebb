#include "tool/train/example_data.h"

#include <algorithm>

#include "base/result.h"
#include "tool/grouped.h"

namespace cleave::tool {
namespace {

constexpr int64_t ignored_label = -100;
constexpr int64_t most_held_out_batches = 64;

}  // namespace

Result<RunDataPtr> ExampleData::make(Examples examples, int64_t batch, uint64_t seed,
                                     const AlterBatch& alter, const std::string& advice) {
  const int64_t train = examples.train->size(), held_out = examples.held_out->size();
  if (train < batch)
    return user_error("{}: that makes {} {} to learn from, --batch {} needs at least {}; {}",
                      examples.about, train, examples.unit, batch, batch, advice);
  if (held_out < 1)
    return user_error("{}: nothing is left to be held out; {}", examples.about, advice);
  return RunDataPtr(new ExampleData(std::move(examples), batch, seed, alter));
}

// A thread that makes batches ahead would allocate while a step is measured; copying tokens takes
// microseconds.
ExampleData::ExampleData(Examples examples, int64_t batch, uint64_t seed, AlterBatch alter)
    : examples_(std::move(examples)), batch_size_(batch), alter_(std::move(alter)),
      batches_(examples_.train, {.size = batch, .seed = seed, .prefetch = 0}) {
  for (const TensorType& t : examples_.train->types()) {
    std::vector<int64_t> shape{batch};
    shape.insert(shape.end(), t.shape.begin(), t.shape.end());
    batch_.emplace_back(t.dtype, std::move(shape));
  }
}

const HostTensors& ExampleData::train_batch(int64_t number) {
  if (batches_.position() != number) batches_.seek(number);
  const HostTensors& read = batches_.next();
  if (!alter_) return read;
  for (size_t k = 0; k < read.size(); ++k) batch_[k].copy_from(read[k]);
  alter_(number, batch_);
  return batch_;
}

int64_t ExampleData::held_out_batches() const {
  const int64_t all = (examples_.held_out->size() + batch_size_ - 1) / batch_size_;
  return std::min(all, most_held_out_batches);
}

RunData::HeldOut ExampleData::held_out_batch(int64_t number) {
  const int64_t size = examples_.held_out->size(), taken = held_out_batches();
  const int64_t all = (size + batch_size_ - 1) / batch_size_;
  const int64_t chosen = taken > 1 ? number * (all - 1) / (taken - 1) : 0;
  const int64_t first = chosen * batch_size_, rows = std::min(batch_size_, size - first);
  std::vector<void*> to(batch_.size());
  for (int64_t row = 0; row < batch_size_; ++row) {
    for (size_t k = 0; k < to.size(); ++k)
      to[k] = static_cast<std::byte*>(batch_[k].data()) + row * (batch_[k].bytes() / batch_size_);
    examples_.held_out->read(first + std::min(row, rows - 1), to);
  }
  if (alter_) alter_(-1 - chosen, batch_);
  const auto labels = batch_.back().span<int64_t>();
  const auto each = labels.size() / static_cast<size_t>(batch_size_);
  std::ranges::fill(labels.subspan(each * static_cast<size_t>(rows)), ignored_label);
  const auto counted =
      std::ranges::count_if(labels, [](int64_t label) { return label != ignored_label; });
  return {&batch_, static_cast<double>(counted)};
}

std::string ExampleData::about() const {
  return fmt::format("data     {}: {} {} to learn from, {} held out", examples_.about,
                     grouped(examples_.train->size()), examples_.unit,
                     grouped(examples_.held_out->size()));
}

std::pair<data::SourcePtr, data::SourcePtr> hold_out(const data::SourcePtr& all) {
  const int64_t size = all->size(), held_out = std::min(size, std::max<int64_t>(1, size / 10));
  return {data::part(all, 0, size - held_out), data::part(all, size - held_out, size)};
}

}  // namespace cleave::tool
