/* Devices out of tree: the C interface between Weft and a shared library that runs programs on a
 * device of its own. C11 or C++; of Weft's headers it stands on attr.h and status.h alone.
 *
 * A device says what it can do (a target, in the text form of targets), gives memory, copies, makes
 * code of single steps, and launches that code. Weft compiles a program for the target, and asks
 * the device for code of each step once the sizes are known. Where the device has none, the step
 * runs on the host, over copies, with a remark. examples/device is a whole device.
 *
 *   static const weft_device_api kApi = {
 *       .struct_size = sizeof kApi, .abi = WEFT_DEVICE_ABI, .name = "sim", .target = kTarget, ...};
 *   WEFT_DEVICE("sim", kApi)
 *
 * Versions. WEFT_DEVICE_ABI names this interface; a device that was made for another one is
 * refused before any of its code runs. Under one version structs only grow, at their ends: each
 * begins with its size as its maker saw it. Members behind that size count as null, and so does a
 * member that is null: "Missing entries", below, says what runs instead.
 *
 * Units. Sizes, offsets and extents of memory are bytes; dims and strides are elements; times are
 * nanoseconds of CLOCK_MONOTONIC.
 *
 * Ownership. What Weft passes to a function lives until that function returns, unless a comment
 * says otherwise; the device copies what it keeps. What a device makes (devices, memory, streams,
 * events, code, plans) Weft hands back to the device once, and not before the work that uses it is
 * done. The api struct and all that it points to live as long as the process.
 *
 * Threads. Weft calls the functions of one weft_device from one thread at a time. Functions of
 * several devices, and `open`, may be called at once. The functions of weft_host may be called from
 * any thread, and not after `close` has returned.
 *
 * Errors. A function that fails returns a status and writes why into `error`, which is never null.
 * It leaves nothing behind that would have to be handed back. No exception and no signal passes
 * between the device and Weft. */
#ifndef WEFT_API_C_DEVICE_H_
#define WEFT_API_C_DEVICE_H_

#include <stdint.h>

#include "api/c/attr.h"
#include "api/c/status.h"

