#include "backend/cuda/library_gemm.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <vector>

#include "backend/cuda/gemm_plan.h"
#include "library/spec.h"
#include "run/run_context.h"

namespace cleave::cuda {
namespace {

device::ProductArguments arguments_of(const GemmSpec& s) {
  return {.batch = s.batch,
          .m = s.m,
          .n = s.n,
          .k = s.k,
          .a_batch = s.a_batch,
          .a_row = s.a_row,
          .a_col = s.a_col,
          .b_batch = s.b_batch,
          .b_row = s.b_row,
          .b_col = s.b_col,
          .c_in_batch = s.c_in_batch,
          .c_in_row = s.c_in_row,
          .c_in_col = s.c_in_col,
          .c_batch = batch_of_c(s),
          .c_row = row_of_c(s),
          .alpha = s.alpha,
          .beta = s.beta,
          .scales = {{s.scales[0].row, s.scales[0].col}, {s.scales[1].row, s.scales[1].col}}};
}

std::string reader_of_b(const GemmSpec& s) {
  if (s.b_is_nibbles) return "Nibbles";
  if (s.b_packed) return "Panels";
  return fmt::format("Strided<{}>", name_of(s.b_stored.value_or(s.dtype)));
}

DeviceCall product_call(const GemmSpec& s) {
  const auto type = name_of(s.dtype);
  return {.header = "product.h",
          .function = fmt::format(
              "product<{}, {}, {}, {}, {}>", type, s.scales_sums ? name_of(DType::i32) : type,
              name_of(s.a_stored.value_or(s.dtype)), reader_of_b(s),
              s.scales_sums ? std::string("ScaleSum") : fmt::format("AddCIn<{}>", type)),
          .parameters = {"ProductArguments", "const void*", "const void*", "const void*",
                         "const float*", "const float*", "void*"}};
}
DeviceCall copy_call(DType from, DType to) {
  return {.header = "copy.h",
          .function = fmt::format("copy_matrix<{}, {}>", name_of(to), name_of(from)),
          .parameters = {"CopyArguments", "const void*", "void*"}};
}
DeviceCall unpack_call(const GemmSpec& s) {
  return {.header = "copy.h",
          .function = fmt::format("unpack_matrix<{}, {}>", name_of(s.dtype), reader_of_b(s)),
          .parameters = {"ProductArguments", "const void*", "void*"}};
}

Status check(const GemmSpec& s) {
  if (!is_floating(s.dtype) && !is_integer(s.dtype))
    return unsupported("gemm: products of {} are not covered (src/backend/cuda/library_gemm.h)",
                       name_of(s.dtype));
  const auto is_i8 = [](const std::optional<DType>& t) { return t == DType::i8; };
  if (s.scales_sums && !(s.dtype == DType::f32 && is_i8(s.a_stored) && is_i8(s.b_stored)))
    return bug("gemm: scaled sums in {} of other operands than i8", name_of(s.dtype));
  if (s.b_is_nibbles &&
      (!is_floating(s.dtype) || s.dtype == DType::f64 || s.batch != 1 || s.k % 2 != 0))
    return bug("gemm: a product of {}, batch {}, k {} with numbers of four bits", name_of(s.dtype),
               s.batch, s.k);
  if (s.b_packed &&
      (s.dtype != DType::f32 || s.b_stored || s.scales_sums || s.b_is_nibbles || s.batch != 1))
    return bug("gemm: a product of {}, batch {} with a packed matrix", name_of(s.dtype), s.batch);
  if (s.c_row != 0 && s.c_row < s.n)
    return bug("gemm: rows of {} columns are {} apart", s.n, s.c_row);
  if (s.batch < 0 || s.m < 0 || s.n < 0 || s.k < 0)
    return bug("gemm: dimensions [{}, {}, {}, {}] below 0", s.batch, s.m, s.n, s.k);
  for (const std::optional<DType>& stored : {s.a_stored, s.b_stored})
    if (stored && !gemm_reads_as(*stored, s.dtype))
      return bug("gemm: products of {} with operands in {}", name_of(s.dtype), name_of(*stored));
  return {};
}

// By the kernel of our own.
class PlainGemm final : public LibraryFunction {
 public:
  PlainGemm(const GemmSpec& spec, DeviceKernelPtr kernel)
      : arguments_(arguments_of(spec)), kernel_(std::move(kernel)) {}
  static Result<std::shared_ptr<const PlainGemm>> make(const GemmSpec& s,
                                                       const LibraryDevice& device) {
    CLEAVE_TRY(DeviceKernelPtr kernel, device.kernel(product_call(s)));
    return std::make_shared<const PlainGemm>(s, std::move(kernel));
  }

