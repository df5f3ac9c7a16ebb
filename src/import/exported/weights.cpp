#include "import/exported/weights.h"

#include <algorithm>
#include <cstring>

#include "base/printable.h"
#include "import/exported/types.h"

namespace cleave::exported {
namespace {

// Of a complex tensor in parts, with a dim more.
struct Layout {
  std::vector<int64_t> sizes, strides;
  int64_t offset = 0, numel = 1;
  int64_t end = 0;  // the element behind the last one
};

Result<int64_t> natural(const SymValue& v, std::string_view what) {
  if (!v.number) return user_error("{}: an expression in the place of a number", what);
  if (*v.number < 0) return user_error("{}: {} is negative", what, *v.number);
  return *v.number;
}

Result<Layout> layout_of(const TensorMeta& m) {
  Layout l;
  if (m.sizes.size() != m.strides.size())
    return user_error("{} sizes and {} strides", m.sizes.size(), m.strides.size());
  CLEAVE_TRY(l.offset, natural(m.offset, "storage_offset"));
  int64_t last = l.offset;
  bool fits = true;
  for (size_t k = 0; k < m.sizes.size(); ++k) {
    CLEAVE_TRY(const int64_t size, natural(m.sizes[k], "sizes"));
    CLEAVE_TRY(const int64_t stride, natural(m.strides[k], "strides"));
    l.sizes.push_back(size);
    l.strides.push_back(stride);
    int64_t reach = 0;
    fits = fits && !__builtin_mul_overflow(std::max<int64_t>(size - 1, 0), stride, &reach) &&
           !__builtin_add_overflow(last, reach, &last) &&
           !__builtin_mul_overflow(l.numel, std::max<int64_t>(size, 1), &l.numel);
  }
  if (!fits || last == INT64_MAX) return user_error("sizes: they reach beyond 63 bits");
  if (m.is_complex) {
    fits = !__builtin_mul_overflow(l.offset, 2, &l.offset) &&
           !__builtin_mul_overflow(last, 2, &last) && !__builtin_mul_overflow(l.numel, 2, &l.numel);
    for (int64_t& stride : l.strides) fits = fits && !__builtin_mul_overflow(stride, 2, &stride);
    l.sizes.push_back(2);
    l.strides.push_back(1);
    fits = fits && !__builtin_add_overflow(last, 1, &last);
    if (!fits || last == INT64_MAX) return user_error("sizes: they reach beyond 63 bits");
  }
  if (std::ranges::find(l.sizes, 0) != l.sizes.end()) l.numel = 0;
  l.end = l.numel == 0 ? l.offset : last + 1;
  return l;
}

// Copies the elements in row-major order.
void gather(const Layout& l, size_t element, const std::byte* from, std::byte* to) {
  const size_t rank = l.sizes.size();
  std::vector<int64_t> index(rank);
  int64_t at = l.offset;
  const bool dense_rows = rank > 0 && l.strides[rank - 1] == 1;
  const int64_t run = dense_rows ? l.sizes[rank - 1] : 1;
  for (int64_t done = 0; done < l.numel; done += run) {
    std::memcpy(to, from + static_cast<size_t>(at) * element, static_cast<size_t>(run) * element);
    to += static_cast<size_t>(run) * element;
    for (size_t d = dense_rows ? rank - 1 : rank; d-- > 0;) {
      at += l.strides[d];
      if (++index[d] < l.sizes[d]) break;
      at -= l.strides[d] * l.sizes[d];
      index[d] = 0;
    }
  }
}

bool same_place(const Payload& a, const Payload& b) {
  const auto same = [](const std::vector<SymValue>& x, const std::vector<SymValue>& y) {
    return std::ranges::equal(
        x, y, [](const SymValue& p, const SymValue& q) { return p.number == q.number; });
  };
  return a.archive == b.archive && a.file == b.file && a.meta.dtype == b.meta.dtype &&
         a.meta.is_complex == b.meta.is_complex && same(a.meta.sizes, b.meta.sizes) &&
         same(a.meta.strides, b.meta.strides) && a.meta.offset.number == b.meta.offset.number;
}

}  // namespace

std::map<std::string, std::string> ties_of(const Payloads& tensors) {
  std::map<std::string, std::string> out;
  std::multimap<std::string, std::string> by_file;  // the first name of each tensor in it
  for (const auto& [name, payload] : tensors) {
    out[name] = name;
    const auto [begin, end] = by_file.equal_range(payload.file);
    const auto tied = std::find_if(begin, end, [&](const auto& other) {
      return same_place(tensors.at(other.second), payload);
    });
    if (tied != end)
      out[name] = tied->second;
    else
      by_file.emplace(payload.file, name);
  }
  return out;
}

bool overlap(const Payload& a, const Payload& b) {
  if (a.file != b.file || a.archive != b.archive) return false;
  const Result<Layout> x = layout_of(a.meta), y = layout_of(b.meta);
  if (!x.ok() || !y.ok()) return true;
  if (a.meta.dtype != b.meta.dtype) return true;  // the places of parts are counted alike
  return x->offset < y->end && y->offset < x->end;
}

Result<HostTensor> read_tensor(const ZipArchive& model, const Payload& payload) {
  const ZipArchive& zip = payload.archive ? *payload.archive : model;
  const auto in_file = [&](Failure f) { return std::move(f).within(printable(payload.file)); };
  if (!payload.meta.foreign_dtype.empty())
    return in_file(unsupported("the dtype {}", payload.meta.foreign_dtype));
  Result<Layout> layout = layout_of(payload.meta);
  if (!layout.ok()) return in_file(std::move(layout).failure());
  const ZipArchive::Entry* entry = zip.find(payload.file);
  if (!entry) return in_file(user_error("there is no such file in the archive"));
  const auto element = static_cast<int64_t>(size_of(payload.meta.dtype));
  const int64_t held = static_cast<int64_t>(entry->bytes) / element;
  if (layout->end > held)
    return in_file(
        user_error("a tensor reaches to element {}, and the file holds {}", layout->end, held));
  if (layout->numel > few_bytes / element && layout->numel / most_repeated > held)
    return in_file(user_error("a tensor of {} elements of {}", layout->numel, held));
  CLEAVE_TRY(const std::vector<std::byte> bytes, zip.read(*entry));
  HostTensor t(payload.meta.dtype, layout->sizes);
  gather(*layout, static_cast<size_t>(element), bytes.data(), static_cast<std::byte*>(t.data()));
  return t;
}

}  // namespace cleave::exported
