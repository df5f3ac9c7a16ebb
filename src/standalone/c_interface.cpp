// The functions of embedded.h: nothing is thrown through them.
#include <cstring>
#include <exception>
#include <new>

#include "standalone/instance.h"

namespace cleave::standalone {
namespace {

int code_of(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::user: return CLEAVE_USER_ERROR;
    case ErrorKind::unsupported: return CLEAVE_UNSUPPORTED;
    case ErrorKind::bug: break;
  }
  return CLEAVE_BUG;
}

int tell(cleave_error* error, int code, std::string_view message) {
  if (error == nullptr) return code;
  error->code = code;
  const size_t length = std::min(message.size(), sizeof(error->message) - 1);
  std::memcpy(error->message, message.data(), length);
  error->message[length] = '\0';
  return code;
}

// What f returns, as a code and a message.
template <class F>
int told(const cleave_embedded* embedded, cleave_error* error, const F& f) {
  try {
    if (const Status s = f(); !s.ok())
      return tell(error, code_of(s.failure().kind), s.failure().message);
    return tell(error, CLEAVE_DONE, "");
  } catch (const Error& e) {
    return tell(error, code_of(e.kind()), e.what());
  } catch (const std::bad_alloc&) {
    return tell(error, CLEAVE_USER_ERROR, std::string_view("the system has no memory left"));
  } catch (const std::exception& e) {
    return tell(error, CLEAVE_USER_ERROR, std::string(embedded->name) + ": " + e.what());
  } catch (...) {
    return tell(error, CLEAVE_USER_ERROR, "code of the host program threw something");
  }
}

// The same of an instance's function.
template <class F>
int of_instance(const cleave_embedded* embedded, cleave_instance* instance, cleave_error* error,
                const F& f) {
  return told(embedded, error, [&]() -> Status {
    if (instance == nullptr)
      return user_error("{}: the instance is NULL; {}_open() makes one", embedded->name,
                        embedded->name);
    return f(*reinterpret_cast<Instance*>(instance));
  });
}

}  // namespace
}  // namespace cleave::standalone

using cleave::standalone::Instance;
using cleave::standalone::of_instance;

cleave_instance* cleave_standalone_open(const cleave_embedded* embedded,
                                        const cleave_options* options, cleave_error* error) {
  cleave_instance* out = nullptr;
  cleave::standalone::told(embedded, error, [&]() -> cleave::Status {
    CLEAVE_TRY(auto made, Instance::open(*embedded, options));
    out = reinterpret_cast<cleave_instance*>(made.release());
    return {};
  });
  return out;
}

int cleave_standalone_input(const cleave_embedded* embedded, cleave_instance* instance,
                            size_t index, cleave_tensor* type, cleave_error* error) {
  return of_instance(embedded, instance, error, [&](Instance& i) { return i.input(index, type); });
}

int cleave_standalone_output(const cleave_embedded* embedded, cleave_instance* instance,
                             size_t index, cleave_tensor* type, cleave_error* error) {
  return of_instance(embedded, instance, error, [&](Instance& i) { return i.output(index, type); });
}

int cleave_standalone_bind(const cleave_embedded* embedded, cleave_instance* instance,
                           const char* name, const cleave_tensor* tensor, cleave_error* error) {
  return of_instance(embedded, instance, error, [&](Instance& i) { return i.bind(name, tensor); });
}

int cleave_standalone_run(const cleave_embedded* embedded, cleave_instance* instance,
                          const cleave_tensor* in, size_t in_count, const cleave_tensor* out,
                          size_t out_count, cleave_error* error) {
  return of_instance(embedded, instance, error,
                     [&](Instance& i) { return i.run(in, in_count, out, out_count); });
}

int cleave_standalone_result(const cleave_embedded* embedded, cleave_instance* instance,
                             size_t index, cleave_tensor* result, cleave_error* error) {
  return of_instance(embedded, instance, error,
                     [&](Instance& i) { return i.result(index, result); });
}

int cleave_standalone_get_state(const cleave_embedded* embedded, cleave_instance* instance,
                                const char* name, const cleave_tensor* to, cleave_error* error) {
  return of_instance(embedded, instance, error, [&](Instance& i) { return i.get_state(name, to); });
}

int cleave_standalone_set_state(const cleave_embedded* embedded, cleave_instance* instance,
                                const char* name, const cleave_tensor* from, cleave_error* error) {
  return of_instance(embedded, instance, error,
                     [&](Instance& i) { return i.set_state(name, from); });
}

int cleave_standalone_set_constants(const cleave_embedded* embedded, cleave_instance* instance,
                                    const char* const* names, const cleave_tensor* from,
                                    size_t count, cleave_error* error) {
  return of_instance(embedded, instance, error,
                     [&](Instance& i) { return i.set_constants(names, from, count); });
}

void cleave_standalone_close(cleave_instance* instance) {
  delete reinterpret_cast<Instance*>(instance);
}
