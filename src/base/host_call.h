// Calls a function of the host program, which stands between stages that return values: nothing
// that it throws may pass through them.
#pragma once
#include <exception>

#include "base/result.h"

namespace cleave {

// What f returns, a T or a Result<T>. Errors: what it throws, of a cleave::Error's kind, else user
// and behind `what`, if that isn't empty.
template <class T, class F>
Result<T> host_call(std::string_view what, const F& f) {
  const auto failed = [&](std::string text) -> Result<T> {
    Failure out{ErrorKind::user, std::move(text)};
    return what.empty() ? out : std::move(out).within(what);
  };
  try {
    return f();
  } catch (const Error& e) { return Failure{e.kind(), e.what()}; } catch (const std::exception& e) {
    return failed(e.what());
  } catch (...) { return failed("throws no std::exception"); }
}

}  // namespace cleave
