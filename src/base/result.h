// Errors as values: Result<T> holds a T or a Failure; Status is Result<void>.
//
//   Result<Graph> parse(...);
//   CLEAVE_TRY(Graph g, parse(text));          // returns the failure to the caller
//   CLEAVE_CHECK(verify(g));                   // the same for a Status
//   return user_error("dim {} is outside [{}, {})", dim, lo, hi);
//
// They become exceptions in two ways, and no other code of src/ throws (script/check_failures):
//
//   throw_failure, value_or_throw   where a public call returns to the host program
//   throw_bug, value_or_bug         where an invariant is broken and the caller expects a plain
//                                   value; the stages catch it (compile/at_stage.h)
#pragma once
#include <fmt/format.h>

#include <memory>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>

#include "cleave/error.h"

namespace cleave {

struct Failure {
  ErrorKind kind = ErrorKind::user;
  std::string message;

  // The same failure with "where: " prefixed to the message.
  Failure within(std::string_view where) && {
    message = fmt::format("{}: {}", where, message);
    return std::move(*this);
  }
};

// Hand-written: std::variant costs each file that names a Result a tenth of a second to compile.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : ok_(true), value_(std::move(value)) {}
  Result(Failure failure) : ok_(false), failure_(std::move(failure)) {}
  template <class U>
    requires(std::is_convertible_v<U, T> && !std::is_same_v<std::decay_t<U>, T> &&
             !std::is_same_v<std::decay_t<U>, Failure> && !std::is_same_v<std::decay_t<U>, Result>)
  Result(U&& value) : ok_(true), value_(std::forward<U>(value)) {}
  Result(const Result& from) : ok_(from.ok_) { fill(from); }
  Result(Result&& from) noexcept : ok_(from.ok_) { fill(std::move(from)); }
  Result& operator=(const Result& from) { return *this = Result(from); }
  Result& operator=(Result&& from) noexcept {
    if (this == &from) return *this;
    clear();
    ok_ = from.ok_;
    fill(std::move(from));
    return *this;
  }
  ~Result() { clear(); }

  bool ok() const { return ok_; }
  explicit operator bool() const { return ok_; }
  // The value. Precondition: ok().
  T& operator*() & { return value_; }
  const T& operator*() const& { return value_; }
  T&& operator*() && { return std::move(value_); }
  T* operator->() { return &value_; }
  const T* operator->() const { return &value_; }
  // Precondition: !ok().
  const Failure& failure() const& { return failure_; }
  Failure&& failure() && { return std::move(failure_); }

 private:
  template <class From>
  void fill(From&& from) {
    if (ok_)
      std::construct_at(&value_, std::forward<From>(from).value_);
    else
      std::construct_at(&failure_, std::forward<From>(from).failure_);
  }
  void clear() {
    if (ok_)
      std::destroy_at(&value_);
    else
      std::destroy_at(&failure_);
  }

  bool ok_;
  union {
    T value_;
    Failure failure_;
  };
};

template <>
class [[nodiscard]] Result<void> {
 public:
  Result() = default;
  Result(Failure failure) : failure_(std::move(failure)) {}
  bool ok() const { return !failure_.has_value(); }
  explicit operator bool() const { return ok(); }
  const Failure& failure() const& { return *failure_; }
  Failure&& failure() && { return *std::move(failure_); }

 private:
  std::optional<Failure> failure_;
};

using Status = Result<void>;

template <class... Args>
Failure user_error(fmt::format_string<Args...> text, Args&&... args) {
  return {ErrorKind::user, fmt::format(text, std::forward<Args>(args)...)};
}
template <class... Args>
Failure unsupported(fmt::format_string<Args...> text, Args&&... args) {
  return {ErrorKind::unsupported, fmt::format(text, std::forward<Args>(args)...)};
}
template <class... Args>
Failure bug(fmt::format_string<Args...> text, Args&&... args) {
  return {ErrorKind::bug, fmt::format(text, std::forward<Args>(args)...)};
}

// Of public calls alone.
[[noreturn]] inline void throw_failure(const Failure& f) { throw Error(f.kind, f.message); }
template <class T>
T value_or_throw(Result<T> r) {
  if (!r.ok()) throw_failure(r.failure());
  if constexpr (!std::is_void_v<T>) return *std::move(r);
}

template <class... Args>
[[noreturn]] void throw_bug(fmt::format_string<Args...> text, Args&&... args) {
  throw Error(ErrorKind::bug, fmt::format(text, std::forward<Args>(args)...));
}
// The value of a call that can't fail with these arguments.
template <class T>
T value_or_bug(Result<T> r) {
  if (!r.ok()) throw_bug("{}", r.failure().message);
  if constexpr (!std::is_void_v<T>) return *std::move(r);
}

#define CLEAVE_CONCAT_(a, b) a##b
#define CLEAVE_CONCAT(a, b) CLEAVE_CONCAT_(a, b)
#define CLEAVE_TRY_(tmp, decl, ...)               \
  auto tmp = (__VA_ARGS__);                       \
  if (!tmp.ok()) return std::move(tmp).failure(); \
  decl = *std::move(tmp)
#define CLEAVE_TRY(decl, ...) CLEAVE_TRY_(CLEAVE_CONCAT(try_, __LINE__), decl, __VA_ARGS__)
#define CLEAVE_CHECK(...)                                                              \
  do {                                                                                 \
    if (auto check_ = (__VA_ARGS__); !check_.ok()) return std::move(check_).failure(); \
  } while (false)

}  // namespace cleave
