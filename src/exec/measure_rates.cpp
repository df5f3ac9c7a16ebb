#include "exec/measure_rates.h"

#include <unistd.h>

#include <chrono>

#include "base/alignment.h"
#include "base/target.h"
#include "exec/executable.h"
#include "ir/strides.h"
#include "ir/text.h"
#include "runtime/ceilings.h"

namespace cleave {
namespace {

constexpr int64_t enough_ns = 300'000'000;  // of runs of one program
constexpr int chain = 128;                  // operations on each element
constexpr int calls = 32;                   // unfused, each reads the result of the one before
constexpr double min_call_ns = 10;          // less is noise

int64_t second_level_cache() {
  const long bytes = sysconf(_SC_LEVEL2_CACHE_SIZE);
  return bytes > 0 ? bytes : static_cast<int64_t>(MachineRates().cache_bytes);
}

double three_digits(double x) { return std::stod(fmt::format("{:.3g}", x)); }

std::string wrapped(int64_t elements, const std::string& body, const std::string& last) {
  return fmt::format("graph @main(%x0: input f32[{}]) {{\n{}  return %{}\n}}\n", elements, body,
                     last);
}

// A chain of alternating multiplications and additions.
std::string chain_of(int64_t elements, int length) {
  std::string body;
  for (int k = 1; k <= length; ++k)
    body += k % 2 != 0 ? fmt::format("  %x{} = mul(%x{}; other=0.75)\n", k, k - 1)
                       : fmt::format("  %x{} = add(%x{}; other=0.25)\n", k, k - 1);
  return wrapped(elements, body, fmt::format("x{}", length));
}

class Meter {
 public:
  Meter(const OpRegistry& ops, const Target& target, std::shared_ptr<Executor> executor)
      : ops_(ops), target_(target), executor_(std::move(executor)) {}

  // The shortest time of a run in ns. No pass rewrites the graph.
  Result<double> ns(const std::string& text, bool fuse) const {
    CLEAVE_TRY(const Program parsed, parse(text, "rates", ops_));
    StageOptions options;
    options.target = target_;
    options.executor = executor_;
    options.passes_off = {"all"};
    options.fuse = fuse;
    CLEAVE_TRY(auto program, CompiledProgram::compile(parsed.main, ops_, options));
    CLEAVE_TRY(auto instance, Instance::make(program, executor_));
    const Type& type = parsed.main.type(parsed.main.placeholders()[0].value);
    std::vector<float> memory(static_cast<size_t>(type.numel().value()), 0.5f);
    CLEAVE_CHECK(instance->bind(0, std::span(memory)));
    CLEAVE_CHECK(instance->run());
    double best = 1e300;
    for (double sum = 0; sum < enough_ns;) {
      const auto begin = std::chrono::steady_clock::now();
      CLEAVE_CHECK(instance->run());
      const std::chrono::duration<double, std::nano> took =
          std::chrono::steady_clock::now() - begin;
      best = std::min(best, took.count());
      sum += took.count();
    }
    return best;
  }

 private:
  const OpRegistry& ops_;
  const Target target_;
  const std::shared_ptr<Executor> executor_;
};

}  // namespace

Result<MachineRates> measure_rates(const OpRegistry& ops, const Target& target,
                                   std::shared_ptr<Executor> executor) {
  CLEAVE_CHECK(check_runs_here(target));
  const Meter meter(ops, target, executor);
  const int64_t cache = second_level_cache();
  // Operand and result together take half of the second-level caches.
  const int64_t elements = executor->threads() * cache / 16;
  MachineRates out;
  out.product_gflops = runtime::product_flops_per_us(*executor, DType::f32, target) / 1e3;
  out.half_product_gflops = runtime::product_flops_per_us(*executor, DType::bf16, target) / 1e3;
  if (out.half_product_gflops == 0) out.half_product_gflops = out.product_gflops;
  out.memory_gigabytes = runtime::copy_bytes_per_us(*executor) / 1e3;
  CLEAVE_TRY(const double chain_ns, meter.ns(chain_of(elements, chain), true));
  out.pointwise_gflops = static_cast<double>(elements) * chain / chain_ns;
  // A kernel of n elements takes call_ns + 8 n / cache_gigabytes.
  CLEAVE_TRY(const double whole_ns, meter.ns(chain_of(elements, calls), false));
  CLEAVE_TRY(const double half_ns, meter.ns(chain_of(elements / 2, calls), false));
  out.cache_gigabytes =
      static_cast<double>(elements) * 4 * calls / std::max(whole_ns - half_ns, 1.0);
  out.call_ns = std::max((2 * half_ns - whole_ns) / calls, min_call_ns);
  for (double* rate : {&out.product_gflops, &out.half_product_gflops, &out.memory_gigabytes,
                       &out.pointwise_gflops, &out.cache_gigabytes, &out.call_ns})
    *rate = three_digits(*rate);
  out.cache_bytes = static_cast<double>(cache);
  return out;
}

}  // namespace cleave
