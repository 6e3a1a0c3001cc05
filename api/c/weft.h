/* Weft for programs in C, and in any language that calls C: load a model, run passes, compile, run,
 * write files. C99 or C++; of Weft's headers it stands on attr.h and status.h alone. Link
 * libweft_c.so.1, or load it and look up weft_get_api, the only name that it exports. Programs that
 * only open compiled files may link libweft_c_runtime.so.1, which has no compiler: entries that
 * need one are WEFT_UNIMPLEMENTED there, with their names.
 *
 *   const weft_api* weft = weft_get_api(WEFT_API_VERSION);
 *   weft_module* model = NULL;
 *   weft_program* program = NULL;
 *   weft_managed_tensor* output = NULL;
 *   weft_error* error = weft->module_load("model.onnx", NULL, &model);
 *   if (error == NULL) error = weft->program_create(model, NULL, &program);
 *   if (error == NULL) error = weft->program_run(program, inputs, 1, &output, 1);
 *   if (error != NULL) puts(weft->error_message(error));
 *
 * docs/c-api.md explains it, examples/c is a whole program.
 *
 * Versions. The table and the structs only grow, at their ends, and entries keep their meaning: a
 * program that was compiled with this header runs with every later libweft_c.so.1. Structs that the
 * caller fills with options begin with their size as the caller saw it. Members behind that size,
 * and members that are 0, have their defaults; a null pointer to such a struct means all defaults.
 * Structs of which there are arrays, and those of DLPack, never change.
 *
 * Errors. Functions that can fail return null, or an error that the caller destroys; what they
 * would have returned through pointers is then null. The message says what is wrong and where, in
 * terms of the input: the file, line and column, the node, the input and its dim. No exception
 * leaves a function. Null for a handle or a text that must be there is WEFT_INVALID_ARGUMENT.
 *
 * Ownership. A handle belongs to the caller, who destroys it; destroying null does nothing. Texts
 * and arrays that a function takes are copied. Those that it returns through a `const` pointer
 * belong to the handle they were asked of.
 *
 * Threads. Functions may be called from any thread. A program takes calls from several threads at
 * once; a module, an error, a text and a profile are each used by one thread at a time. */
#ifndef WEFT_API_C_WEFT_H_
#define WEFT_API_C_WEFT_H_

#include <stddef.h>
#include <stdint.h>

#include "api/c/attr.h"
#include "api/c/status.h"

