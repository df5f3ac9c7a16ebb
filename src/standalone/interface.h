/* The part of a step.h that all programs have: cleave build writes it there, in front of the
 * functions of the program, which are called NAME_open and so on. Plain C, and C++.
 *
 * All sizes are bytes, strides are elements. Any number of instances may run at the same time, each
 * on one thread at a time. What goes wrong is a code and a message, and changes nothing: a failed
 * run leaves inputs and state as they were.
 */
#ifndef CLEAVE_STANDALONE_1
#define CLEAVE_STANDALONE_1
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define CLEAVE_INTERFACE_VERSION 1

/* What every function returns; the exit status of the command `cleave`, too. */
enum cleave_code {
  CLEAVE_DONE = 0,
  CLEAVE_USER_ERROR = 1,  /* the caller's tensors, options or files are wrong */
  CLEAVE_UNSUPPORTED = 2, /* legal, but not on this machine */
  CLEAVE_BUG = 3          /* a defect of cleave */
};

typedef struct cleave_error {
  int32_t code;
  char message[2044]; /* ends with 0; cut where it is longer */
} cleave_error;

enum cleave_dtype {
  CLEAVE_F64,
  CLEAVE_F32,
  CLEAVE_BF16,
  CLEAVE_F16,
  CLEAVE_I64,
  CLEAVE_I32,
  CLEAVE_I16,
  CLEAVE_I8,
  CLEAVE_U8,
  CLEAVE_BOOL,
  CLEAVE_C64
};

typedef struct cleave_tensor {
  void* data;
  int32_t dtype;
  int32_t rank;
  const int64_t* shape;   /* rank numbers; in a type of inputs or results -1 for what varies */
  const int64_t* strides; /* rank numbers; NULL: row-major */
} cleave_tensor;

/* Code of the host program that the program calls (`callbacks` of step.json, where the types of
 * operands and results are): all of them are row-major, an operand that isn't given is NULL.
 * It throws nothing and keeps no pointer. */
typedef struct cleave_callback {
  const char* name;
  void (*function)(void* user, void* const* operands, void* const* results);
  void* user;
} cleave_callback;

typedef struct cleave_options {
  uint32_t version; /* CLEAVE_INTERFACE_VERSION */
  uint32_t bytes;   /* sizeof(cleave_options) */
  uint64_t program; /* NAME_PROGRAM of the header; 0: any */
  int32_t threads;  /* 0: one for each core */
  int32_t pool_threads;
  /* Instead of own threads: calls piece(context, i) once for each i below pieces, on up to
   * pool_threads threads, and returns when all are done. */
  void (*parallel_for)(void* pool, long pieces, void (*piece)(void* context, long i),
                       void* context);
  void* pool;
  /* The memory of a run, aligned to 64, of `arena_bytes` of step.json or more; it belongs to this
   * instance until it is closed. NULL: the instance's own. */
  void* memory;
  size_t memory_bytes;
  /* A .safetensors file with all of the state and constants, by their names. NULL: what was built
   * in; or the file that was built beside the library. */
  const char* weights;
  const cleave_callback* callbacks;
  size_t callback_count;
} cleave_options;

#define CLEAVE_OPTIONS_INIT(PROGRAM) \
  {CLEAVE_INTERFACE_VERSION, (uint32_t)sizeof(cleave_options), PROGRAM, 0, 0, 0, 0, 0, 0, 0, 0, 0}

typedef struct cleave_instance cleave_instance;

#ifdef __cplusplus
}
#endif
#endif
