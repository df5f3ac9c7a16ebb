// Windows of a file of token numbers.
#include <cstring>

#include "cleave/data.h"
#include "data/input_file.h"

namespace cleave::data {
namespace {

class Tokens final : public Source {
 public:
  Tokens(InputFile file, const TokenOptions& options)
      : file_(std::move(file)), o_(options), bytes_(options.is_u16 ? 2 : size_of(options.stored)),
        window_(static_cast<size_t>((options.context + 1) * bytes_)) {}

  int64_t size() const override {
    const int64_t tokens = file_.size() / bytes_;
    return tokens <= o_.context ? 0 : (tokens - 1 - o_.context) / o_.stride + 1;
  }
  std::vector<TensorType> types() const override {
    return {{DType::i64, {o_.context}}, {DType::i64, {o_.context}}};
  }
  void read(int64_t example, std::span<void* const> to) const override {
    value_or_throw(file_.read(example * o_.stride * bytes_, window_));
    auto* input = static_cast<int64_t*>(to[0]);
    auto* target = static_cast<int64_t*>(to[1]);
    for (int64_t i = 0; i <= o_.context; ++i) {
      const int64_t t = token(i);
      if (i < o_.context) input[i] = t;
      if (i > 0) target[i - 1] = t;
    }
  }

 private:
  template <class T>
  int64_t token_as(int64_t i) const {
    T value;
    std::memcpy(&value, window_.data() + static_cast<size_t>(i) * sizeof(T), sizeof(T));
    return value;
  }
  int64_t token(int64_t i) const {
    if (o_.is_u16) return token_as<uint16_t>(i);
    switch (o_.stored) {
      case DType::i64: return token_as<int64_t>(i);
      case DType::i32: return token_as<int32_t>(i);
      case DType::i16: return token_as<int16_t>(i);
      case DType::i8: return token_as<int8_t>(i);
      default: return token_as<uint8_t>(i);
    }
  }

  InputFile file_;
  TokenOptions o_;
  int64_t bytes_;
  mutable std::vector<std::byte> window_;  // one thread at a time reads
};

Result<SourcePtr> open_tokens(const std::string& path, TokenOptions o) {
  if (!o.is_u16 && (is_floating(o.stored) || o.stored == DType::boolean || o.stored == DType::c64))
    return user_error("data::tokens: stored is {}, expected an integer dtype", name_of(o.stored));
  if (o.stride == 0) o.stride = o.context;
  if (o.context < 1 || o.stride < 1)
    return user_error("data::tokens: context {} and stride {}, expected at least 1", o.context,
                      o.stride);
  CLEAVE_TRY(InputFile file, InputFile::open(path));
  const int64_t bytes = o.is_u16 ? 2 : size_of(o.stored);
  if (file.size() % bytes != 0 || file.size() / bytes <= o.context)
    return user_error("{}: it has {} bytes; expected a multiple of {}, and more than {} tokens",
                      path, file.size(), bytes, o.context);
  return SourcePtr(std::make_shared<Tokens>(std::move(file), o));
}

}  // namespace

SourcePtr tokens(const std::string& path, const TokenOptions& options) {
  return value_or_throw(open_tokens(path, options));
}

}  // namespace cleave::data
