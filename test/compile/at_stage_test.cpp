// What a stage throws is a failure that names it.
#include "compile/at_stage.h"

#include <gtest/gtest.h>

namespace cleave {
namespace {

template <class Throw>
Failure failure_of(const Throw& thrown) {
  const Result<int> r = at_stage(Stage::lower, [&]() -> Result<int> { return thrown(); });
  EXPECT_FALSE(r.ok());
  return r.ok() ? Failure{} : r.failure();
}

TEST(AtStage, a_broken_invariant_is_a_bug) {
  const Failure f = failure_of([]() -> int { throw_bug("%{} is read before it is made", "x"); });
  EXPECT_EQ(f.kind, ErrorKind::bug);
  EXPECT_EQ(f.message, "stage lower: %x is read before it is made");
  const Failure other = failure_of([] { return value_or_bug(Result<int>(user_error("no"))); });
  EXPECT_EQ(other.kind, ErrorKind::bug);
  EXPECT_EQ(other.message, "stage lower: no");
}

TEST(AtStage, memory_that_is_refused_is_an_error_of_the_user) {
  const Failure f = failure_of([]() -> int { throw std::bad_alloc(); });
  EXPECT_EQ(f.kind, ErrorKind::user);
  EXPECT_EQ(f.message, "stage lower: the system has not enough memory for this");
}

TEST(AtStage, what_a_library_throws_is_a_bug) {
  const Failure f = failure_of([] { return std::vector<int>().at(0); });
  EXPECT_EQ(f.kind, ErrorKind::bug);
  EXPECT_TRUE(f.message.starts_with("stage lower: ")) << f.message;
}

TEST(AtStage, values_and_failures_are_left_as_they_are) {
  EXPECT_EQ(*at_stage(Stage::fuse, [] { return Result<int>(3); }), 3);
  const Status s = at_stage(Stage::fuse, []() -> Status { return unsupported("no kernel"); });
  EXPECT_EQ(s.failure().kind, ErrorKind::unsupported);
  EXPECT_EQ(s.failure().message, "no kernel");
}

}  // namespace
}  // namespace cleave
