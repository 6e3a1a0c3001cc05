/* Two ops of a program's own: one that a function evaluates, and one that is a formula, which is
 * fused and compiled like the built-in ones. docs/c-api.md builds this program. */
#include <stdio.h>
#include <string.h>

#include "weft/api/c/weft.h"

static const weft_api* weft;

/* Prints the error, if it is one, and destroys it. */
static int failed(weft_error* error) {
  if (error == NULL) return 0;
  fprintf(stderr, "own_op: %s: %s\n", weft->error_function(error), weft->error_message(error));
  weft->error_destroy(error);
  return 1;
}

/* count_above(self, limit): how many elements of each row are above the limit. The type of the
 * result has the symbols of the operand's: "f32[n, 4]" gives "f32[n]". */
static void infer_count(void* context, weft_op_call* call) {
  char type[64] = "";
  (void)context;
  if (sscanf(weft->op_call_operand_type(call, 0), "f32[%48[^,],", type + 4) != 1) {
    weft->op_call_fail(call, "the operand is a matrix of f32");
    return;
  }
  memcpy(type, "f32[", 4);
  strcat(type, "]");
  weft->op_call_set_type(call, 0, type);
}

static void evaluate_count(void* context, weft_op_call* call) {
  const weft_tensor* self = weft->op_call_operand(call, 0);
  const float limit = (float)weft->op_call_attr(call, "limit")->floats[0];
  const float* from = (const float*)((const char*)self->data + self->byte_offset);
  float* counts = weft->op_call_result(call, 0)->data;
  (void)context;
  for (int64_t i = 0; i < self->shape[0]; ++i) {
    for (int64_t j = 0; j < self->shape[1]; ++j) {
      counts[i] += from[i * self->strides[0] + j * self->strides[1]] > limit;
    }
  }
}

static const char kRules[] = "op squash(x, float limit = 1.0) = x / (1 + abs(x) / limit)";

static const char kModel[] =
    "func @main(%x: f32[n, 4]) -> (%counts: f32[n]) {\n"
    "  %0 = squash(%x, limit=2.0)\n"
    "  %1 = count_above(%0, limit=0.8)\n"
    "  return %1\n"
    "}\n";

static weft_error* make_program(weft_extensions* extensions, weft_program** program) {
  weft_op op = {0};
  op.struct_size = sizeof op;
  op.schema = "count_above(Tensor self, float limit=0.0) -> Tensor";
  op.infer = infer_count;
  op.evaluate = evaluate_count;
  weft_load_options options = {0};
  options.struct_size = sizeof options;
  options.extensions = extensions;
  weft_module* module = NULL;
  weft_error* error = weft->extensions_add_op(extensions, &op);
  if (error == NULL) {
    error = weft->extensions_add_rules(extensions, kRules, sizeof kRules - 1, "own_op.c");
  }
  if (error == NULL) {
    error = weft->module_parse_with(kModel, sizeof kModel - 1, "own_op.c", &options, &module);
  }
  if (error == NULL) error = weft->program_create(module, NULL, program);
  weft->module_destroy(module);
  return error;
}

int main(void) {
  weft = weft_get_api(WEFT_API_VERSION);
  if (weft == NULL || weft->struct_size < sizeof *weft) {
    fputs("own_op: libweft_c is older than its header\n", stderr);
    return 2;
  }
  float numbers[2][4] = {{-3, 1, 2, 3}, {0, 1, 1, 2}};
  int64_t shape[2] = {2, 4};
  weft_tensor input = {0};
  input.data = numbers;
  input.device.type = 1; /* Host memory. */
  input.ndim = 2;
  input.dtype.code = 2; /* Float. */
  input.dtype.bits = 32;
  input.dtype.lanes = 1;
  input.shape = shape;
  const weft_tensor* inputs[1] = {&input};
  weft_managed_tensor* output = NULL;
  weft_extensions* extensions = NULL;
  weft_program* program = NULL;
  const int ok = !failed(weft->extensions_create(&extensions)) &&
                 !failed(make_program(extensions, &program)) &&
                 !failed(weft->program_run(program, inputs, 1, &output, 1));
  if (ok) {
    const float* counts = output->tensor.data;
    printf("above the limit: %g and %g\n", counts[0], counts[1]);
    output->deleter(output);
  }
  weft->program_destroy(program);
  weft->extensions_destroy(extensions);
  return ok ? 0 : 1;
}