  int64_t scratch_bytes() const override { return 0; }
  void call(void* const* at, void*, const RunContext& context) const override {
    constexpr int64_t tile = 64;  // device/product.h
    const auto& p = arguments_;
    const int64_t blocks = p.batch * ((p.m + tile - 1) / tile) * ((p.n + tile - 1) / tile);
    using At = GemmOperand;
    launch(*kernel_, blocks, context.queue, arguments_, at[At::a], at[At::b], at[At::c_in],
           at[At::scale], at[At::other_scale], at[At::c]);
  }

 private:
  const device::ProductArguments arguments_;
  const DeviceKernelPtr kernel_;
};

// By cuBLASLt, after copies.
class CublasGemm final : public LibraryFunction {
 public:
  static Result<LibraryFunctionPtr> make(const GemmSpec& s, const GemmPlan& plan,
                                         const LibraryDevicePtr& device, int answer) {
    auto made = std::make_shared<CublasGemm>(s, plan, device, answer);
    const auto copied = [&](const GemmPlan::Copy& copy) {
      return device->kernel(copy_call(copy.from, copy.dtype));
    };
    if (plan.a) { CLEAVE_TRY(made->copy_a_, copied(*plan.a)); }
    if (plan.b) {
      CLEAVE_TRY(made->copy_b_,
                 made->unpacks_b() ? device->kernel(unpack_call(s)) : copied(*plan.b));
    }
    if (plan.c_in == GemmPlan::CIn::placed) {
      CLEAVE_TRY(made->place_c_in_, device->kernel(copy_call(s.dtype, s.dtype)));
    }
    return LibraryFunctionPtr(std::move(made));
  }
  CublasGemm(const GemmSpec& s, const GemmPlan& plan, const LibraryDevicePtr& device, int answer)
      : spec_(s), plan_(plan), device_(device), answer_(answer) {}

  int64_t scratch_bytes() const override { return plan_.scratch_bytes; }
  void call(void* const* at, void* scratch, const RunContext& context) const override {
    using At = GemmOperand;
    using CIn = GemmPlan::CIn;
    const CublasProductCall* product = this->product();
    if (product == nullptr) return plain().call(at, scratch, context);
    scratch = aligned(scratch);
    void* queue = context.queue;
    const void *a = at[At::a], *b = at[At::b], *c_in = at[At::c_in];
    void* c = at[At::c];
    if (plan_.a) a = copied(*copy_a_, *plan_.a, a, scratch, queue);
    if (plan_.b && unpacks_b()) {
      void* to = static_cast<char*>(scratch) + plan_.b->offset;
      launch(*copy_b_, blocks_for(spec_.k * spec_.n), queue, arguments_of(spec_), b, to);
      b = to;
    } else if (plan_.b) {
      b = copied(*copy_b_, *plan_.b, b, scratch, queue);
    }
    if (plan_.c_in == CIn::placed) {
      const device::CopyArguments& p = plan_.placed;
      launch(*place_c_in_, blocks_for(p.batch * p.rows * p.columns), queue, p, c_in, c);
    }
    if (!product->run(b, a, plan_.c_in == CIn::direct ? c_in : c, c,
                      plan_.c_in == CIn::bias ? c_in : nullptr, scratch, queue))
      plain().call(at, scratch, context);
  }

