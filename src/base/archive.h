// Values as bytes and back, by one list of fields for both ways.
//
//   struct Range { int64_t first, last; std::string name; };
//   template <class A>
//   void archive(A& a, Is<Range> auto& r) {
//     auto& [first, last, name] = r;   // a new field doesn't compile until it is listed
//     a(first, last, name);
//   }
//
//   ArchiveWriter out;  out(range);  write(out.bytes());
//   ArchiveReader in(bytes);  in(range);  if (!in.is_complete()) ...
//
// Whole numbers take a byte for each 7 bits that they need, floating ones have the layout of this
// processor; strings and lists are their length and their elements.
// What is read may be anything: no read goes beyond the end, no list is longer than the bytes that
// are left, and from the first thing that doesn't fit on, all values are zero.
#pragma once
#include <array>
#include <concepts>
#include <cstddef>
#include <cstring>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace cleave {

template <class T, class U>
concept Is = std::same_as<std::remove_const_t<T>, U>;

template <class T>
concept ArchivedAsDigits = std::integral<T> && sizeof(T) > 1;
template <class T>
concept ArchivedAsBytes = (std::is_arithmetic_v<T> || std::is_enum_v<T>) && !ArchivedAsDigits<T>;

class ArchiveWriter {
 public:
  static constexpr bool reads = false;
  template <class... T>
  void operator()(const T&... values) {
    (put(values), ...);
  }
  const std::string& bytes() const { return bytes_; }

 private:
  template <ArchivedAsDigits T>
  void put(const T& x) {
    auto left = static_cast<uint64_t>(x);
    if constexpr (std::is_signed_v<T>)  // 0, -1, 1, -2, ...
      left = (left << 1) ^ (x < 0 ? ~uint64_t{0} : 0);
    for (; left >= 128; left >>= 7) bytes_ += static_cast<char>(left | 128);
    bytes_ += static_cast<char>(left);
  }
  template <ArchivedAsBytes T>
  void put(const T& x) {
    char raw[sizeof(T)];
    std::memcpy(raw, &x, sizeof(T));
    bytes_.append(raw, sizeof(T));
  }
  void put(const std::string& s) {
    put(s.size());
    bytes_ += s;
  }
  template <class T>
  void put(const std::vector<T>& list) {
    put(list.size());
    for (const T& x : list) put(x);
  }
  template <class T, size_t n>
  void put(const std::array<T, n>& list) {
    for (const T& x : list) put(x);
  }
  template <class T>
  void put(const std::optional<T>& x) {
    put(x.has_value());
    if (x) put(*x);
  }
  template <class A, class B>
  void put(const std::pair<A, B>& x) {
    (*this)(x.first, x.second);
  }
  template <class K, class V>
  void put(const std::map<K, V>& map) {
    put(map.size());
    for (const auto& entry : map) put(entry);
  }
  template <class... T>
  void put(const std::variant<T...>& x) {
    put(static_cast<uint8_t>(x.index()));
    std::visit([this](const auto& v) { this->put(v); }, x);
  }
  template <class T>
    requires std::is_class_v<T>
  void put(const T& x) {
    archive(*this, x);
  }

  std::string bytes_;
};

class ArchiveReader {
 public:
  static constexpr bool reads = true;
  explicit ArchiveReader(std::span<const std::byte> bytes) : left_(bytes) {}
  template <class... T>
  void operator()(T&... values) {
    (get(values), ...);
  }
  // Whether all values were there, and nothing else.
  bool is_complete() const { return !failed_ && left_.empty(); }
  // For rules that find a value which can't be.
  void fail() {
    failed_ = true;
    left_ = {};
  }

 private:
  template <ArchivedAsDigits T>
  void get(T& x) {
    x = T{};
    uint64_t digits = 0;
    for (unsigned shift = 0;; shift += 7) {
      if (left_.empty()) return fail();
      const auto next = std::to_integer<uint64_t>(left_[0]);
      left_ = left_.subspan(1);
      if ((shift > 0 && next == 0) || (shift == 63 && next > 1))
        return fail();  // none, or too many
      digits |= (next & 127) << shift;
      if (next < 128) break;
    }
    if constexpr (std::is_signed_v<T>) digits = (digits >> 1) ^ (~(digits & 1) + 1);
    if (static_cast<uint64_t>(static_cast<T>(digits)) != digits) return fail();
    x = static_cast<T>(digits);
  }
  template <ArchivedAsBytes T>
  void get(T& x) {
    x = T{};
    if (left_.size() < sizeof(T)) return fail();
    if constexpr (std::same_as<T, bool>) {  // other bytes are no bool
      if (left_[0] > std::byte{1}) return fail();
      x = left_[0] == std::byte{1};
    } else {
      std::memcpy(&x, left_.data(), sizeof(T));
    }
    left_ = left_.subspan(sizeof(T));
  }
  // The length of a list, each of whose elements takes a byte or more.
  size_t length() {
    size_t n = 0;
    get(n);
    if (n <= left_.size()) return n;
    fail();
    return 0;
  }
  void get(std::string& s) {
    const size_t n = length();
    s.assign(reinterpret_cast<const char*>(left_.data()), n);
    left_ = left_.subspan(n);
  }
  template <class T>
  void get(std::vector<T>& list) {
    list.clear();
    for (size_t n = length(); n > 0 && !failed_; --n) get(list.emplace_back());
  }
  template <class T, size_t n>
  void get(std::array<T, n>& list) {
    for (T& x : list) get(x);
  }
  template <class T>
  void get(std::optional<T>& x) {
    bool given = false;
    get(given);
    x.reset();
    if (!given) return;
    T value{};
    get(value);
    x = std::move(value);
  }
  template <class A, class B>
  void get(std::pair<A, B>& x) {
    (*this)(x.first, x.second);
  }
  template <class K, class V>
  void get(std::map<K, V>& map) {
    map.clear();
    for (size_t n = length(); n > 0 && !failed_; --n) {
      std::pair<K, V> entry;
      get(entry);
      if (!map.empty() && !(map.rbegin()->first < entry.first)) return fail();
      map.insert(std::move(entry));
    }
  }
  template <class... T>
  void get(std::variant<T...>& x) {
    uint8_t index = 0;
    get(index);
    if (index >= sizeof...(T)) return fail();
    size_t k = 0;
    ((k++ == index ? get(x.template emplace<T>()) : void()), ...);
  }
  template <class T>
    requires std::is_class_v<T>
  void get(T& x) {
    archive(*this, x);
  }

  std::span<const std::byte> left_;
  bool failed_ = false;
};

}  // namespace cleave
