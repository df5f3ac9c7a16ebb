// The calls of a queue as one graph, by a driver without a GPU.
// tests: stream_graph.cpp
#include "backend/cuda/stream_graph.h"

#include <gtest/gtest.h>

#include "test/backend/fake/fake_driver.h"

namespace cleave::cuda {
namespace {

using test::FakeState;

TEST(StreamGraph, notes_calls_and_repeats_them) {
  const FakeState fake;
  const CudaDevicePtr device = test::fake_device();
  const int graphs = fake->graphs;
  {
    const CudaStream stream = value_or_throw(CudaStream::make(device));
    const CUdeviceptr block = value_or_throw(device->allocate(64, "x"));
    auto* const bytes = reinterpret_cast<unsigned char*>(block);
    const auto set = [&](unsigned char byte) {
      return device->driver().cuMemsetD8Async(block, byte, 1, stream.get());
    };
    void* const pointers[] = {bytes, nullptr};
    void* const others[] = {bytes, bytes};
    StreamGraph graph(device, stream.get());
    EXPECT_FALSE(graph.holds(pointers));
    EXPECT_EQ(graph.launch().failure().kind, ErrorKind::bug);

    bytes[0] = 1;
    ASSERT_TRUE(graph.begin(pointers).ok());
    EXPECT_EQ(set(2), 0);
    EXPECT_EQ(bytes[0], 1);  // noted, not run
    ASSERT_TRUE(graph.end().ok());
    EXPECT_TRUE(graph.holds(pointers));
    EXPECT_FALSE(graph.holds(others));
    EXPECT_FALSE(graph.holds(std::span(pointers).first(1)));
    for (int k = 1; k <= 2; ++k) {
      bytes[0] = 1;
      ASSERT_TRUE(graph.launch().ok());
      EXPECT_EQ(bytes[0], 2);
      EXPECT_EQ(fake->graph_launches, k);
    }

    ASSERT_TRUE(graph.begin(others).ok());  // for other pointers
    EXPECT_FALSE(graph.holds(pointers));
    EXPECT_EQ(set(3), 0);
    ASSERT_TRUE(graph.end().ok());
    EXPECT_FALSE(graph.holds(pointers));
    ASSERT_TRUE(graph.launch().ok());
    EXPECT_EQ(bytes[0], 3);
    EXPECT_EQ(set(4), 0);  // the queue runs calls again
    EXPECT_EQ(bytes[0], 4);
    device->free(block);
  }
  EXPECT_EQ(fake->graphs, graphs);
}

TEST(StreamGraph, a_call_that_cannot_be_noted) {
  const FakeState fake;
  const CudaDevicePtr device = test::fake_device();
  const CudaStream stream = value_or_throw(CudaStream::make(device));
  StreamGraph graph(device, stream.get());
  ASSERT_TRUE(graph.begin({}).ok());
  EXPECT_FALSE(stream.wait().ok());
  const Status ended = graph.end();
  ASSERT_FALSE(ended.ok());
  EXPECT_EQ(ended.failure().kind, ErrorKind::unsupported);
  EXPECT_FALSE(graph.holds({}));
  EXPECT_TRUE(stream.wait().ok());

  fake->failures["cuGraphInstantiateWithFlags"] = 801;
  const int graphs = fake->graphs;
  ASSERT_TRUE(graph.begin({}).ok());
  EXPECT_FALSE(graph.end().ok());
  EXPECT_FALSE(graph.holds({}));
  EXPECT_EQ(fake->graphs, graphs);
}

}  // namespace
}  // namespace cleave::cuda
