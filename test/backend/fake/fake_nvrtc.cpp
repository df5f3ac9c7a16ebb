// A compiler for tests, libnvrtc.so.13: the machine code is the text; one with `#error` has none.
// It knows sm_90 and sm_100.
#include <cstring>
#include <string>

#define FAKE extern "C" __attribute__((visibility("default")))

namespace {
struct Program {
  std::string text, name, log;
};
}  // namespace

FAKE int nvrtcVersion(int* major, int* minor) {
  *major = 13, *minor = 0;
  return 0;
}
FAKE int nvrtcGetNumSupportedArchs(int* out) {
  *out = 2;
  return 0;
}
FAKE int nvrtcGetSupportedArchs(int* out) {
  out[0] = 90, out[1] = 100;
  return 0;
}
FAKE const char* nvrtcGetErrorString(int) { return "NVRTC_ERROR_OF_THE_TEST"; }
FAKE int nvrtcCreateProgram(Program** out, const char* text, const char* name, int, const char**,
                            const char**) {
  *out = new Program{text, name, {}};
  return 0;
}
FAKE int nvrtcDestroyProgram(Program** program) {
  delete *program;
  return 0;
}
FAKE int nvrtcCompileProgram(Program* program, int, const char**) {
  if (program->text.find("#error") == std::string::npos) return 0;
  program->log = program->name + "(1): error\n";
  return 6;
}
FAKE int nvrtcGetProgramLogSize(Program* program, size_t* out) {
  *out = program->log.size() + 1;
  return 0;
}
FAKE int nvrtcGetProgramLog(Program* program, char* out) {
  std::strcpy(out, program->log.c_str());
  return 0;
}
FAKE int nvrtcGetCUBINSize(Program* program, size_t* out) {
  *out = program->text.size() + 1;
  return 0;
}
FAKE int nvrtcGetCUBIN(Program* program, char* out) {
  std::strcpy(out, program->text.c_str());
  return 0;
}
