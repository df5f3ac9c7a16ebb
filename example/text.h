// A text to learn by heart, character by character: Lincoln's Gettysburg Address (1863).
//
//   example::Text text;
//   auto [idx, target] = text.windows(rng, 16, 64);     // i64[16,64] each, target one ahead
#pragma once
#include <cleave/cleave.h>

#include <algorithm>
#include <functional>
#include <string>
#include <utility>

namespace example {

using namespace cleave;

inline const std::string gettysburg =
    "Four score and seven years ago our fathers brought forth, upon this continent, a new nation, "
    "conceived in Liberty, and dedicated to the proposition that all men are created equal.\n"
    "Now we are engaged in a great civil war, testing whether that nation, or any nation so "
    "conceived, and so dedicated, can long endure. We are met on a great battle-field of that war. "
    "We have come to dedicate a portion of that field, as a final resting-place for those who here "
    "gave their lives, that that nation might live. It is altogether fitting and proper that we "
    "should do this.\n"
    "But, in a larger sense, we can not dedicate, we can not consecrate -- we can not hallow -- "
    "this ground. The brave men, living and dead, who struggled here, have consecrated it far "
    "above our poor power to add or detract. The world will little note, nor long remember what we "
    "say here, but it can never forget what they did here. It is for us the living, rather, to be "
    "dedicated here to the unfinished work which they who fought here have thus far so nobly "
    "advanced. It is rather for us to be here dedicated to the great task remaining before us -- "
    "that from these honored dead we take increased devotion to that cause for which they here "
    "gave the last full measure of devotion -- that we here highly resolve that these dead shall "
    "not have died in vain -- that this nation, under God, shall have a new birth of freedom, and "
    "that government of the people, by the people, for the people, shall not perish from the "
    "earth.\n";

class Text {
 public:
  Text() : vocabulary_(gettysburg) {
    std::sort(vocabulary_.begin(), vocabulary_.end());
    vocabulary_.erase(std::unique(vocabulary_.begin(), vocabulary_.end()), vocabulary_.end());
  }
  int64_t vocabulary() const { return static_cast<int64_t>(vocabulary_.size()); }
  int64_t size() const { return static_cast<int64_t>(gettysburg.size()); }
  int64_t code(char c) const { return static_cast<int64_t>(vocabulary_.find(c)); }
  char character(int64_t code) const { return vocabulary_[static_cast<size_t>(code)]; }

  // Rows of `time` characters from given positions, and for each the next character; the text is
  // cyclic.
  std::pair<HostTensor, HostTensor> rows(const std::vector<int64_t>& starts, int64_t time) const {
    const auto batch = static_cast<int64_t>(starts.size());
    HostTensor idx(DType::i64, {batch, time}), target(DType::i64, {batch, time});
    for (int64_t b = 0; b < batch; ++b)
      for (int64_t t = 0; t < time; ++t) {
        idx.at<int64_t>({b, t}) = code_at(starts[b] + t);
        target.at<int64_t>({b, t}) = code_at(starts[b] + t + 1);
      }
    return {idx, target};
  }
  // The same from random positions.
  std::pair<HostTensor, HostTensor> windows(Generator& rng, int64_t batch, int64_t time) const {
    std::vector<int64_t> starts(static_cast<size_t>(batch));
    for (int64_t& s : starts) s = rng.integer(size());
    return rows(starts, time);
  }

  // `prompt` and the most likely characters after it. `logits` maps idx i64[1,context] to
  // f32[1,context,vocabulary]; each position depends only on positions up to it.
  std::string continued(const nn::Module& model, const TracedFunction& logits, int64_t context,
                        std::string prompt, int64_t count) const {
    CompiledFunction f = compile(model, logits, {{"idx", DType::i64, {1, context}}});
    for (; count > 0; --count) {
      HostTensor idx(DType::i64, {1, context});
      const auto used = std::min<int64_t>(context, static_cast<int64_t>(prompt.size()));
      for (int64_t t = 0; t < used; ++t)
        idx.at<int64_t>({0, t}) = code(prompt[prompt.size() - static_cast<size_t>(used - t)]);
      const HostTensor y = f.run({idx})[0];
      prompt += likeliest(y.data<float>() + (used - 1) * vocabulary());
    }
    return prompt;
  }
  char likeliest(const float* logits) const {
    return character(std::max_element(logits, logits + vocabulary()) - logits);
  }

 private:
  int64_t code_at(int64_t place) const { return code(gettysburg[place % size()]); }

  std::string vocabulary_;  // every character once, in order
};

}  // namespace example
