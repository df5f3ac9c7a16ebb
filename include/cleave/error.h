// The exception that cleave throws, and the kinds of error that it distinguishes.
//
//   UserError    the caller's graph, file, option or budget is wrong        exit status 1
//   Unsupported  legal, but not covered: names the operator and the file    exit status 2
//   Bug          cleave's own defect: names the stage and how to repeat it  exit status 3
//
// Every public call that can fail throws `cleave::Error`, with the caller's line; inside the
// library errors are values (src/base/result.h). Memory that the system refuses is a UserError
// where a tensor, a program's arena or a compilation asks for it; from other calls std::bad_alloc
// passes. What a function of the host program throws while it is traced passes too, as it is.
#pragma once
#include <stdexcept>
#include <string>
#include <utility>

#define CLEAVE_API __attribute__((visibility("default")))

namespace cleave {

enum class ErrorKind { user, unsupported, bug };

// cleave's own exception. `what()` is the whole message: where: rule: what was found, what was
// expected; then the line of the graph and the user's source line; then a suggestion.
class CLEAVE_API Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, const std::string& message) : std::runtime_error(message), kind_(kind) {}
  ErrorKind kind() const { return kind_; }

 private:
  ErrorKind kind_;
};

}  // namespace cleave
