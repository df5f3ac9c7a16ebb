/* What a library of cleave build holds, as its generated C passes it to the code of this room. */
#ifndef CLEAVE_EMBEDDED_H
#define CLEAVE_EMBEDDED_H
#include "standalone/interface.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef int64_t (*cleave_phase)(void* const* buffers, const int64_t* scalars, int64_t begin,
                                int64_t end, int64_t* fault);
typedef void (*cleave_operator)(void* const* operands, void* const* results, const long* sizes);

typedef struct cleave_embedded {
  const char* name;
  const unsigned char* program; /* a ProgramFile (program_file.h) */
  size_t program_bytes;
  const unsigned char* weights; /* aligned to 64 */
  size_t weight_bytes;
  const char* description; /* JSON */
  const cleave_phase* phases;
  size_t phase_count;
  const cleave_operator* operators;
  size_t operator_count;
} cleave_embedded;

/* The functions behind NAME_open and the others: the same arguments, behind what is embedded. */
cleave_instance* cleave_standalone_open(const cleave_embedded* embedded,
                                        const cleave_options* options, cleave_error* error);
int cleave_standalone_input(const cleave_embedded* embedded, cleave_instance* instance,
                            size_t index, cleave_tensor* type, cleave_error* error);
int cleave_standalone_output(const cleave_embedded* embedded, cleave_instance* instance,
                             size_t index, cleave_tensor* type, cleave_error* error);
int cleave_standalone_bind(const cleave_embedded* embedded, cleave_instance* instance,
                           const char* name, const cleave_tensor* tensor, cleave_error* error);
int cleave_standalone_run(const cleave_embedded* embedded, cleave_instance* instance,
                          const cleave_tensor* in, size_t in_count, const cleave_tensor* out,
                          size_t out_count, cleave_error* error);
int cleave_standalone_result(const cleave_embedded* embedded, cleave_instance* instance,
                             size_t index, cleave_tensor* result, cleave_error* error);
int cleave_standalone_get_state(const cleave_embedded* embedded, cleave_instance* instance,
                                const char* name, const cleave_tensor* to, cleave_error* error);
int cleave_standalone_set_state(const cleave_embedded* embedded, cleave_instance* instance,
                                const char* name, const cleave_tensor* from, cleave_error* error);
int cleave_standalone_set_constants(const cleave_embedded* embedded, cleave_instance* instance,
                                    const char* const* names, const cleave_tensor* from,
                                    size_t count, cleave_error* error);
void cleave_standalone_close(cleave_instance* instance);

#ifdef __cplusplus
}
#endif
#endif
