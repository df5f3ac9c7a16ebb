/* Trains from step.so alone (example/ahead_of_time.cpp builds it):
 *
 *   cc -I FOLDER train.c FOLDER/step.so -o train && ./train FOLDER/batches.bin
 *
 * Prints the loss of each step. In the file each batch has its rows in front: what varies in the
 * shapes of inputs. */
#include <stdio.h>
#include <stdlib.h>

#include "step.h"

static size_t bytes_of(const cleave_tensor *t) {
  static const size_t element[] = {8, 4, 2, 2, 8, 4, 2, 1, 1, 1, 8};
  size_t bytes = element[t->dtype];
  for (int32_t d = 0; d < t->rank; ++d) bytes *= (size_t)t->shape[d];
  return bytes;
}

static int failed(const cleave_error *error) {
  fprintf(stderr, "%s\n", error->message);
  return error->code;
}

int main(int argc, char **argv) {
  cleave_error error;
  cleave_options options = STEP_OPTIONS_INIT;
  FILE *batches = argc == 2 ? fopen(argv[1], "rb") : NULL;
  if (batches == NULL) {
    fprintf(stderr, "usage: train BATCHES\n");
    return 1;
  }
  cleave_instance *step = step_open(&options, &error);
  if (step == NULL) return failed(&error);
  cleave_tensor in[STEP_INPUTS];
  const int64_t *types[STEP_INPUTS];
  int64_t shapes[STEP_INPUTS][2];
  for (size_t k = 0; k < STEP_INPUTS; ++k) {
    if (step_input(step, k, &in[k], &error) != CLEAVE_DONE) return failed(&error);
    types[k] = in[k].shape;
    in[k].shape = shapes[k];
    in[k].strides = NULL;
  }
  int64_t rows;
  while (fread(&rows, sizeof(rows), 1, batches) == 1) {
    for (size_t k = 0; k < STEP_INPUTS; ++k) {
      for (int32_t d = 0; d < in[k].rank; ++d) shapes[k][d] = types[k][d] < 0 ? rows : types[k][d];
      void *memory = realloc(in[k].data, bytes_of(&in[k]));
      if (memory == NULL || fread(memory, bytes_of(&in[k]), 1, batches) != 1) return 1;
      in[k].data = memory;
    }
    if (step_run(step, in, STEP_INPUTS, NULL, 0, &error) != CLEAVE_DONE) return failed(&error);
    cleave_tensor loss;
    if (step_result(step, 0, &loss, &error) != CLEAVE_DONE) return failed(&error);
    printf("%a\n", (double)*(const float *)loss.data);
  }
  for (size_t k = 0; k < STEP_INPUTS; ++k) free(in[k].data);
  step_close(step);
  fclose(batches);
  return 0;
}
