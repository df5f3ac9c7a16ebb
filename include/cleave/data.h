// Examples, and batches of them for training.
//
//   data::SourcePtr train = data::tensors({x, y});      // example i is x[i] and y[i]
//   data::Batches batches(train, {.size = 32, .seed = 7});
//   for (int64_t i = 0; i < 1000; ++i) {
//     const HostTensors& b = batches.next();
//     step.run({b[0], b[1]});
//   }
//
// The order depends on the seed, the number of the epoch and the number of examples alone; batches
// are made by a thread of their own while a step runs.
//
// Errors are thrown as cleave::Error (user), those of a file with its path, and the line or the
// field that is wrong; those that occur while a batch is made, by the next() that would return it.
#pragma once
#include <functional>
#include <memory>
#include <source_location>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cleave/host_tensor.h"

namespace cleave::data {

// Examples by number, each of the same tensors.
class CLEAVE_API Source {
 public:
  virtual ~Source() = default;
  virtual int64_t size() const = 0;
  // Of the tensors of one example.
  virtual std::vector<TensorType> types() const = 0;
  // Writes the tensors of an example, row-major and without gaps, tensor k to to[k]. One thread at
  // a time calls it; may throw.
  virtual void read(int64_t example, std::span<void* const> to) const = 0;
};
using SourcePtr = std::shared_ptr<const Source>;

// Example i is row i of each tensor. Error: their first dims differ.
CLEAVE_API SourcePtr tensors(HostTensors rows);
// Example i is what the function writes.
using ReadFunction = std::function<void(int64_t example, std::span<void* const> to)>;
CLEAVE_API SourcePtr function(int64_t size, std::vector<TensorType> types, ReadFunction read);

// Rows of NumPy's .npy files (versions 1 to 3, C order), one file for each tensor. Rows are read
// when they are asked for: files may be larger than memory.
CLEAVE_API SourcePtr npy(const std::vector<std::string>& paths);
// Rows of tensors of a .safetensors file.
CLEAVE_API SourcePtr safetensors(const std::string& path, const std::vector<std::string>& names);

// Columns of a text file that make one tensor of an example: [columns].
struct Columns {
  std::vector<std::string> names;
  DType dtype = DType::f32;
};
struct CsvOptions {
  char separator = ',';
};
// Rows of numbers; the first line names the columns. A field may stand in quotes, and spaces around
// it don't count. The file is read into memory. Errors name the line and the column.
CLEAVE_API SourcePtr csv(const std::string& path, const std::vector<Columns>& tensors,
                         const CsvOptions& options = {});

// A file of token numbers, without a head: example i is the tokens from i * stride on, and those
// one further, both i64[context]. Tokens are read when they are asked for.
struct TokenOptions {
  DType stored = DType::i32;  // an integer dtype
  bool is_u16 = false;        // instead: two bytes a token, without a sign
  int64_t context = 128;
  int64_t stride = 0;  // 0: context
};
CLEAVE_API SourcePtr tokens(const std::string& path, const TokenOptions& options);

// Examples [begin, end) of a source.
CLEAVE_API SourcePtr part(SourcePtr source, int64_t begin, int64_t end);
// A random part of the examples, and the others. `first` is a fraction in [0, 1].
CLEAVE_API std::pair<SourcePtr, SourcePtr> split(SourcePtr source, double first, uint64_t seed);

// The examples that are left when an epoch has no whole batch any more.
enum class LastBatch : uint8_t {
  drop,
  keep  // a smaller batch, for which a program of its own is needed
};
struct BatchOptions {
  int64_t size = 1;
  bool shuffle = true;
  uint64_t seed = 0;
  LastBatch last = LastBatch::drop;
  int prefetch = 2;  // batches made ahead by a thread; 0: next() makes them
};

// One that was moved from takes another one; anything else is an error.
class CLEAVE_API Batches {
 public:
  // Errors: a size below 1, or above the number of examples with LastBatch::drop.
  Batches(SourcePtr source, const BatchOptions& options,
          std::source_location at = std::source_location::current());
  ~Batches();
  Batches(Batches&&) noexcept;
  Batches& operator=(Batches&&) noexcept;

  // The next batch: tensors [size, ...]. After the last batch of an epoch the first one of the next
  // epoch follows. Valid until the next call.
  const HostTensors& next();
  int64_t per_epoch() const;
  // Of the next batch, counted over all epochs.
  int64_t position() const;
  // The next batch is number `position`, as if that many had been taken: to resume a run.
  void seek(int64_t position);

 private:
  struct State;
  State& state() const;
  std::unique_ptr<State> state_;
};

}  // namespace cleave::data
