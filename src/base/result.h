// Errors as values: Result<T> holds a T or a Failure; Status is Result<void>.
//
//   Result<Graph> parse(...);
//   CLEAVE_TRY(Graph g, parse(text));          // returns the failure to the caller
//   CLEAVE_CHECK(verify(g));                   // the same for a Status
//   return user_error("dim {} is outside [{}, {})", dim, lo, hi);
#pragma once
#include <fmt/format.h>

#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>

#include "cleave/error.h"

namespace cleave {

struct Failure {
  ErrorKind kind = ErrorKind::user;
  std::string message;

  // The same failure with "where: " put before the message.
  Failure within(std::string_view where) && {
    message = fmt::format("{}: {}", where, message);
    return std::move(*this);
  }
};

template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}
  Result(Failure failure) : state_(std::in_place_index<1>, std::move(failure)) {}
  template <class U>
    requires(std::is_convertible_v<U, T> && !std::is_same_v<std::decay_t<U>, T> &&
             !std::is_same_v<std::decay_t<U>, Failure> && !std::is_same_v<std::decay_t<U>, Result>)
  Result(U&& value) : state_(std::in_place_index<0>, std::forward<U>(value)) {}

  bool ok() const { return state_.index() == 0; }
  explicit operator bool() const { return ok(); }
  T& operator*() & { return std::get<0>(state_); }
  const T& operator*() const& { return std::get<0>(state_); }
  T&& operator*() && { return std::get<0>(std::move(state_)); }
  T* operator->() { return &std::get<0>(state_); }
  const T* operator->() const { return &std::get<0>(state_); }
  const Failure& failure() const& { return std::get<1>(state_); }
  Failure&& failure() && { return std::get<1>(std::move(state_)); }

 private:
  std::variant<T, Failure> state_;
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

[[noreturn]] inline void throw_failure(const Failure& f) { throw Error(f.kind, f.message); }

// The value, or cleave::Error: the border between the inside and the public calls.
template <class T>
T value_or_throw(Result<T> r) {
  if (!r.ok()) throw_failure(r.failure());
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
