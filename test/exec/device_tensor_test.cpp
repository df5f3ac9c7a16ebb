// Tensors of the caller's on a device, and of the host from elsewhere: as inputs, as Variables'
// memory, and results that stay there.
// tests: trace/store.cpp exec/device_variable.cpp
#include "cleave/device_tensor.h"

#include <gtest/gtest.h>

#include <cstring>

#include "backend/backend.h"
#include "cleave/cleave.h"
#include "test/sample/fake_device.h"
#include "test/trace/traced.h"

namespace cleave {
namespace {

using test::FakeDevice;
using test::message;
using Names = std::vector<std::string>;

// Memory of a device with a tensor's elements, some bytes behind an aligned address.
struct There {
  std::shared_ptr<DeviceMemory> memory;
  std::shared_ptr<DeviceBlock> block;
  DeviceTensor tensor;
  int64_t offset = 0;

  There(const FakeDevice& device, const HostTensor& t, int64_t apart = 0)
      : memory(device.backend->device_memory()), offset(apart) {
    block = std::make_shared<DeviceBlock>(
        value_or_throw(DeviceBlock::make(memory, t.extent_bytes() + apart)));
    put(t);
    tensor = DeviceTensor::borrow(memory->device(), t.dtype(), t.shape(), t.strides(),
                                  block->data() + apart, block);
  }
  void put(const HostTensor& t) const {
    value_or_throw(memory->copy_in(block->data() + offset, t.data(), t.extent_bytes(), nullptr));
    value_or_throw(memory->wait(nullptr));
  }
  HostTensor get() const { return read(tensor, memory); }
  static HostTensor read(const DeviceTensor& t, const std::shared_ptr<DeviceMemory>& memory) {
    HostTensor out(t.dtype(), t.shape(), t.strides());
    value_or_throw(memory->copy_out(out.data(), t.data(), t.extent_bytes(), nullptr));
    value_or_throw(memory->wait(nullptr));
    return out;
  }
};

const std::vector<InputSpec> square_specs = {{"x", DType::f32, {16, 16}}};
Tensor next_of(const Tensor& x) { return tanh(add(matmul(x, x), 0.1)); }

TEST(DeviceTensor, an_input_on_the_device_is_read_where_it_lies) {
  FakeDevice device;
  CompiledFunction here = compile(next_of, square_specs);
  CompiledFunction there = compile(next_of, square_specs, {.backend = device.backend});
  Generator rng(1);
  for (int i = 0; i < 3; ++i) {
    const HostTensor x = rng.normal({16, 16});
    const There far(device, x);
    device.copies();
    there.run_in_place(std::vector<InputRef>{far.tensor});
    EXPECT_EQ(device.copies().in, 0);
    EXPECT_TRUE(there.output(0).same_bits(here.run({x})[0])) << i;
  }
  const HostTensor x = rng.normal({16, 16});  // and one of the host again
  EXPECT_TRUE(there.run({x})[0].same_bits(here.run({x})[0]));
  EXPECT_EQ(there.report().counters.at("copies"), 0);
  EXPECT_EQ(device.wrong(), "");
}

TEST(DeviceTensor, one_that_is_apart_is_copied_within_the_device) {
  FakeDevice device;
  CompiledFunction here = compile(next_of, square_specs);
  CompiledFunction there = compile(next_of, square_specs, {.backend = device.backend});
  Generator rng(1);
  for (int i = 0; i < 3; ++i) {
    const HostTensor x = rng.normal({16, 16});
    const There far(device, x, 4);
    device.copies();
    there.run_in_place(std::vector<InputRef>{far.tensor});
    EXPECT_EQ(device.copies().in, 0);
    EXPECT_TRUE(there.output(0).same_bits(here.run({x})[0])) << i;
  }
  EXPECT_EQ(there.report().counters.at("copies"), 3);
  EXPECT_EQ(device.wrong(), "");
}

TEST(DeviceTensor, a_result_is_the_next_runs_input) {
  // The input is read behind the result, which lies where it lay.
  const auto both = [](const Tensor& x) {
    const Tensor y = next_of(x);
    return Tensors{y, sum(matmul(y, x))};
  };
  FakeDevice device;
  CompiledFunction here = compile(both, square_specs);
  CompiledFunction there = compile(both, square_specs, {.backend = device.backend});
  HostTensor x = Generator(1).normal({16, 16});
  There first(device, x);
  DeviceTensor at = first.tensor;
  device.copies();
  for (int i = 0; i < 5; ++i) {
    there.run_in_place(std::vector<InputRef>{at});
    at = there.output_there(0);
    const HostTensors want = here.run({x});
    EXPECT_EQ(there.output(1).item(), want[1].item()) << i;
    x = want[0];
  }
  EXPECT_EQ(at.device(), Device::cuda(0));
  const FakeDevice::Copies copies = device.copies();
  EXPECT_EQ(copies.in, 0);
  EXPECT_EQ(copies.out_bytes, 5 * 4);  // the sum
  EXPECT_TRUE(There::read(at, first.memory).same_bits(x));
  EXPECT_EQ(device.wrong(), "");
  // On the processor it is the view.
  here.run({x});
  EXPECT_EQ(here.output_there(0).data(), here.output_view(0).data());
}

TEST(DeviceTensor, errors_name_both_devices) {
  FakeDevice device, second(1 << 20, Device::cuda(1));
  const HostTensor x(DType::f32, {16, 16});
  const There far(device, x), other(second, x);
  CompiledFunction here = compile(next_of, square_specs);
  CompiledFunction there = compile(next_of, square_specs, {.backend = device.backend});
  const auto told = [](CompiledFunction& f, const DeviceTensor& t) {
    return message([&] { f.run({t}); });
  };
  EXPECT_EQ(told(here, far.tensor),
            "compile: input 0 `x` is f32[16,16] on cuda:0, and the program runs on cpu: "
            "expected one device");
  EXPECT_EQ(told(there, other.tensor),
            "compile: input 0 `x` is f32[16,16] on cuda:1, and the program runs on cuda:0: "
            "expected one device");
  const There small(device, HostTensor(DType::f32, {2, 16}));
  EXPECT_EQ(told(there, small.tensor),
            "compile: input 0 `x`: got f32[2,16] on cuda:0, expected f32[16,16] on cuda:0");
  const There turned(device, HostTensor(DType::f32, {16, 16}, {1, 16}));
  EXPECT_NE(told(there, turned.tensor).find("expected f32[16,16]{16,1} on cuda:0"),
            std::string::npos)
      << told(there, turned.tensor);
  CompiledFunction any = compile(next_of, {{.name = "x", .shape = {16, 16}, .copy_strides = true}},
                                 {.backend = device.backend});
  EXPECT_EQ(told(any, turned.tensor),
            "compile: input 0 `x` is f32[16,16]{1,16} on cuda:0, expected f32[16,16]: only tensors "
            "of the host are rearranged");
  EXPECT_EQ(message([&] { InputRef(far.tensor).tensor(); }),
            "an input is f32[16,16] on cuda:0, expected a tensor of the host");
}

TEST(DeviceTensor, an_input_that_is_updated_is_written_there) {
  FakeDevice device;
  const std::vector<InputSpec> specs = {
      {.name = "cache", .shape = {16, 16}, .is_static = true, .is_updated = true}};
  const auto f = [](const Tensor& cache) {
    const Tensor more = add(cache, 1);
    assign(cache, more);
    return sum(more);
  };
  CompiledFunction there = compile(f, specs, {.backend = device.backend});
  const HostTensor x = Generator(1).normal({16, 16});
  const There far(device, x), apart(device, x, 4);
  for (int i = 0; i < 3; ++i) there.run({far.tensor});
  const HostTensor got = far.get();
  for (int64_t k = 0; k < 256; ++k) {
    float want = x.data<float>()[k];
    for (int i = 0; i < 3; ++i) want += 1;
    EXPECT_EQ(got.data<float>()[k], want) << k;
  }
  EXPECT_EQ(message([&] { there.run({far.tensor.as_const()}); }),
            "compile: input 0 `cache`: it is updated, and the tensor given for it is const");
  EXPECT_EQ(message([&] { there.run({apart.tensor}); }),
            "compile: input 0 `cache` is updated, and its address on cuda:0 is no multiple of 16 "
            "bytes");
  EXPECT_EQ(device.wrong(), "");
}

TEST(DeviceTensor, of_the_host_from_elsewhere) {
  CompiledFunction f = compile(next_of, square_specs);
  HostTensor x = Generator(1).normal({16, 16});
  const HostTensor want = f.run({x})[0];
  const DeviceTensor t = from_dlpack(to_dlpack(DeviceTensor(std::move(x)).as_const()));
  EXPECT_TRUE(t.is_const());
  EXPECT_TRUE(f.run({t})[0].same_bits(want));
}

// ---- steps

struct Session {
  Generator rng{1}, data{2};
  nn::Sequential model{nn::Linear(2, 32, rng), nn::Tanh(), nn::Linear(32, 1, rng)};
  TrainStep step;

