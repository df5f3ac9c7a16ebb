// A library of build(), opened as a host program opens it.
#pragma once
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "cleave/host_tensor.h"
#include "runtime/private_folder.h"
#include "standalone/interface.h"

namespace cleave {

// A folder that is removed at the end.
class Folder {
 public:
  std::string operator/(const std::string& file) const { return made_->path() + "/" + file; }

 private:
  std::unique_ptr<runtime::PrivateFolder> made_ =
      value_or_throw(runtime::PrivateFolder::make(std::filesystem::temp_directory_path()));
};

inline std::string bytes_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

inline cleave_tensor as_c(const HostTensor& t, std::vector<int64_t>& strides) {
  strides = t.strides();
  return {const_cast<void*>(t.data()), static_cast<int32_t>(t.dtype()),
          static_cast<int32_t>(t.rank()), t.shape().data(), strides.data()};
}

class Library {
 public:
  Library(const std::string& path, std::string name) : name_(std::move(name)) {
    handle_ = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle_ == nullptr) ADD_FAILURE() << dlerror();
  }
  ~Library() { dlclose(handle_); }
  Library(const Library&) = delete;
  Library& operator=(const Library&) = delete;

  template <class F>
  F* get(const std::string& function) const {
    auto* f = reinterpret_cast<F*>(dlsym(handle_, (name_ + "_" + function).c_str()));
    EXPECT_NE(f, nullptr) << function;
    return f;
  }
  cleave_instance* open(const cleave_options* options = nullptr) {
    error = {};
    return get<cleave_instance*(const cleave_options*, cleave_error*)>("open")(options, &error);
  }
  std::string describe() const { return get<const char*()>("describe")(); }

  cleave_error error = {};

 private:
  std::string name_;
  void* handle_ = nullptr;
};

// An instance with HostTensors for arguments. Functions return codes; the message is the library's.
class Opened {
 public:
  explicit Opened(Library& library, const cleave_options* options = nullptr)
      : library_(library), instance_(library.open(options)) {
    EXPECT_NE(instance_, nullptr) << library.error.message;
  }
  ~Opened() { library_.get<void(cleave_instance*)>("close")(instance_); }
  Opened(const Opened&) = delete;
  Opened& operator=(const Opened&) = delete;

  int run(const HostTensors& in, HostTensors& out) {
    std::vector<cleave_tensor> a, b;
    std::vector<std::vector<int64_t>> strides(in.size() + out.size());
    for (const HostTensor& t : in) a.push_back(as_c(t, strides[a.size()]));
    for (const HostTensor& t : out) b.push_back(as_c(t, strides[in.size() + b.size()]));
    return library_.get<int(cleave_instance*, const cleave_tensor*, size_t, const cleave_tensor*,
                            size_t, cleave_error*)>("run")(
        instance_, a.data(), a.size(), b.empty() ? nullptr : b.data(), b.size(), &library_.error);
  }
  int get_state(const std::string& name, HostTensor& to) {
    std::vector<int64_t> strides;
    const cleave_tensor t = as_c(to, strides);
    return library_.get<int(cleave_instance*, const char*, const cleave_tensor*, cleave_error*)>(
        "get_state")(instance_, name.c_str(), &t, &library_.error);
  }
  int set_state(const std::string& name, const HostTensor& from) {
    std::vector<int64_t> strides;
    const cleave_tensor t = as_c(from, strides);
    return library_.get<int(cleave_instance*, const char*, const cleave_tensor*, cleave_error*)>(
        "set_state")(instance_, name.c_str(), &t, &library_.error);
  }
  int set_constants(const std::vector<std::pair<std::string, HostTensor>>& values) {
    return set_constants(library_, instance_, values);
  }
  static int set_constants(Library& library, cleave_instance* instance,
                           const std::vector<std::pair<std::string, HostTensor>>& values) {
    std::vector<const char*> names;
    std::vector<cleave_tensor> tensors;
    std::vector<std::vector<int64_t>> strides(values.size());
    for (const auto& [name, t] : values) {
      names.push_back(name.c_str());
      tensors.push_back(as_c(t, strides[tensors.size()]));
    }
    return library.get<int(cleave_instance*, const char* const*, const cleave_tensor*, size_t,
                           cleave_error*)>("set_constants")(instance, names.data(), tensors.data(),
                                                            values.size(), &library.error);
  }
  std::string message() const { return library_.error.message; }
  cleave_instance* get() const { return instance_; }
  Library& library() const { return library_; }

 private:
  Library& library_;
  cleave_instance* instance_;
};

}  // namespace cleave
