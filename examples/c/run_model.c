/* Runs a model on the CPU: run_model MODEL [SIZE]
 *
 * MODEL is an .onnx, .pt2, .weft or .weftb file. Sizes that it leaves open are SIZE (2), and the
 * elements of inputs are 0, 1, 2, ... docs/c-api.md builds this program. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "weft/api/c/weft.h"

static const weft_api* weft;

/* Prints the error, if it is one, and destroys it. */
static int failed(weft_error* error) {
  if (error == NULL) return 0;
  fprintf(stderr, "run_model: %s: %s\n", weft->error_function(error), weft->error_message(error));
  weft->error_destroy(error);
  return 1;
}

/* Memory for a tensor of that type; its data and shape are the caller's to free. */
static int make_input(const weft_value_info* info, int64_t size, weft_tensor* tensor) {
  const weft_tensor empty = {0};
  *tensor = empty;
  tensor->device.type = 1; /* Host memory. */
  tensor->dtype = info->dtype;
  tensor->ndim = info->ndim;
  tensor->shape = malloc((size_t)(info->ndim + 1) * sizeof *tensor->shape);
  size_t count = 1;
  for (int32_t i = 0; tensor->shape != NULL && i < info->ndim; ++i) {
    tensor->shape[i] = info->shape[i] < 0 ? size : info->shape[i];
    count *= (size_t)tensor->shape[i];
  }
  tensor->data = calloc(count + 1, info->dtype.bits < 8 ? 1 : info->dtype.bits / 8);
  if (tensor->data == NULL || tensor->shape == NULL) {
    fputs("run_model: no memory\n", stderr);
    return 0;
  }
  for (size_t i = 0; i < count; ++i) {
    if (info->dtype.code == 2 && info->dtype.bits == 32) ((float*)tensor->data)[i] = (float)i;
    if (info->dtype.code == 0 && info->dtype.bits == 64) ((int64_t*)tensor->data)[i] = (int64_t)i;
  }
  return 1;
}

static void print_output(const weft_value_info* info, const weft_tensor* tensor) {
  printf("%s: [", info->name);
  for (int32_t i = 0; i < tensor->ndim; ++i) {
    printf("%s%" PRId64, i > 0 ? ", " : "", tensor->shape[i]);
  }
  printf("]");
  if (info->dtype.code == 2 && info->dtype.bits == 32) {
    printf(", the first element is %.6g", *(const float*)tensor->data);
  }
  puts("");
}

static int run(weft_program* program, int64_t size) {
  const size_t num_inputs = weft->program_num_inputs(program);
  const size_t num_outputs = weft->program_num_outputs(program);
  weft_tensor* inputs = calloc(num_inputs + 1, sizeof *inputs);
  const weft_tensor** given = calloc(num_inputs + 1, sizeof *given);
  weft_managed_tensor** outputs = calloc(num_outputs + 1, sizeof *outputs);
  int ok = inputs != NULL && given != NULL && outputs != NULL;
  for (size_t i = 0; ok && i < num_inputs; ++i) {
    const weft_value_info* info = weft->program_input(program, i);
    if (info->optional) continue;
    ok = make_input(info, size, &inputs[i]);
    given[i] = &inputs[i];
  }
  ok = ok && !failed(weft->program_run(program, given, num_inputs, outputs, num_outputs));
  for (size_t i = 0; ok && i < num_outputs; ++i) {
    print_output(weft->program_output(program, i), &outputs[i]->tensor);
    outputs[i]->deleter(outputs[i]);
  }
  for (size_t i = 0; inputs != NULL && i < num_inputs; ++i) {
    free(inputs[i].data);
    free(inputs[i].shape);
  }
  free(inputs);
  free(given);
  free(outputs);
  return ok;
}

int main(int argc, char** argv) {
  if (argc < 2) {
    fputs("Usage: run_model MODEL [SIZE]\n", stderr);
    return 2;
  }
  weft = weft_get_api(WEFT_API_VERSION);
  if (weft == NULL) {
    fputs("run_model: libweft_c is older than its header\n", stderr);
    return 2;
  }
  weft_module* module = NULL;
  weft_program* program = NULL;
  int ok = !failed(weft->module_load(argv[1], NULL, &module)) &&
           !failed(weft->program_create(module, NULL, &program)) &&
           run(program, argc > 2 ? atoll(argv[2]) : 2);
  weft->program_destroy(program);
  weft->module_destroy(module);
  return ok ? 0 : 1;
}
