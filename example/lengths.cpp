// An LSTM over sequences of many lengths: which of two symbols comes first? Sequences are sorted
// into batches of one length; the step makes a program for each length at its first use, and all
// share parameters, optimizer state and memory.
#include <cleave/cleave.h>

#include <cstdio>
#include <set>

using namespace cleave;

constexpr int64_t batch = 32, width = 32, symbols = 10, shortest = 6, longest = 24;

struct Classifier : nn::Module {
  nn::Embedding embed;
  nn::LSTM lstm;
  nn::Linear head;
  explicit Classifier(Generator& rng)
      : embed(add_module("embed", nn::Embedding(symbols, width, rng))),
        lstm(add_module("lstm", nn::LSTM(width, width, rng, {.batch_first = true}))),
        head(add_module("head", nn::Linear(width, 2, rng))) {}
  // i64[n,length] -> f32[n,2]
  Tensor operator()(const Tensor& sequence) const {
    const auto [output, h_n, c_n] = lstm(embed(sequence));
    return head(h_n[0]);
  }
};

// Sequences of one length, a multiple of 6, and the symbol, 0 or 1, that occurs first in each.
struct Batch {
  HostTensor sequence, first{DType::i64, {batch}};
  explicit Batch(Generator& rng) {
    const int64_t length = shortest * (1 + rng.integer(longest / shortest));
    sequence = HostTensor(DType::i64, {batch, length});
    for (int64_t i = 0; i < batch; ++i) {
      int64_t* s = sequence.data<int64_t>() + i * length;
      for (int64_t t = 0; t < length; ++t) s[t] = 2 + rng.integer(symbols - 2);
      const int64_t which = rng.integer(2), early = rng.integer(length / 2);
      s[early] = which;
      s[early + 1 + rng.integer(length - early - 1)] = 1 - which;
      first.data<int64_t>()[i] = which;
    }
  }
};

int main() {
  Generator rng(3);
  const Classifier model(rng);
  const InputSpec sequence{"sequence", DType::i64, {batch, dyn("L", shortest, longest)}};
  TrainStep step = train_step(
      model, [&](const Tensor& s, const Tensor& first) { return cross_entropy(model(s), first); },
      optim::Adam({.lr = 5e-3}), {sequence, {"first", DType::i64, {batch}}}, {.clip_norm = 1.0});
  CompiledFunction classify = compile(model, [&](const Tensor& s) { return model(s); }, {sequence});

  std::set<int64_t> lengths;
  for (int i = 0; i <= 300; ++i) {
    const Batch b(rng);
    lengths.insert(b.sequence.shape()[1]);
    const double loss = step.run({b.sequence, b.first}).loss;
    if (i % 60 == 0)
      std::printf("step %3d  length %2lld  loss %.4f\n", i,
                  static_cast<long long>(b.sequence.shape()[1]), loss);
  }
  RunningMean right;
  for (int i = 0; i < 20; ++i) {
    const Batch b(rng);
    right.add(accuracy(classify.run({b.sequence})[0], b.first));
  }
  std::printf("accuracy %.3f over %zu lengths\n", right.value(), lengths.size());
  return right.value() > 0.95 && lengths.size() == 4 ? 0 : 1;
}
