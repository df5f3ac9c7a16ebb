#include "runtime/sort.h"

#include "runtime/lane_count.h"
#include "runtime/run_lanes.h"
#include "runtime/sort_first.h"
#include "runtime/sort_lines.h"

namespace cleave::runtime {
namespace {

// Elements of a type as bits, and their keys.
template <class Bits_, class Key_, Bits_ (*key)(Bits_)>
struct ElementOf {
  using Bits = Bits_;
  using Key = Key_;
  static Key_ key_of(Bits_ x) { return key(x); }
};
template <class Bits>
Bits same(Bits x) {
  return x;
}
template <class Bits, Bits infinity>
Bits floating(Bits x) {
  return key_of_floating(x, infinity);
}
using Byte = ElementOf<uint8_t, uint32_t, same<uint8_t>>;
using I8 = ElementOf<uint8_t, uint32_t, key_of_signed<uint8_t>>;
using I16 = ElementOf<uint16_t, uint32_t, key_of_signed<uint16_t>>;
using I32 = ElementOf<uint32_t, uint32_t, key_of_signed<uint32_t>>;
using I64 = ElementOf<uint64_t, uint64_t, key_of_signed<uint64_t>>;
using Bf16Bits = ElementOf<uint16_t, uint32_t, floating<uint16_t, 0x7f80>>;
using F16Bits = ElementOf<uint16_t, uint32_t, floating<uint16_t, 0x7c00>>;
using F32Bits = ElementOf<uint32_t, uint32_t, floating<uint32_t, 0x7f800000>>;
using F64Bits = ElementOf<uint64_t, uint64_t, floating<uint64_t, 0x7ff0000000000000>>;

// All elements of lines.
template <class Element>
class SortAll final : public SortLines<Element> {
  using Base = SortLines<Element>;
  using Base::s_;
  using typename Base::Key;
  using typename Base::Line;
  using typename Base::T;

 public:
  explicit SortAll(const SortSpec& spec) : Base(spec) {
    is_long_ = s_.length > sort_chunk;
    per_piece_ = std::clamp<int64_t>(sort_chunk / 2 / s_.length, 1, this->lines());
    pieces_ = is_long_ ? ceil_div(s_.length, sort_chunk) : ceil_div(this->lines(), per_piece_);
    const int64_t at_once = is_long_ ? s_.length : this->lines() * s_.length;
    lanes_ = lanes_for(sort_cycles * static_cast<double>(at_once), pieces_);
  }

  int64_t scratch_bytes() const override {
    const int64_t items = 2 * s_.length * (is_long_ ? 1 : lanes_);
    return ceil_div(items * int64_t{sizeof(T)}, 64) * 64;
  }

  void call(void* const* at, void* scratch, const RunContext& context) const override {
    T* items = static_cast<T*>(scratch);
    for (int64_t i = 0; is_long_ && i < this->lines(); ++i)
      sort_long(this->line(at, i), items, context.executor);
    if (is_long_) return;
    run_lanes(lanes_, pieces_, context.executor, [&](long lane, long piece) {
      const int64_t end = std::min((piece + 1) * per_piece_, this->lines());
      for (int64_t i = piece * per_piece_; i < end; ++i)
        sort_short(this->line(at, i), items + lane * 2 * s_.length);
    });
  }

 private:
  static constexpr int64_t ceil_div(int64_t a, int64_t b) { return (a + b - 1) / b; }

  void read(const Line& l, int64_t begin, int64_t end, T* items) const {
    for (int64_t i = begin; i < end; ++i) items[i] = item_of<Key>(this->key(l, i), i);
  }

  void sort_short(const Line& l, T* items) const {
    read(l, 0, s_.length, items);
    const T* sorted = sorted_items<Key>(items, items + s_.length, s_.length);
    this->write(l, sorted, 0, s_.count);
  }

  void sort_long(const Line& l, T* items, Executor& executor) const {
    T* other = items + s_.length;
    const auto each_chunk = [&](const auto& f) {
      run_lanes(lanes_, pieces_, executor, [&](long, long piece) {
        f(piece * sort_chunk, std::min((piece + 1) * sort_chunk, s_.length));
      });
    };
    each_chunk([&](int64_t begin, int64_t end) {
      read(l, begin, end, items);
      const T* result = sorted_items<Key>(items + begin, other + begin, end - begin);
      if (result != items + begin) std::copy_n(result, end - begin, items + begin);
    });
    for (int64_t run = sort_chunk; run < s_.length; run *= 2) {
      each_chunk([&](int64_t begin, int64_t end) {
        const int64_t a = begin / (2 * run) * (2 * run), b = std::min(a + run, s_.length);
        merge_part(items + a, b - a, items + b, std::min(b + run, s_.length) - b, begin - a,
                   end - a, other + a);
      });
      std::swap(items, other);
    }
    each_chunk(
        [&](int64_t begin, int64_t end) { this->write(l, items, begin, std::min(end, s_.count)); });
  }

  bool is_long_ = false;
  int64_t per_piece_ = 1, pieces_ = 0, lanes_ = 0;
};

// Where there is nothing to do.
class SortNothing final : public LibraryFunction {
  int64_t scratch_bytes() const override { return 0; }
  void call(void* const*, void*, const RunContext&) const override {}
};

}  // namespace

Result<LibraryFunctionPtr> make_sort(const SortSpec& s) {
  if (s.outer < 0 || s.length < 0 || s.inner < 0 || s.count < 0 || s.count > s.length)
    return bug("sort: {} of {} lines of {}", s.count, s.outer * s.inner, s.length);
  if (s.length > int64_t{1} << 32)
    return unsupported("sort: a line of {} elements, expected at most 2^32", s.length);
  const auto made = [&]<class Element>(Element) -> LibraryFunctionPtr {
    if (s.outer * s.inner * s.count == 0) return std::make_shared<SortNothing>();
    if (s.count < s.length / 4) return std::make_shared<SortFirst<Element>>(s);
    return std::make_shared<SortAll<Element>>(s);
  };
  switch (s.dtype) {
    case DType::f64: return made(F64Bits{});
    case DType::f32: return made(F32Bits{});
    case DType::bf16: return made(Bf16Bits{});
    case DType::f16: return made(F16Bits{});
    case DType::i64: return made(I64{});
    case DType::i32: return made(I32{});
    case DType::i16: return made(I16{});
    case DType::i8: return made(I8{});
    case DType::u8:
    case DType::boolean: return made(Byte{});
    case DType::c64: break;
  }
  return unsupported("sort: {} has no order", name_of(s.dtype));
}

}  // namespace cleave::runtime
