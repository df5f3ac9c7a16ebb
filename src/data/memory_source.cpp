// Sources in memory, and those made of other sources.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "base/result.h"
#include "cleave/data.h"
#include "cleave/weights.h"
#include "data/permutation.h"

namespace cleave::data {
namespace {

class Rows final : public Source {
 public:
  explicit Rows(HostTensors rows) : rows_(std::move(rows)) {
    for (HostTensor& t : rows_) {
      if (!t.is_row_major()) t = t.contiguous();
      types_.push_back({t.dtype(), {t.shape().begin() + 1, t.shape().end()}});
    }
  }
  int64_t size() const override { return rows_[0].shape()[0]; }
  std::vector<TensorType> types() const override { return types_; }
  void read(int64_t example, std::span<void* const> to) const override {
    for (size_t k = 0; k < rows_.size(); ++k) {
      const auto bytes = static_cast<size_t>(types_[k].bytes());
      const auto* from = static_cast<const std::byte*>(rows_[k].data());
      if (bytes > 0) std::memcpy(to[k], from + static_cast<size_t>(example) * bytes, bytes);
    }
  }

 private:
  HostTensors rows_;
  std::vector<TensorType> types_;
};

class Made final : public Source {
 public:
  Made(int64_t size, std::vector<TensorType> types, ReadFunction read)
      : size_(size), types_(std::move(types)), read_(std::move(read)) {}
  int64_t size() const override { return size_; }
  std::vector<TensorType> types() const override { return types_; }
  void read(int64_t example, std::span<void* const> to) const override { read_(example, to); }

 private:
  int64_t size_;
  std::vector<TensorType> types_;
  ReadFunction read_;
};

class Part final : public Source {
 public:
  Part(SourcePtr of, int64_t begin, int64_t end, std::optional<Permutation> order)
      : of_(std::move(of)), begin_(begin), end_(end), order_(order) {}
  int64_t size() const override { return end_ - begin_; }
  std::vector<TensorType> types() const override { return of_->types(); }
  void read(int64_t example, std::span<void* const> to) const override {
    const int64_t at = begin_ + example;
    of_->read(order_ ? (*order_)(at) : at, to);
  }

 private:
  SourcePtr of_;
  int64_t begin_, end_;
  std::optional<Permutation> order_;
};

void require_source(const char* function, const SourcePtr& source) {
  if (!source) throw_failure(user_error("data::{}: the source is null", function));
}

}  // namespace

SourcePtr tensors(HostTensors rows) {
  if (rows.empty()) throw_failure(user_error("data::tensors: there is no tensor"));
  for (size_t k = 0; k < rows.size(); ++k)
    if (rows[k].rank() == 0 || rows[k].shape()[0] != rows[0].shape()[0])
      throw_failure(user_error("data::tensors: tensor {} is {}, tensor 0 {}; expected as many rows",
                               k, rows[k].type_text(), rows[0].type_text()));
  return std::make_shared<Rows>(std::move(rows));
}

SourcePtr function(int64_t size, std::vector<TensorType> types, ReadFunction read) {
  if (size < 0 || types.empty() || !read)
    throw_failure(
        user_error("data::function: {} examples of {} tensors{}; expected some, and a "
                   "function",
                   size, types.size(), read ? "" : " without a function"));
  return std::make_shared<Made>(size, std::move(types), std::move(read));
}

SourcePtr safetensors(const std::string& path, const std::vector<std::string>& names) {
  NamedTensors all = load_tensors(path);
  HostTensors rows;
  for (const std::string& name : names) {
    const auto at = all.find(name);
    if (at == all.end()) throw_failure(user_error("{}: there is no tensor {}", path, name));
    rows.push_back(at->second);
  }
  return tensors(std::move(rows));
}

SourcePtr part(SourcePtr source, int64_t begin, int64_t end) {
  require_source("part", source);
  if (begin < 0 || begin > end || end > source->size())
    throw_failure(
        user_error("data::part: [{}, {}) is no part of {} examples", begin, end, source->size()));
  return std::make_shared<Part>(std::move(source), begin, end, std::nullopt);
}

std::pair<SourcePtr, SourcePtr> split(SourcePtr source, double first, uint64_t seed) {
  require_source("split", source);
  if (!(first >= 0 && first <= 1))
    throw_failure(user_error("data::split: {} is no fraction in [0, 1]", first));
  const int64_t size = source->size();
  const auto at = static_cast<int64_t>(std::llround(first * static_cast<double>(size)));
  constexpr uint64_t split_stream = ~uint64_t{0};  // that no epoch has
  const Permutation order(size, seed, split_stream);
  return {std::make_shared<Part>(source, 0, at, order),
          std::make_shared<Part>(source, at, size, order)};
}

}  // namespace cleave::data
