#include "op/pair_samples.h"

#include <algorithm>

namespace cleave {

std::vector<Sample> floating_pairs(PairRange r) {
  const auto pair = [&](const SampleTensor& a, const SampleTensor& b) {
    return Sample{{a.range(r.a_lo, r.a_hi), b.range(r.b_lo, r.b_hi)}};
  };
  return {pair(f32({2, 3}), f32({2, 3})),   pair(f32({2, 3}), f32({3})),
          pair(f32({2, 1}), f32({1, 3})),   pair(f32({}), f32({2, 2})),
          pair(f32({0, 3}), f32({1, 3})),   pair(f64({4}), f64({4})),
          pair(bf16({2, 3}), bf16({2, 3})), pair(f16({5}), f16({1})),
          pair(bf16({3}), f32({})),         pair(f16({3}), bf16({3})),
          pair(f32({3}), f64({3})),         pair(f32({3}), f64({}))};
}

std::vector<Sample> right_numbers(PairRange r, const std::vector<SampleOperand>& numbers) {
  std::vector<Sample> s;
  for (const SampleOperand& n : numbers) {
    s.push_back({{f32({2, 3}).range(r.a_lo, r.a_hi), n}});
    s.push_back({{bf16({5}).range(r.a_lo, r.a_hi), n}});
  }
  return s;
}

std::vector<Sample> integer_pairs(double b_lo, double b_hi) {
  const auto b = [&](const SampleTensor& t) { return t.range(b_lo, b_hi); };
  return {{{i64({2, 3}), b(i64({3}))}},
          {{i32({4}), b(i32({4}))}},
          {{i32({3}), b(i64({3}))}},
          {{i32({3}), b(i64({}))}},
          {{sample(DType::u8, {3}).range(0, 10), b(sample(DType::u8, {3}))}},
          {{sample(DType::u8, {3}).range(0, 10), b(sample(DType::i8, {3}))}},
          {{sample(DType::i8, {2}).range(-9, 10), b(sample(DType::i16, {2}))}},
          {{i64({0}), b(i64({1}))}},
          {{f32({3}), b(i64({3}))}}};
}

std::vector<Sample> bool_pairs() {
  return {{{boolean({4}), boolean({4})}}, {{boolean({2, 3}), boolean({3})}},
          {{boolean({3}), true}},         {{boolean({3}), 2}},
          {{boolean({3}), 0.5}},          {{boolean({3}), f32({3})}},
          {{boolean({3}), bf16({3})}},    {{i32({3}), boolean({3})}}};
}

std::vector<Sample> tensors_only(std::vector<Sample> samples) {
  std::erase_if(samples, [](const Sample& s) {
    return std::any_of(s.operands.begin(), s.operands.end(),
                       [](const SampleOperand& o) { return o.tensors.empty(); });
  });
  return samples;
}

std::vector<Reject> pair_rejects(const std::string& name, const std::string& first,
                                 const std::string& second) {
  SampleTensor far = f32({3});
  far.type.device = {DeviceKind::cuda, 0};
  return {{"C1",
           {{f32({2, 3}), f32({4})}},
           name + ": C1: shapes [2,3] and [4] don't broadcast: dim -1 is 3 and 4, expected equal "
                  "sizes or 1"},
          {"C2",
           {{f32({3}), far}},
           fmt::format("{}: C2: {} is f32[3] and {} is f32[3]@cuda:0, expected one device", name,
                       first, second)}};
}

Reject no_tensor_reject(const std::string& name) {
  return {
      "C3", {{1.0, 2.0}}, name + ": C3: every operand is a number, expected at least one tensor"};
}

}  // namespace cleave
