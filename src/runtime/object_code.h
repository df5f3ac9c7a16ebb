// Machine code as a compiler leaves it: bytes that can be kept and loaded later, without the
// compiler.
//
//   relocatable   an ELF object file (elf_object.h), of clang
//   shared        a shared object, of the system's compiler, which brings its own support functions
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace cleave::runtime {

// Compiled functions, which stay loaded as long as this object lives.
struct LoadedCode {
  virtual ~LoadedCode() = default;
  // The address of a function of the text that isn't static; null if there is none. Thread safe.
  virtual void* symbol(const std::string& name) const = 0;
};

struct ObjectCode {
  enum class Form : uint8_t { relocatable, shared };
  Form form = Form::relocatable;
  std::vector<std::byte> bytes;
};

// A shared object is written to a private temporary folder in `folder`, which is removed at once.
// Errors (bug): not such a file, or it needs a symbol that generated code may not call; (user): the
// folder can't be written.
Result<std::shared_ptr<LoadedCode>> load_code(const ObjectCode& code,
                                              const std::string& folder = "/tmp");

}  // namespace cleave::runtime
