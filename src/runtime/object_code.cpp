#include "runtime/object_code.h"

#include <dlfcn.h>

#include "runtime/elf_object.h"
#include "runtime/private_folder.h"

namespace cleave::runtime {
namespace {

class SharedCode final : public LoadedCode {
 public:
  explicit SharedCode(void* handle) : handle_(handle) {}
  ~SharedCode() override { dlclose(handle_); }
  SharedCode(const SharedCode&) = delete;
  SharedCode& operator=(const SharedCode&) = delete;
  void* symbol(const std::string& name) const override { return dlsym(handle_, name.c_str()); }

 private:
  void* handle_;
};

}  // namespace

Result<std::shared_ptr<LoadedCode>> load_code(const ObjectCode& code, const std::string& folder) {
  if (code.form == ObjectCode::Form::relocatable)
    return load_elf_object(code.bytes, external_symbols());
  // dlopen takes a file for one that it knows by its path, so each has a path of its own; loaded,
  // it no longer needs it.
  CLEAVE_TRY(const std::unique_ptr<PrivateFolder> inside, PrivateFolder::make(folder));
  const std::string path = inside->path() + "/unit.so";
  CLEAVE_CHECK(write_private_file(path, code.bytes));
  void* handle = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return bug("compiler: a shared object: {}", dlerror());
  return std::shared_ptr<LoadedCode>(std::make_shared<SharedCode>(handle));
}

}  // namespace cleave::runtime
