// Each kind of failure, from where it occurs to the host program.
#include <gtest/gtest.h>

#include "base/target.h"
#include "cleave/cleave.h"
#include "test/targets.h"

namespace cleave {
namespace {

const std::vector<InputSpec> input = {{"x", DType::f32, {64, 64}}};

Tensor twice(const Tensor& x) { return mm(exp(x), x); }

// "kind: message" of what a call throws.
template <class Call>
std::string thrown(const Call& call) {
  try {
    call();
  } catch (const Error& e) {
    const char* kind = e.kind() == ErrorKind::user          ? "user"
                       : e.kind() == ErrorKind::unsupported ? "unsupported"
                                                            : "bug";
    return std::string(kind) + ": " + e.what();
  } catch (const std::exception& e) { return std::string("another: ") + e.what(); }
  return "nothing";
}

#define EXPECT_PART(text, part) EXPECT_NE((text).find(part), std::string::npos) << (text)

// An executor that fails wherever it is asked for: stages of code that compile kernels ask it.
template <class Thrown>
struct Failing : Executor {
  int threads() const override { return 1; }
  void parallel_for(long, void (*)(void*, long), void*) override { throw Thrown("no more"); }
};
struct NoMemory : std::bad_alloc {
  explicit NoMemory(const char*) {}
};

template <class Thrown>
std::string compiled_on_failing() {
  const auto executor = std::make_shared<Failing<Thrown>>();
  return thrown([&] { compile(twice, input, {.executor = executor}); });
}

TEST(ErrorKind, memory_that_a_compilation_is_refused) {
  const std::string text = compiled_on_failing<NoMemory>();
  EXPECT_EQ(text.rfind("user: " __FILE__, 0), 0U) << text;
  EXPECT_PART(text, "stage build: the system has not enough memory for this");
}

TEST(ErrorKind, memory_that_tensors_and_arenas_are_refused) {
  const int64_t many = int64_t{1} << 45;  // more bytes than addresses
  EXPECT_PART(thrown([&] { HostTensor(DType::f32, {many}); }), "user: HostTensor: memory: ");
  EXPECT_PART(thrown([&] {
                compile([](const Tensor& x) { return relu(x); }, {{"x", DType::f32, {many}}},
                        {.compiler = CompilerChoice::none});
              }),
              "user: " __FILE__);
}

TEST(ErrorKind, a_defect_within_a_stage) {
  const std::string text = compiled_on_failing<std::logic_error>();
  EXPECT_EQ(text.rfind("bug: " __FILE__, 0), 0U) << text;
  EXPECT_PART(text, "stage build: no more");
}

TEST(ErrorKind, what_is_not_covered) {
  const Target foreign = test::foreign_target();
  const std::string text = thrown([&] { compile(twice, input, {.target = foreign}); });
  EXPECT_EQ(text.rfind("unsupported: ", 0), 0U) << text;
  EXPECT_PART(text, fmt::format("target {}: what compiles kernels here makes code of {} alone",
                                foreign.text(), architecture_of(Target::here().set)));
}

TEST(ErrorKind, what_the_caller_did_wrong) {
  EXPECT_PART(thrown([&] { compile(twice, input, {.threads = -1}); }),
              "compile: threads is -1, expected 0 or more");
  EXPECT_PART(thrown([&] {
                compile([](const Tensor& x) { return mm(x, x); }, {{"x", DType::f32, {2, 3}}});
              }),
              "user: " __FILE__);
  EXPECT_PART(thrown([&] { compile(twice, {{"x", DType::f32, {-2, 2}}}); }), "user: " __FILE__);
  EXPECT_PART(thrown([&] { train_step(nn::Module(), twice, optim::SGD({}), input); }),
              "user: " __FILE__);
}

// What the traced function throws is the caller's own.
TEST(ErrorKind, what_the_function_throws_passes) {
  EXPECT_EQ(thrown([&] {
              compile([](const Tensor&) -> Tensor { throw std::runtime_error("mine"); }, input);
            }),
            "another: mine");
}

}  // namespace
}  // namespace cleave
