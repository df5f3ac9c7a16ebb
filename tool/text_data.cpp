#include "tool/text_data.h"

#include <algorithm>

#include "base/split_mix.h"
#include "tool/graph_file.h"

namespace cleave::tool {
Result<TextData> TextData::open(const std::string& path, int64_t context) {
  CLEAVE_TRY(std::string text, read_text(path));
  if (text.empty()) return user_error("{}: the file is empty; give a text", path);
  if (size_t at = text.find('\0'); at != std::string::npos)
    return user_error("{}: byte {} is 0, so this is no text", path, at);
  const int64_t min_size = 20 * (context + 1);
  if (static_cast<int64_t>(text.size()) < min_size)
    return user_error("{}: {} characters are too few: a context of {} needs at least {}", path,
                      text.size(), context, min_size);
  bool present[256] = {};
  for (unsigned char c : text) present[c] = true;
  TextData data;
  uint8_t code[256] = {};
  for (int c = 0; c < 256; ++c)
    if (present[c]) {
      code[c] = static_cast<uint8_t>(data.vocabulary_.size());
      data.vocabulary_ += static_cast<char>(c);
    }
  if (data.vocabulary_.size() < 2)
    return user_error("{}: all characters are the same; there is nothing to learn", path);
  data.codes_.reserve(text.size());
  for (unsigned char c : text) data.codes_.push_back(code[c]);
  data.train_size_ = static_cast<int64_t>(text.size()) / 10 * 9;
  return data;
}

void TextData::window(int64_t begin, int64_t row, HostTensors& into) const {
  const int64_t time = into[0].shape()[1];
  int64_t* x = into[0].data<int64_t>() + row * time;
  int64_t* y = into[1].data<int64_t>() + row * time;
  for (int64_t t = 0; t < time; ++t) {
    x[t] = codes_[static_cast<size_t>(begin + t)];
    y[t] = codes_[static_cast<size_t>(begin + t + 1)];
  }
}

void TextData::train_batch(uint64_t seed, int64_t step, HostTensors& into) const {
  const int64_t batch = into[0].shape()[0], time = into[0].shape()[1];
  const auto starts = static_cast<uint64_t>(train_size_ - time);
  for (int64_t b = 0; b < batch; ++b) {
    const auto n = static_cast<uint64_t>(step * batch + b + 1);
    window(static_cast<int64_t>(split_mix(seed + split_mix_step * n) % starts), b, into);
  }
}

int64_t TextData::held_out_batches(int64_t batch, int64_t context) const {
  const int64_t windows = (held_out_size() - 1) / context;
  return std::clamp<int64_t>(windows / batch, 1, 64);
}

void TextData::held_out_batch(int64_t number, HostTensors& into) const {
  const int64_t batch = into[0].shape()[0], time = into[0].shape()[1];
  const int64_t windows = held_out_batches(batch, time) * batch;
  const int64_t last = held_out_size() - time - 1;
  for (int64_t b = 0; b < batch; ++b) {
    const int64_t w = number * batch + b;
    window(train_size_ + (windows > 1 ? last * w / (windows - 1) : 0), b, into);
  }
}

}  // namespace cleave::tool