#ifdef __cplusplus
extern "C" {
#endif

#define WEFT_DEVICE_ABI 1

/* --- Errors ---------------------------------------------------------------------------------- */

/* A device returns these: WEFT_INVALID_ARGUMENT, WEFT_RESOURCE_EXHAUSTED, WEFT_OUT_OF_RANGE,
 * WEFT_UNIMPLEMENTED (Weft does something else), WEFT_INTERNAL and WEFT_UNAVAILABLE. Another number
 * counts as WEFT_INTERNAL. */

#define WEFT_DEVICE_ERROR_TEXT 1024

typedef struct weft_device_error {
  int64_t launch;                    /* The number of the launch whose work failed; 0: not known. */
  char text[WEFT_DEVICE_ERROR_TEXT]; /* UTF-8, ends with a null character. Empty when the call
                                        begins. */
} weft_device_error;

/* --- Tensors and attributes ------------------------------------------------------------------ */

/* Element types. A 4-bit type has two elements in a byte. */
typedef int32_t weft_dtype;
enum {
  WEFT_BOOL = 0,
  WEFT_U4 = 1,
  WEFT_U8 = 2,
  WEFT_U16 = 3,
  WEFT_U32 = 4,
  WEFT_U64 = 5,
  WEFT_I4 = 6,
  WEFT_I8 = 7,
  WEFT_I16 = 8,
  WEFT_I32 = 9,
  WEFT_I64 = 10,
  WEFT_F8E4M3 = 11,
  WEFT_F8E5M2 = 12,
  WEFT_F8E4M3FNUZ = 13,
  WEFT_F8E5M2FNUZ = 14,
  WEFT_F16 = 15,
  WEFT_BF16 = 16,
  WEFT_F32 = 17,
  WEFT_F64 = 18,
  WEFT_C32 = 19,
  WEFT_C64 = 20,
  WEFT_C128 = 21,
  WEFT_F4E2M1 = 22,
  WEFT_F8E8M0 = 23,
};

typedef int32_t weft_tensor_kind;
enum {
  WEFT_ABSENT = 0,  /* An operand that is left out, or a result that nothing reads. */
  WEFT_TENSOR = 1,  /* A view of device memory. */
  WEFT_INTEGER = 2, /* An operand that is one integer, `value`; it has no memory. */
};

/* An operand or result of a step, with numbers for sizes. A launch gives the address of its first
 * element, the one whose indices are all 0. */
typedef struct weft_device_tensor {
  weft_tensor_kind kind;
  weft_dtype dtype;
  int32_t rank;
  const int64_t* dims;
  const int64_t* strides; /* In elements; negative or 0 where the tensor is only read. */
  int64_t bytes_before;   /* The step touches memory from bytes_before below ... */
  int64_t bytes_after;    /* ... to bytes_after behind the start of the first element. */
  int64_t value;
} weft_device_tensor;

/* An op that is applied to the result before it is stored. A target without epilogues gets none. */
typedef struct weft_epilogue {
  const char* op; /* "bias" adds args[arg] along the channels. */
  int32_t arg;    /* The other operand of a binary op, an index into args; -1: none. */
  int32_t num_attrs;
  const weft_attr* attrs;
} weft_epilogue;

typedef struct weft_device weft_device;
typedef struct weft_stream weft_stream;
typedef struct weft_event weft_event;
typedef struct weft_code weft_code;
typedef struct weft_plan weft_plan;

/* A generated kernel that Weft can interpret; 0: none. Good until the code that was made of it has
 * been released. */
typedef uint64_t weft_kernel;

/* A step that the device may have code for:
 *
 *   an op of a routine of the target   args and results as in the op's schema; operands of
 *                                      epilogues follow those of the op
 *   "copy"                             args[0] to results[0], of equal dims and dtypes
 *   "kernel"                           a generated kernel */
typedef struct weft_call {
  uint64_t struct_size;
  const char* op;
  const char* label; /* The name of the step in messages. */
  int32_t num_args;
  int32_t num_results;
  const weft_device_tensor* args;
  const weft_device_tensor* results;
  int32_t num_attrs;
  int32_t num_epilogues;
  const weft_attr* attrs;
  const weft_epilogue* epilogues;
  weft_kernel kernel;
  const char* kernel_name; /* In the text of the plan; empty for other steps. */
  weft_plan* plan;         /* The compiled plan that the step is part of; null: there is none. */
} weft_call;

typedef struct weft_launch {
  uint64_t struct_size;
  int64_t number; /* From 1; for weft_device_error.launch. */
  int32_t count;  /* Length of memory: arguments, then results. */
  int32_t reserved;
  void* const* memory; /* First elements, in device memory; null for what has no memory. */
  void* scratch;       /* As many bytes of device memory as find_code asked for. */
} weft_launch;

/* --- Functions of Weft for a device ---------------------------------------------------------- */

typedef struct weft_host {
  uint64_t struct_size;
  uint32_t abi;
  uint32_t reserved;

  /* Runs a generated kernel on the calling thread, in memory that the host can read and write. By
   * argument, then result: the address of the first element, and how many bytes there are from
   * bytes_before below it. The 64 bytes behind them are readable, too. */
  weft_status (*interpret)(weft_kernel kernel, void* const* memory, const int64_t* sizes,
                           int32_t count, weft_device_error* error);
  /* Work that the device did, for a trace; `profile` says when that is recorded. `stream` is a
   * number that the device chooses. */
  void (*record)(const char* device, int32_t stream, const char* name, int64_t begin, int64_t end);
  /* A line for the log of performance hints (--log=perf_hints). */
  void (*remark)(const char* text);
} weft_host;

/* --- The device ----------------------------------------------------------------------------- */

/* A setting of the device, given as text: `--device-option=NAME=VALUE`. */
typedef struct weft_device_option {
  const char* name;
  const char* default_value;
  const char* help;
} weft_device_option;

/* Missing entries. Entries that stand in one group are all there or all null.
 *
 *   open, close          every call gets a null device
 *   memory               the device works in the host's memory, and is given its addresses
 *   streams              every call is done when it returns, and gets a null stream
 *   events               one stream has all work, copies too
 *   code                 kernels and copies run on the host, over copies of device memory; ops run
 *                        on the reference executor
 *   release_code, compile_plan, release_plan, profile
 *                        Weft does not call them */
typedef struct weft_device_api {
  uint64_t struct_size;
  uint32_t abi; /* WEFT_DEVICE_ABI. */
  int32_t num_options;
  const char* name;   /* A letter, then letters, digits, '_' and '-': the value of --target. */
  const char* target; /* "target NAME { ... }", see graph/target/target_text.h. */
  const char* passes; /* The pipeline for models; null: "cpu", Weft's own for inference. */
  const weft_device_option* options;

  /* `values` are those of the options, in their order. `host` lives as long as the device. */
  weft_status (*open)(const weft_host* host, const char* const* values, weft_device** device,
                      weft_device_error* error);
  void (*close)(weft_device* device);

  /* Memory. `bytes` is at least 1; the address is a multiple of `alignment`, a power of two, and
   * need not be one of the host. `copy_in` has read `from`, memory of the host, when it returns.
   * `copy_out` may write `to`, memory of the host, at any time until the stream is synchronized. */
  weft_status (*allocate)(weft_device* device, int64_t bytes, int64_t alignment, void** memory,
                          weft_device_error* error);
  void (*deallocate)(weft_device* device, void* memory);
  weft_status (*copy_in)(weft_device* device, weft_stream* stream, void* to, const void* from,
                         int64_t bytes, weft_device_error* error);
  weft_status (*copy_out)(weft_device* device, weft_stream* stream, void* to, const void* from,
                          int64_t bytes, weft_device_error* error);

  /* Streams. Work of a stream takes effect in the order of its calls, and may do so after they have
   * returned. `stream_synchronize` returns when all of it is done, with the first error since the
   * last such call; work behind the one that failed is left out, but for events. */
  weft_status (*stream_create)(weft_device* device, weft_stream** stream, weft_device_error* error);
  void (*stream_destroy)(weft_device* device, weft_stream* stream);
  weft_status (*stream_synchronize)(weft_device* device, weft_stream* stream,
                                    weft_device_error* error);

  /* Events. `event_record` marks what the stream has been given so far; `stream_wait` holds back
   * what the other stream is given from now on until all of that is done, or has failed. Recorded
   * again, an event forgets what it marked; streams that wait already are not affected. */
  weft_status (*event_create)(weft_device* device, weft_event** event, weft_device_error* error);
  void (*event_destroy)(weft_device* device, weft_event* event);
  weft_status (*event_record)(weft_device* device, weft_event* event, weft_stream* stream,
                              weft_device_error* error);
  weft_status (*stream_wait)(weft_device* device, weft_stream* stream, weft_event* event,
                             weft_device_error* error);

  /* Code. `find_code` looks for code of one step, by op, dtypes, dims, strides and attributes;
   * WEFT_UNIMPLEMENTED: the device has none. `scratch` is 0 on entry: bytes of device memory that
   * each launch needs. `launch` submits the step; WEFT_UNIMPLEMENTED, before anything is written:
   * the step, if it calls a routine, runs on the reference executor. Steps do not overlap in one
   * stream, so that code may keep state between launches. */
  weft_status (*find_code)(weft_device* device, const weft_call* call, weft_code** code,
                           int64_t* scratch, weft_device_error* error);
  weft_status (*launch)(weft_device* device, weft_stream* stream, weft_code* code,
                        const weft_launch* launch, weft_device_error* error);
  void (*release_code)(weft_device* device, weft_code* code);

  /* A whole plan, in the text form of lowering/plan.h, before code of its steps is looked for: what
   * a device makes of it comes back in weft_call.plan. WEFT_UNIMPLEMENTED: the device makes
   * nothing of this plan. */
  weft_status (*compile_plan)(weft_device* device, const char* text, weft_plan** plan,
                              weft_device_error* error);
  void (*release_plan)(weft_device* device, weft_plan* plan);

  /* From now on the device records what it does (weft_host.record), or stops to. */
  void (*profile)(weft_device* device, int32_t on);
} weft_device_api;

/* --- Registration ---------------------------------------------------------------------------- */

/* At file scope, once in a shared library. `device_name`, a string literal, and the version are
 * written into a section of the file, which is read before the library is loaded. The section's
 * symbol is exported, so that linkers which drop unused sections keep it. */
#ifdef __cplusplus
#define WEFT_DEVICE_LINKAGE(...) \
  extern "C" {                   \
  __VA_ARGS__                    \
  }
#else
#define WEFT_DEVICE_LINKAGE(...) __VA_ARGS__
#endif
#define WEFT_DEVICE_EXPORT __attribute__((visibility("default")))
#define WEFT_DEVICE_STRING(x) WEFT_DEVICE_STRING_OF(x)
#define WEFT_DEVICE_STRING_OF(x) #x
#define WEFT_DEVICE(device_name, api)                                                              \
  WEFT_DEVICE_LINKAGE(WEFT_DEVICE_EXPORT extern const char weft_device_tag[];                      \
                      __attribute__((section("weft_device"), used)) const char weft_device_tag[] = \
                          "device ABI " WEFT_DEVICE_STRING(WEFT_DEVICE_ABI) ", " device_name;      \
                      WEFT_DEVICE_EXPORT const weft_device_api* weft_device_entry(void);           \
                      const weft_device_api* weft_device_entry(void) { return &(api); })

#ifdef __cplusplus
}
#endif

#endif /* WEFT_API_C_DEVICE_H_ */
