/* Runs a model of one tensor on a GPU, without copies between the runs: on_device [DRIVER]
 *
 * DRIVER is the CUDA driver's library, or "emulated" for Weft's emulation of it. The program links
 * no library of CUDA: its stream is the default one. docs/c-api.md builds this program. */
#include <stdio.h>
#include <string.h>

#include "weft/api/c/weft.h"

static const char kModel[] =
    "func @main(%x: f32[2, 2], %n: f32[1] {param=\"runs\", initial=dense<0.0>})\n"
    "    -> (f32[2, 2], f32[1] {writes=%n}) {\n"
    "  %y = add(%x, %x)\n"
    "  %1 = constant(dense<[1.0]>) : f32[1]\n"
    "  %2 = add(%n, %1)\n"
    "  return %y, %2\n"
    "}\n";

static const weft_api* weft;

/* Prints the error, if it is one, and destroys it. */
static int failed(weft_error* error) {
  if (error == NULL) return 0;
  fprintf(stderr, "on_device: %s: %s\n", weft->error_function(error), weft->error_message(error));
  weft->error_destroy(error);
  return 1;
}

/* A copy of the tensor on the host or on the GPU; null after an error. */
static weft_managed_tensor* copy_to(weft_program* program, const weft_tensor* tensor,
                                    weft_dl_device device) {
  weft_managed_tensor* copy = NULL;
  return failed(weft->program_copy_tensor(program, tensor, device, &copy)) ? NULL : copy;
}

/* Runs the model on its own output, `count` times. No run is waited for. */
static weft_managed_tensor* chain(weft_program* program, weft_managed_tensor* x, int count) {
  weft_run_options options = {0};
  options.struct_size = sizeof options;
  options.ordered = 1;
  for (int i = 0; x != NULL && i < count; ++i) {
    const weft_tensor* inputs[2] = {&x->tensor, NULL};
    weft_managed_tensor* y = NULL;
    const int ok = !failed(weft->program_run_on_device(program, &options, inputs, 2, &y, 1));
    x->deleter(x);
    x = ok ? y : NULL;
  }
  return x;
}

static int run(weft_program* program) {
  const weft_dl_device host = {1, 0};
  weft_dl_device device;
  if (failed(weft->program_device(program, &device))) return 0;
  float elements[4] = {1, 2, 3, 4};
  int64_t shape[2] = {2, 2};
  weft_tensor tensor = {0};
  tensor.data = elements;
  tensor.device = host;
  tensor.ndim = 2;
  tensor.dtype.code = 2;
  tensor.dtype.bits = 32;
  tensor.dtype.lanes = 1;
  tensor.shape = shape;
  weft_managed_tensor* y = chain(program, copy_to(program, &tensor, device), 3);
  if (y == NULL) return 0;
  weft_managed_tensor* result = copy_to(program, &y->tensor, host);
  y->deleter(y);
  if (result == NULL) return 0;
  printf("device %d: %g\n", (int)device.type, ((const float*)result->tensor.data)[3]);
  result->deleter(result);
  weft_managed_tensor* runs = NULL;
  if (failed(weft->program_state(program, "runs", &runs))) return 0;
  printf("runs: %g\n", *(const float*)runs->tensor.data);
  runs->deleter(runs);
  return 1;
}

int main(int argc, char** argv) {
  weft = weft_get_api(WEFT_API_VERSION);
  if (weft == NULL) {
    fputs("on_device: libweft_c is older than its header\n", stderr);
    return 2;
  }
  const weft_option driver = {"cuda-driver", argc > 1 ? argv[1] : ""};
  weft_program_options options = {0};
  options.struct_size = sizeof options;
  options.target = "cuda";
  options.options = &driver;
  options.num_options = 1;
  weft_module* module = NULL;
  weft_program* program = NULL;
  const int ok = !failed(weft->module_parse(kModel, strlen(kModel), "model.weft", &module)) &&
                 !failed(weft->program_create(module, &options, &program)) && run(program);
  weft->program_destroy(program);
  weft->module_destroy(module);
  return ok ? 0 : 1;
}
