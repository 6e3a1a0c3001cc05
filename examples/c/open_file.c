/* Opens a compiled model with the runtime alone: open_file FILE.weftb [STATE]
 *
 * Runs the model twice. Sizes that it leaves open are 2, and elements are 0. The input STATE is
 * given once, before the runs, and has what they write to it. docs/c-api.md builds this program. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "weft/api/c/weft.h"

enum { kMaxValues = 16 };

static const weft_api* weft;

/* Prints the error, if it is one, and destroys it. */
static int failed(weft_error* error) {
  if (error == NULL) return 0;
  fprintf(stderr, "open_file: %s: %s\n", weft->error_function(error), weft->error_message(error));
  weft->error_destroy(error);
  return 1;
}

static void free_tensor(weft_managed_tensor* self) {
  free(self->tensor.data);
  free(self->tensor.shape);
  free(self);
}

/* A tensor of zeros; null if there is no memory. */
static weft_managed_tensor* make_zeros(const weft_value_info* info) {
  weft_managed_tensor* made = calloc(1, sizeof *made);
  if (made == NULL) return NULL;
  made->version_major = 1;
  made->deleter = free_tensor;
  made->tensor.device.type = 1; /* Host memory. */
  made->tensor.dtype = info->dtype;
  made->tensor.ndim = info->ndim;
  made->tensor.shape = malloc((size_t)(info->ndim + 1) * sizeof *made->tensor.shape);
  size_t count = 1;
  for (int32_t i = 0; made->tensor.shape != NULL && i < info->ndim; ++i) {
    made->tensor.shape[i] = info->shape[i] < 0 ? 2 : info->shape[i];
    count *= (size_t)made->tensor.shape[i];
  }
  made->tensor.data = calloc(count + 1, (size_t)(info->dtype.bits + 7) / 8);
  if (made->tensor.data != NULL && made->tensor.shape != NULL) return made;
  made->deleter(made);
  return NULL;
}

/* Gives the program the tensor as its state. */
static int set_state(weft_program* program, const char* name, weft_managed_tensor* tensor) {
  const weft_named_state state = {name, tensor};
  return !failed(weft->program_set_states(program, &state, 1));
}

static int print_state(weft_program* program, const char* name) {
  weft_managed_tensor* state = NULL;
  if (failed(weft->program_state(program, name, &state))) return 0;
  if (state->tensor.dtype.code == 0 && state->tensor.dtype.bits == 64) {
    printf("%s: %" PRId64 "\n", name, *(const int64_t*)state->tensor.data);
  }
  state->deleter(state);
  return 1;
}

/* An input that is null is state. */
static int run(weft_program* program, weft_managed_tensor** inputs) {
  weft_managed_tensor* outputs[kMaxValues] = {NULL};
  const weft_tensor* given[kMaxValues] = {NULL};
  const size_t num_inputs = weft->program_num_inputs(program);
  const size_t num_outputs = weft->program_num_outputs(program);
  for (size_t i = 0; i < num_inputs; ++i) given[i] = inputs[i] != NULL ? &inputs[i]->tensor : NULL;
  if (failed(weft->program_run(program, given, num_inputs, outputs, num_outputs))) return 0;
  for (size_t i = 0; i < num_outputs; ++i) {
    puts(weft->program_output(program, i)->type);
    outputs[i]->deleter(outputs[i]);
  }
  return 1;
}

static int run_twice(weft_program* program, const char* state) {
  weft_managed_tensor* inputs[kMaxValues] = {NULL};
  const size_t num_inputs = weft->program_num_inputs(program);
  int ok = num_inputs <= kMaxValues && weft->program_num_outputs(program) <= kMaxValues;
  for (size_t i = 0; ok && i < num_inputs; ++i) {
    const weft_value_info* info = weft->program_input(program, i);
    weft_managed_tensor* zeros = make_zeros(info);
    if (zeros == NULL || state == NULL || strcmp(info->name, state) != 0) {
      inputs[i] = zeros;
      ok = zeros != NULL;
    } else {
      ok = set_state(program, state, zeros);
    }
  }
  if (!ok) fputs("open_file: cannot make the inputs\n", stderr);
  ok = ok && run(program, inputs) && run(program, inputs);
  if (ok && state != NULL) ok = print_state(program, state);
  for (size_t i = 0; i < kMaxValues; ++i) {
    if (inputs[i] != NULL) inputs[i]->deleter(inputs[i]);
  }
  return ok;
}

int main(int argc, char** argv) {
  if (argc < 2) {
    fputs("Usage: open_file FILE.weftb [STATE]\n", stderr);
    return 2;
  }
  weft = weft_get_api(WEFT_API_VERSION);
  if (weft == NULL) {
    fputs("open_file: libweft_c_runtime is older than its header\n", stderr);
    return 2;
  }
  weft_program* program = NULL;
  const int ok = !failed(weft->program_open(argv[1], NULL, &program)) &&
                 run_twice(program, argc > 2 ? argv[2] : NULL);
  weft->program_destroy(program);
  return ok ? 0 : 1;
}