  explicit Session(std::shared_ptr<Backend> backend = nullptr) {
    step = train_step(model,
                      [this](const Tensor& a, const Tensor& b) {
                        const Tensor out = model(a);
                        return Tensors{mse_loss(out, b), out};
                      },
                      optim::AdamW({.lr = 1e-2}),
                      {{"x", DType::f32, {64, 2}}, {"y", DType::f32, {64, 1}}},
                      {.compile = {.backend = std::move(backend)}});
  }
};

Names differing(const Store& a, const Store& b) {
  Names out;
  for (const auto& [name, v] : a.entries())
    if (!v.value().same_bits(b.at(name).value())) out.push_back(name);
  return out;
}

TEST(DeviceTensor, what_a_queued_step_reads_is_kept_until_it_is_over) {
  FakeDevice device;
  Session here, there(device.backend);
  std::vector<std::weak_ptr<DeviceBlock>> blocks;
  std::vector<double> want;
  std::vector<StepResult> got;
  for (int i = 0; i < 8; ++i) {
    const HostTensor x = here.data.normal({64, 2}), y = here.data.normal({64, 1});
    want.push_back(here.step.run({x, y}).loss);
    const There fx(device, x), fy(device, y, i % 2 == 0 ? 0 : 4);
    got.push_back(there.step.run({fx.tensor, fy.tensor}));
    blocks.push_back(fx.block);
    EXPECT_FALSE(blocks.back().expired());  // the device may not have begun
  }
  for (int i = 0; i < 8; ++i) EXPECT_EQ(got[i].loss.value(), want[i]) << i;
  EXPECT_TRUE(blocks.front().expired());
  EXPECT_EQ(differing(here.step.store(), there.step.store()), Names());
  EXPECT_TRUE(There::read(there.step.output_there(0), device.backend->device_memory())
                  .same_bits(here.step.output(0)));
  there.step = {};
  EXPECT_TRUE(blocks.back().expired());
  EXPECT_EQ(device.wrong(), "");
}

TEST(DeviceTensor, runs_that_fail_drop_nothing_that_a_queued_one_reads) {
  FakeDevice device;
  Session here, there(device.backend);
  const HostTensor x = here.data.normal({64, 2}), y = here.data.normal({64, 1});
  const double want = here.step.run({x, y}).loss;
  StepResult got;
  std::weak_ptr<DeviceBlock> block;
  {
    const There fx(device, x), fy(device, y);
    got = there.step.run({fx.tensor, fy.tensor});
    block = fx.block;
  }
  const There turned(device, HostTensor(DType::f32, {64, 2}, {1, 64})), fy(device, y);
  for (int i = 0; i < 8; ++i) {
    EXPECT_NE(message([&] { there.step.run({turned.tensor, fy.tensor}); }), "no error");
    EXPECT_FALSE(block.expired()) << i;
  }
  EXPECT_EQ(got.loss.value(), want);
  EXPECT_EQ(device.wrong(), "");
}

TEST(DeviceTensor, memory_of_the_host_takes_a_variable_back) {
  for (const int runs : {0, 1}) {
    FakeDevice device, second(64 << 20, Device::cuda(1));
    Session here, there(device.backend);
    const auto run = [](Session& s) {
      const HostTensor x = s.data.normal({64, 2}), y = s.data.normal({64, 1});
      return s.step.run({x, y}).loss.value();
    };
    Variable w = there.model.parameter("0.weight");
    const There far(device, HostTensor(DType::f32, {32, 2})), mistaken(second, far.get());
    EXPECT_EQ(run(there), run(here));
    w.bind(far.tensor, Contents::of_variable);
    for (int i = 0; i < runs; ++i) EXPECT_EQ(run(there), run(here));
    const HostTensor left = far.get();
    HostTensor mine(DType::f32, {32, 2});
    w.bind(HostTensor::borrow(DType::f32, {32, 2}, mine.data()), Contents::of_variable);
    for (int i = 0; i < 2; ++i) EXPECT_EQ(run(there), run(here)) << i;
    EXPECT_TRUE(far.get().same_bits(left));
    EXPECT_TRUE(HostTensor(w.value()).same_bits(here.model.parameter("0.weight").value()));
    EXPECT_TRUE(mine.same_bits(w.value()));
    w.bind(mistaken.tensor, Contents::of_variable);
    w.bind(HostTensor::borrow(DType::f32, {32, 2}, mine.data()), Contents::of_variable);
    EXPECT_EQ(run(there), run(here));
    EXPECT_EQ(differing(here.step.store(), there.step.store()), Names());
    EXPECT_EQ(device.wrong(), "");
  }
}

TEST(DeviceTensor, what_is_overwritten_need_not_be_read) {
  for (const bool binds : {false, true}) {
    FakeDevice device;
    Session here, there(device.backend);
    Variable w = there.model.parameter("0.weight");
    const There far(device, HostTensor(DType::f32, {32, 2}));
    const HostTensor other = Generator(7).normal({32, 2});
    w.bind(far.tensor, Contents::of_memory);
    if (binds)
      w.bind(HostTensor(other), Contents::of_memory);
    else
      w.set(other);
    EXPECT_TRUE(HostTensor(w.value()).same_bits(other));
    here.model.parameter("0.weight").set(other);
    const HostTensor x = here.data.normal({64, 2}), y = here.data.normal({64, 1});
    EXPECT_EQ(there.step.run({x, y}).loss.value(), here.step.run({x, y}).loss.value());
    EXPECT_EQ(differing(here.step.store(), there.step.store()), Names());
    // What doesn't fit loses nothing.
    EXPECT_NE(message([&] { w.set(HostTensor(DType::f32, {3})); }), "no error");
    EXPECT_TRUE(HostTensor(w.value()).same_bits(here.model.parameter("0.weight").value()));
    EXPECT_EQ(device.wrong(), "");
  }
}

TEST(DeviceTensor, variables_are_trained_in_memory_of_the_caller) {
  for (const Contents contents : {Contents::of_variable, Contents::of_memory})
    for (const bool is_used : {false, true}) {
      FakeDevice device;
      Session here, there(device.backend);
      const auto run = [](Session& s) {
        const HostTensor x = s.data.normal({64, 2}), y = s.data.normal({64, 1});
        return s.step.run({x, y}).loss.value();
      };
      if (is_used) { EXPECT_EQ(run(there), run(here)); }
      Variable w = there.model.parameter("0.weight"), near = here.model.parameter("0.weight");
      const HostTensor other = Generator(7).normal({32, 2});
      const There far(device, other);
      w.bind(far.tensor, contents);
      if (contents == Contents::of_memory) {
        near.set(other);
        if (!is_used) {
          EXPECT_EQ(
              message([&] { w.value(); }),
              "weight: its elements are in memory of cuda:0, where no program has run with it "
              "yet");
        }
        EXPECT_EQ(w.there().data(), far.tensor.data());
      }
      for (int i = 0; i < 3; ++i) EXPECT_EQ(run(there), run(here)) << i;
      EXPECT_EQ(differing(here.step.store(), there.step.store()), Names());
      EXPECT_TRUE(far.get().same_bits(near.value()));
      EXPECT_EQ(w.there().data(), far.tensor.data());
      EXPECT_EQ(w.there().type_text(), "f32[32,2]@cuda:0");
      EXPECT_TRUE(w.there().is_const());
      w.set(other);  // the host writes, too
      near.set(other);
      EXPECT_TRUE(w.there().device().is_cpu());
      EXPECT_EQ(run(there), run(here));
      EXPECT_TRUE(far.get().same_bits(near.value()));
      EXPECT_EQ(device.wrong(), "");
    }
}

TEST(DeviceTensor, memory_that_a_variable_cannot_have) {
  FakeDevice first, second(64 << 20, Device::cuda(1));
  Session s(first.backend);
  Variable w = s.model.parameter("0.weight");
  const HostTensor x(DType::f32, {32, 2});
  const There far(second, x), apart(first, x, 4),
      turned(first, HostTensor(DType::f32, {32, 2}, {1, 32}));
  const auto told = [&](const DeviceTensor& t) {
    return message([&] { w.bind(t, Contents::of_variable); });
  };
  EXPECT_EQ(told(There(first, HostTensor(DType::f32, {2})).tensor),
            "weight: bind: got memory of f32[2]@cuda:0, expected f32[32,2]");
  EXPECT_EQ(told(turned.tensor),
            "weight: bind: got memory of f32[32,2]{1,32}@cuda:0, expected f32[32,2]");
  EXPECT_EQ(told(far.tensor.as_const()), "weight: bind: the memory of f32[32,2]@cuda:1 is const");
  EXPECT_EQ(told(apart.tensor), "weight: bind: its address on cuda:0 is no multiple of 16 bytes");
  w.bind(far.tensor, Contents::of_variable);
  const HostTensor y(DType::f32, {64, 1}), in(DType::f32, {64, 2});
  EXPECT_NE(message([&] { s.step.run({in, y}); })
                .find("weight: it is bound to memory of cuda:1, and the program runs on cuda:0: "
                      "expected one device"),
            std::string::npos);
}

TEST(DeviceTensor, memory_that_is_written_is_nobody_elses) {
  FakeDevice device;
  Session here, there(device.backend);
  const HostTensor y = here.data.normal({64, 1}), start = here.data.normal({64, 2});
  // Two Variables in one place.
  const There both(device, HostTensor(DType::f32, {64}));
  const auto part = [&](int64_t at, std::vector<int64_t> shape) {
    return DeviceTensor::borrow(Device::cuda(0), DType::f32, std::move(shape), {},
                                both.block->data() + at, both.block);
  };
  there.model.parameter("0.weight").bind(part(0, {32, 2}), Contents::of_variable);
  there.model.parameter("0.bias").bind(part(128, {32}), Contents::of_variable);
  const std::string told = message([&] { there.step.run({start, y}); });
  EXPECT_NE(told.find("is updated, and its memory is also that of"), std::string::npos) << told;
  // An input in a Variable's memory is copied out of its way.
  const There wide(device, HostTensor(DType::f32, {32, 2}));
  there.model.parameter("0.weight").bind(wide.tensor, Contents::of_variable);
  const auto forward = [&](const Session& s) {
    return compile([&](const Tensor& a) { return s.model(a); }, {{"x", DType::f32, {32, 2}}},
                   {.backend = device.backend});
  };
  EXPECT_EQ(there.step.run({start, y}).loss.value(), here.step.run({start, y}).loss.value());
  CompiledFunction f = forward(there);
  EXPECT_TRUE(f.run({there.model.parameter("0.weight").there()})[0].same_bits(
      f.run({HostTensor(there.model.parameter("0.weight").value())})[0]));
  EXPECT_EQ(device.wrong(), "");
}

}  // namespace
}  // namespace cleave