#ifdef __cplusplus
extern "C" {
#endif

#define WEFT_API_VERSION 2

typedef struct weft_error weft_error;
typedef struct weft_text weft_text;
typedef struct weft_module weft_module;
typedef struct weft_program weft_program;
typedef struct weft_profile weft_profile;
typedef struct weft_extensions weft_extensions;
typedef struct weft_op_call weft_op_call;

/* --- Tensors: DLPack 1 ------------------------------------------------------------------------
 *
 * These have the layouts of DLPack's DLDataType, DLDevice, DLTensor and DLManagedTensorVersioned,
 * so a pointer to one may be cast to a pointer to the other. The device is kDLCPU (1) or
 * kDLCUDAHost (3), for tensors of program_run_on_device also program_device; lanes is 1.
 * Types are those of DLPack, and 4-bit integers as codes 0 and 1 with 4 bits, two in a byte. */

typedef struct weft_dl_type {
  uint8_t code; /* 0 signed, 1 unsigned, 2 float, 4 bfloat, 5 complex, 6 bool, 10 and more f8. */
  uint8_t bits;
  uint16_t lanes;
} weft_dl_type;

typedef struct weft_dl_device {
  int32_t type;
  int32_t id;
} weft_dl_device;

/* Strides are in elements and not negative; null: dense, in row-major order. Elements are aligned
 * to their size. */
typedef struct weft_tensor {
  void* data;
  weft_dl_device device;
  int32_t ndim;
  weft_dl_type dtype;
  int64_t* shape;
  int64_t* strides;
  uint64_t byte_offset;
} weft_tensor;

enum {
  WEFT_TENSOR_READ_ONLY = 1, /* The memory is shared: with constants of the model, with state. */
  WEFT_TENSOR_COPIED = 2
};

/* A tensor that whoever has the pointer owns, and gives back by deleter(self). */
typedef struct weft_managed_tensor {
  uint32_t version_major; /* 1 */
  uint32_t version_minor;
  void* context;
  void (*deleter)(struct weft_managed_tensor* self);
  uint64_t flags;
  weft_tensor tensor;
} weft_managed_tensor;

typedef struct weft_named_tensor {
  const char* name;
  const weft_tensor* tensor;
} weft_named_tensor;

typedef struct weft_named_state {
  const char* name;
  weft_managed_tensor* tensor;
} weft_named_state;

/* An input or output of a program. */
typedef struct weft_value_info {
  const char* name; /* May be empty. */
  const char* type; /* In the text form: "f32[batch, 3]", "symint[n]". */
  weft_dl_type dtype;
  int32_t ndim;
  const int64_t* shape; /* -1: a size that the model leaves open. */
  int32_t optional;     /* 1: an input that may be left out, because it has state or one value. */
} weft_value_info;

/* --- Options ---------------------------------------------------------------------------------- */

/* An option of a target, as text: {"threads", "2"}. */
typedef struct weft_option {
  const char* name;
  const char* value;
} weft_option;

typedef struct weft_load_options {
  size_t struct_size;
  /* Parameters of a .pt2 program become state, which can be exchanged by name; 0: constants. */
  int32_t parameters_as_state;
  /* The ops, rules and names in ONNX that the module, its clones and its programs use; they keep
   * what they need of it. Null: none. */
  weft_extensions* extensions;
} weft_load_options;

typedef struct weft_pass_options {
  size_t struct_size;
  const char* passes; /* A pipeline, or the name of one. Null: the target's own, else "default". */
  const char* target; /* The target that the passes read; null: none. */
  const char*
      verify; /* "none", "structure", "semantics", "semantics=rewrite"; null: "structure". */
} weft_pass_options;

typedef struct weft_program_options {
  size_t struct_size;
  const char* target; /* "cpu", "cuda", "reference"; null: "cpu". */
  const char* passes; /* Null: the target's own pipeline. */
  /* Sizes that the model leaves open are compiled in as "static" (one variant for each),
   * "symbolic" (one variant for all) or "automatic" (fixed until one changes); null: "automatic".
   */
  const char* dynamic;
  const weft_option* options; /* `run --help` lists them by target. */
  size_t num_options;
} weft_program_options;

/* For program_run_on_device. */
typedef struct weft_run_options {
  size_t struct_size;
  /* 1: the run is ordered in `stream`: behind all that the stream was given before the call, and
   * before all that it is given after it. The call may return before the run is done. 0: the run is
   * done when the call returns. */
  int32_t ordered;
  /* A stream of the GPU's primary context (CUstream, cudaStream_t); null: the legacy default
   * stream. */
  void* stream;
  /* By output: dense memory of program_device for it, of its type; null, and outputs behind
   * num_results: new memory. The result may overwrite an input. After an error the content is
   * undefined. */
  const weft_tensor* const* results;
  size_t num_results;
} weft_run_options;

/* For program_open. */
typedef struct weft_plan_options {
  size_t struct_size;
  const char* target; /* Null: "cpu". */
  int32_t threads;    /* 0: 1. */
  /* "all" compares the constants with the hashes that the file has of them, which reads all of
   * them; "none" does not (docs/deploy.md). Null: "all". */
  const char* check_weights;
  const char* cpu; /* "avx2" or "avx512": uses that instruction set at most. Null: "native". */
  /* 1: runs machine code that a .weftb file has, with the rights of the process. 0: interprets its
   * kernels; those of a .so are machine code in any case. */
  int32_t allow_code;
} weft_plan_options;

/* For module_compile. */
typedef struct weft_file_options {
  size_t struct_size;
  /* May name instruction sets of cpu, for each of which the file has a plan: "cpu:avx2,cpu:avx512".
   * Null: "cpu". */
  const char* target;
  const char* passes;  /* Null: the target's own pipeline. */
  int32_t strip_graph; /* 1: the plan alone. */
  int32_t strip_names; /* 1: without the names of source nodes. */
  int32_t pack;        /* 1: weights also as the routines of the CPU read them. */
  /* The compiler of C++ for machine code, which a .so always has; with a compiler a .weftb file has
   * it beside its plans, for programs that allow it. Null: "c++", for a .so alone. */
  const char* compiler;
} weft_file_options;

/* --- Own ops ----------------------------------------------------------------------------------
 *
 * An op is a schema, the types of its results and an evaluation on the CPU; equal operands and
 * attributes give equal results. Its functions are called from any thread, several at once. They
 * call no entries of the table but the op_call ones, and no exception leaves them. An op that is a
 * formula over other ops is given as text, to extensions_add_rules: it is fused and compiled like
 * the built-in ones. */

typedef struct weft_op {
  size_t struct_size;
  /* Operands, attributes and results: "scale(Tensor self, float factor=2.0) -> Tensor". Operands
   * are Tensor, Tensor? or, as the last one, Tensor[]; attributes int, float, bool, str, int[],
   * float[] or str[]; results are Tensor. */
  const char* schema;
  const char* doc;  /* Null: none. */
  const char* onnx; /* "com.acme::Scale": the operator as which ONNX models have it; null: none. */
  /* Gives the type of each result by op_call_set_type, for sizes that may be symbols. Null: all
   * have the type of operand `like`. */
  void (*infer)(void* context, weft_op_call* call);
  int32_t like;
  /* Fills the results. */
  void (*evaluate)(void* context, weft_op_call* call);
  void* context;
  /* Called when nothing uses the op any more, and at once after an error; null: nothing to do. */
  void (*destroy)(void* context);
} weft_op;

/* --- The table -------------------------------------------------------------------------------- */

typedef struct weft_api {
  size_t struct_size;
  uint32_t version; /* The highest that this library has. */

  /* "0.1": the version of Weft. */
  const char* (*library_version)(void);

  /* Errors and texts. The texts end with a null character. */
  weft_status (*error_code)(const weft_error* error);
  const char* (*error_message)(const weft_error* error);
  /* The entry of this table that failed: "module_load". */
  const char* (*error_function)(const weft_error* error);
  void (*error_destroy)(weft_error* error);
  const char* (*text_data)(const weft_text* text);
  size_t (*text_size)(const weft_text* text);
  void (*text_destroy)(weft_text* text);

  /* Modules. Reads .onnx, .pt2, .weft and .weftb files, or the text form. */
  weft_error* (*module_load)(const char* path, const weft_load_options* options,
                             weft_module** module);
  /* `name` stands for a file's in messages. */
  weft_error* (*module_parse)(const char* text, size_t size, const char* name,
                              weft_module** module);
  weft_error* (*module_clone)(const weft_module* module, weft_module** clone);
  void (*module_destroy)(weft_module* module);
  /* Runs passes on the module. After an error it is as the last pass left it. */
  weft_error* (*module_run_passes)(weft_module* module, const weft_pass_options* options);
  /* `format` is one of "text", "dot", "svg", "html", "model-explorer", "onnx", "plan", "cc",
   * "target" and "guards"; the plan is that of the module as it is, for the target ("cpu"). */
  weft_error* (*module_emit)(const weft_module* module, const char* format, const char* target,
                             weft_text** text);
  /* Writes an .onnx, .weft or .weftb file, aside first. */
  weft_error* (*module_save)(const weft_module* module, const char* path);
  /* Compiles a copy of the module and writes it with its plan into a .weftb file, or, for the
   * target "cpu" and with the system's compiler, with machine code into a shared object (.so). */
  weft_error* (*module_compile)(const weft_module* module, const char* path,
                                const weft_file_options* options);

  /* Programs. program_create compiles a copy of the module, at the first call for its sizes.
   * program_open takes a file as module_compile wrote it, and compiles nothing: kernels of a
   * .weftb file are interpreted, a .so is code, to load only if you would run it; inputs are state
   * once program_set_states has given them. */
  weft_error* (*program_create)(const weft_module* module, const weft_program_options* options,
                                weft_program** program);
  weft_error* (*program_open)(const char* path, const weft_plan_options* options,
                              weft_program** program);
  void (*program_destroy)(weft_program* program);
  size_t (*program_num_inputs)(const weft_program* program);
  size_t (*program_num_outputs)(const weft_program* program);
  /* Null for an index that is too large. */
  const weft_value_info* (*program_input)(const weft_program* program, size_t index);
  const weft_value_info* (*program_output)(const weft_program* program, size_t index);

  /* Runs. Inputs are only read, in place: nothing is copied, except by a program that writes state.
   * Null leaves an optional input out. Outputs are the caller's, who gives an array of
   * program_num_outputs pointers. Values that the program writes to inputs without state are
   * dropped. */
  weft_error* (*program_run)(weft_program* program, const weft_tensor* const* inputs,
                             size_t num_inputs, weft_managed_tensor** outputs, size_t num_outputs);
  weft_error* (*program_run_named)(weft_program* program, const weft_named_tensor* inputs,
                                   size_t num_inputs, weft_managed_tensor** outputs,
                                   size_t num_outputs);
  /* A run with other tensors for the named parameters and buffers. The state stays as it is, and
   * what the run writes to it is dropped. */
  weft_error* (*program_functional_call)(weft_program* program, const weft_named_tensor* state,
                                         size_t num_state, const weft_named_tensor* inputs,
                                         size_t num_inputs, weft_managed_tensor** outputs,
                                         size_t num_outputs);

  /* State: parameters and buffers by name; of a program of a file, its inputs with a name, which
   * have no value until it is set. */
  size_t (*program_num_states)(const weft_program* program);
  /* Null for an index that is too large. */
  const char* (*program_state_name)(const weft_program* program, size_t index);
  /* The present value, which later runs do not change: read-only memory of the program. */
  weft_error* (*program_state)(const weft_program* program, const char* name,
                               weft_managed_tensor** tensor);
  /* Takes the tensors and uses their memory; they are given back by their deleters when no run
   * reads them any more, and at once after an error. All of them change between two runs: no run
   * sees some old and some new ones. */
  weft_error* (*program_set_states)(weft_program* program, const weft_named_state* states,
                                    size_t num_states);
  /* The variants that were compiled, and why: for people. */
  weft_error* (*program_explain)(const weft_program* program, weft_text** text);

  /* Log lines, of the whole process. `settings` are those of --log: "+fusion,-shapes". `line` is
   * called from any thread, one line at a time, and must not call Weft; null: lines go to stderr.
   */
  weft_error* (*set_logs)(const char* settings);
  void (*set_log_callback)(void (*line)(void* context, const char* text, size_t size),
                           void* context);

  /* Profiles, one at a time in a process. The file is Chrome's trace (.json), Perfetto's
   * (.pftrace, not of the runtime), folded stacks (.folded) or the memory timeline (.csv), by its
   * name, each also with .gz. profile_stop destroys the profile; a null path writes nothing. */
  weft_error* (*profile_start)(weft_profile** profile);
  /* Ends a step of a loop, which the trace shows. */
  void (*profile_step)(weft_profile* profile);
  weft_error* (*profile_stop)(weft_profile* profile, const char* path);

  /* Extensions: ops and rules for modules that are loaded with them. Once a module has been,
   * nothing can be added. */
  weft_error* (*extensions_create)(weft_extensions** extensions);
  void (*extensions_destroy)(weft_extensions* extensions);
  weft_error* (*extensions_add_op)(weft_extensions* extensions, const weft_op* op);
  /* The text of a file of rules and ops (docs/rule-files.md); `name` stands for the file's in
   * messages. */
  weft_error* (*extensions_add_rules)(weft_extensions* extensions, const char* text, size_t size,
                                      const char* name);
  /* module_parse with options. */
  weft_error* (*module_parse_with)(const char* text, size_t size, const char* name,
                                   const weft_load_options* options, weft_module** module);

  /* Data of a call of an op's function. Pointers are valid until the function returns. */
  size_t (*op_call_num_operands)(const weft_op_call* call);
  /* In the text form: "f32[batch, 3]"; empty for an absent operand, null for an index that is too
   * large. */
  const char* (*op_call_operand_type)(const weft_op_call* call, size_t operand);
  /* Null for a name that the schema lacks. */
  const weft_attr* (*op_call_attr)(const weft_op_call* call, const char* name);
  /* In `infer`: the type in the text form, of sizes over the symbols of the operands' types. */
  void (*op_call_set_type)(weft_op_call* call, size_t result, const char* type);
  /* In `evaluate`: operands, to be read where they lie, with any strides, null for absent ones; and
   * results, dense and zero, to be written. Null for an index that is too large. */
  const weft_tensor* (*op_call_operand)(const weft_op_call* call, size_t operand);
  const weft_tensor* (*op_call_result)(const weft_op_call* call, size_t result);
  /* Ends the compilation or the run with an error that has the message. The first one counts. */
  void (*op_call_fail)(weft_op_call* call, const char* message);

  /* Host memory of programs that are created from now on, of the whole process: arenas, outputs and
   * packed weights. `allocate` returns memory at a multiple of `alignment`, or null if there is
   * none; `release` gets it back from any thread. Both null: the system's. */
  weft_error* (*set_allocator)(void* (*allocate)(void* context, size_t size, size_t alignment),
                               void (*release)(void* context, void* memory, size_t size),
                               void* context);

  /* Parallel loops of programs on the CPU that begin from now on, of the whole process. `run` calls
   * task(data, i) for each i from 0 to count - 1, in any threads and any order, at once or one
   * after another, and returns when all calls have returned; it is called from any thread, but not
   * by a task. It serves until the runs that began with it have ended. Null: threads of OpenMP. */
  weft_error* (*set_parallel_for)(void (*run)(void* context, int64_t count,
                                              void (*task)(void* data, int64_t index), void* data),
                                  void* context);

  /* Since version 2. Programs that program_create has made.
   *
   * The device in whose memory the program works: kDLCUDA (2) and the number of the GPU for the
   * target "cuda", kDLCPU (1) for others. */
  weft_error* (*program_device)(weft_program* program, weft_dl_device* device);
  /* program_run with tensors on that device. Each input lies there, dense, and is read where it
   * lies, or on the host, and is copied. Outputs lie there, but for integers that are sizes, which
   * are on the host. Those with memory of the options' `results` are null. State that runs write
   * stays on the device; program_state and runs on the host see its newest value.
   *
   * With a stream, the call submits the run and returns. An error that the run has afterwards, such
   * as an index out of bounds, is that of a later call, or of program_synchronize; until then
   * outputs may be wrong. The call waits if the host needs a value of the device, if an input is in
   * page-locked memory of the host, if a profile is recorded, and if the run writes state and may
   * fail because of data. The memory of inputs and results must be valid until the stream has
   * passed the run. `deleter` of an output, or of a copy, may be called from any thread, and at
   * once, also if a run has just read it: the memory is freed behind what the stream of its last
   * run was given before. The stream must exist until such tensors are deleted, and until
   * program_synchronize or program_destroy. Elements on the device are believed: bools are 0 or
   * 1. */
  weft_error* (*program_run_on_device)(weft_program* program, const weft_run_options* options,
                                       const weft_tensor* const* inputs, size_t num_inputs,
                                       weft_managed_tensor** outputs, size_t num_outputs);
  /* Waits for all runs of the program, and returns the first error that none of its calls has
   * returned. */
  weft_error* (*program_synchronize)(weft_program* program);
  /* A copy of the tensor in memory of `device`, which is program_device or {1, 0}. The tensor lies
   * on one of them. The copy is made behind all runs of the program, and done when the call
   * returns. */
  weft_error* (*program_copy_tensor)(weft_program* program, const weft_tensor* tensor,
                                     weft_dl_device device, weft_managed_tensor** copy);
} weft_api;

/* The table, which lives as long as the process; null if the library lacks that version. */
#if defined(__GNUC__)
__attribute__((visibility("default")))
#endif
const weft_api*
weft_get_api(uint32_t version);

#ifdef __cplusplus
}
#endif

#endif /* WEFT_API_C_WEFT_H_ */