 private:
  static void* aligned(void* scratch) {
    const auto at = reinterpret_cast<uintptr_t>(scratch);
    return static_cast<char*>(scratch) +
           (workspace_alignment - at % workspace_alignment) % workspace_alignment;
  }
  bool unpacks_b() const { return spec_.b_is_nibbles || spec_.b_packed; }
  static const void* copied(const DeviceKernel& kernel, const GemmPlan::Copy& copy,
                            const void* from, void* scratch, void* queue) {
    void* to = static_cast<char*>(scratch) + copy.offset;
    launch(kernel, blocks_for(copy.at.batch * copy.at.rows * copy.at.columns), queue, copy.at, from,
           to);
    return to;
  }
  // Null where cuBLASLt isn't installed.
  const CublasProductCall* product() const {
    const std::lock_guard lock(mutex_);
    if (!product_)
      if (auto cublas = device_->cublas())
        product_ = std::make_unique<CublasProductCall>(plan_.product, std::move(cublas), answer_);
    return product_.get();
  }
  // For what cuBLASLt refuses, which it says where a device is there.
  const PlainGemm& plain() const {
    const std::lock_guard lock(mutex_);
    if (!plain_) plain_ = value_or_bug(PlainGemm::make(spec_, *device_));
    return *plain_;
  }

  const GemmSpec spec_;
  const GemmPlan plan_;
  const LibraryDevicePtr device_;
  const int answer_;
  DeviceKernelPtr copy_a_, copy_b_, place_c_in_;
  mutable std::mutex mutex_;
  mutable std::unique_ptr<const CublasProductCall> product_;
  mutable std::shared_ptr<const PlainGemm> plain_;
};

// By several products, one after the other.
class GemmInParts final : public LibraryFunction {
 public:
  void add(const GemmPart& part, LibraryFunctionPtr function) {
    scratch_bytes_ = std::max(scratch_bytes_, function->scratch_bytes());
    parts_.push_back({part, std::move(function)});
  }

  int64_t scratch_bytes() const override { return scratch_bytes_; }
  void call(void* const* at, void* scratch, const RunContext& context) const override {
    using At = GemmOperand;
    for (const auto& [part, function] : parts_) {
      const GemmSpec& s = part.spec;
      std::array<void*, max_library_operands> own{};
      const auto set = [&](size_t position, size_t from, int64_t elements, DType dtype) {
        own[position] = static_cast<char*>(at[from]) + elements * size_of(dtype);
      };
      set(At::a, At::a, part.a, s.a_stored.value_or(s.dtype));
      set(At::b, At::b, part.b, s.b_stored.value_or(s.dtype));
      set(At::c, At::c, part.c, s.dtype);
      if (s.has_c_in) set(At::c_in, part.adds ? At::c : At::c_in, part.c_in, s.dtype);
      function->call(own.data(), scratch, context);
    }
  }

 private:
  std::vector<std::pair<GemmPart, LibraryFunctionPtr>> parts_;
  int64_t scratch_bytes_ = 0;
};

class NoGemm final : public LibraryFunction {
  int64_t scratch_bytes() const override { return 0; }
  void call(void* const*, void*, const RunContext&) const override {}
};

}  // namespace

Result<LibraryFunctionPtr> make_gemm(const GemmSpec& s, const LibraryDevicePtr& device,
                                     const Answers& answers, const GemmPartLimits& limits) {
  CLEAVE_CHECK(check(s));
  if (s.batch == 0 || s.m == 0 || s.n == 0) return LibraryFunctionPtr(std::make_shared<NoGemm>());
  if (const std::vector<GemmPart> parts = parts_of(s, limits); parts.size() > 1) {
    constexpr GemmPartLimits whole{.flops = std::numeric_limits<int64_t>::max()};
    auto made = std::make_shared<GemmInParts>();
    for (const GemmPart& part : parts) {
      CLEAVE_TRY(LibraryFunctionPtr function, make_gemm(part.spec, device, answers, whole));
      made->add(part, std::move(function));
    }
    return LibraryFunctionPtr(std::move(made));
  }
  if (const auto plan = plan_gemm(s)) {
    const auto answer = answers.find(answer_name(plan->product));
    return CublasGemm::make(s, *plan, device, answer == answers.end() ? 0 : answer->second);
  }
  CLEAVE_TRY(auto plain, PlainGemm::make(s, *device));
  return LibraryFunctionPtr(std::move(plain));
}

}  // namespace cleave::cuda
