/* sim: a device out of tree, simulated on the host.
 *
 * Its memory is its own: the addresses that it gives are reserved and cannot be read or written, so
 * that a host which follows one faults. Memory is poisoned when it comes and before it goes, and
 * lies between red zones, which each copy, launch and free looks at. Each stream is a thread with a
 * queue: calls return before their work is done. It has three routines (matmul, convolution, copy);
 * generated kernels are interpreted by Weft in the memory behind the addresses
 * (weft_host.interpret). Two options make it hard to please:
 *
 *   fail=ENTRY:N     the N-th call of that entry fails; late_copy_in, late_copy_out and late_launch
 *                    fail when the work is done, after the call has returned
 *   delay=N          each piece of work begins N microseconds late */
#define _GNU_SOURCE
#include <inttypes.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "weft/api/c/device.h"

enum { kMaxRank = 16, kPoison = 0xA5, kPage = 4096 };

/* --- The device and its memory --------------------------------------------------------------- */

typedef struct piece {
  char* hidden; /* The address for the host: a range, with a page behind it, of no access. */
  char* shadow; /* The bytes; a page before them and one behind `size` bytes are red zones. */
  int64_t bytes;
  size_t size; /* In whole pages; the bytes that are too many belong to the red zone. */
  struct piece* next;
} piece;

struct weft_device {
  const weft_host* host;
  char fail_entry[32];
  long fail_at;
  atomic_long fail_calls;
  useconds_t delay;
  atomic_int profiled;
  int streams;           /* Created so far. */
  int alive;             /* Streams, events and code that have not been handed back. */
  pthread_mutex_t mutex; /* Guards memory, queues and events. */
  pthread_cond_t changed;
  piece* pieces;
};

static weft_status fail(weft_device_error* error, weft_status status, const char* text) {
  snprintf(error->text, sizeof error->text, "%s", text);
  return status;
}

/* Counts the calls of the entry that is to fail; an error for the one that was asked for. */
static weft_status asked_to_fail(weft_device* device, const char* entry, weft_device_error* error) {
  if (strcmp(device->fail_entry, entry) != 0) return WEFT_OK;
  if (atomic_fetch_add(&device->fail_calls, 1) + 1 != device->fail_at) return WEFT_OK;
  return fail(error, WEFT_UNAVAILABLE, "the option fail asks for it");
}

/* Cleared memory; NULL, with an error, when there is none. */
static void* make(size_t bytes, weft_device_error* error) {
  void* made = calloc(1, bytes);
  if (made == NULL) fail(error, WEFT_RESOURCE_EXHAUSTED, "no memory");
  return made;
}

static weft_status sim_open(const weft_host* host, const char* const* values, weft_device** out,
                            weft_device_error* error) {
  if (host->struct_size < sizeof *host) return fail(error, WEFT_INTERNAL, "an older host");
  weft_device* device = make(sizeof *device, error);
  if (device == NULL) return WEFT_RESOURCE_EXHAUSTED;
  device->host = host;
  device->delay = (useconds_t)atol(values[1]);
  pthread_mutex_init(&device->mutex, NULL);
  pthread_cond_init(&device->changed, NULL);
  const int good = values[0][0] == '\0' ||
                   sscanf(values[0], "%31[a-z_]:%ld", device->fail_entry, &device->fail_at) == 2;
  if (!good) fail(error, WEFT_INVALID_ARGUMENT, "the option fail takes ENTRY:N");
  if (good && !asked_to_fail(device, "open", error)) return *out = device, WEFT_OK;
  free(device);
  return good ? WEFT_UNAVAILABLE : WEFT_INVALID_ARGUMENT;
}

static void sim_close(weft_device* device) {
  if (device->pieces != NULL) device->host->remark("sim: closed before all memory was handed back");
  if (device->alive != 0) device->host->remark("sim: closed before all handles were handed back");
  pthread_cond_destroy(&device->changed);
  pthread_mutex_destroy(&device->mutex);
  free(device);
}

static weft_status sim_allocate(weft_device* device, int64_t bytes, int64_t alignment,
                                void** memory, weft_device_error* error) {
  if (asked_to_fail(device, "allocate", error)) return WEFT_UNAVAILABLE;
  piece* p = make(sizeof *p, error);
  if (p == NULL) return WEFT_RESOURCE_EXHAUSTED;
  p->bytes = bytes;
  p->size = ((size_t)bytes + kPage - 1) / kPage * kPage;
  char* zone = alignment > kPage ? NULL : aligned_alloc(kPage, p->size + 2 * kPage);
  const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
  p->hidden = mmap(NULL, p->size + kPage, PROT_NONE, flags, -1, 0);
  if (zone == NULL || p->hidden == MAP_FAILED) {
    if (p->hidden != MAP_FAILED) munmap(p->hidden, p->size + kPage);
    free(zone), free(p);
    return fail(error, WEFT_RESOURCE_EXHAUSTED, "no memory");
  }
  memset(zone, kPoison, p->size + 2 * kPage);
  p->shadow = zone + kPage;
  pthread_mutex_lock(&device->mutex);
  p->next = device->pieces;
  device->pieces = p;
  pthread_mutex_unlock(&device->mutex);
  *memory = p->hidden;
  return WEFT_OK;
}

/* An error when a red zone has been written to. */
static weft_status check_zones(const piece* p, weft_device_error* error) {
  for (int64_t i = -kPage; i < (int64_t)p->size + kPage; ++i) {
    if (i == 0) i = p->bytes;
    if ((unsigned char)p->shadow[i] == kPoison) continue;
    snprintf(error->text, sizeof error->text,
             "byte %" PRId64 " of an allocation of %" PRId64 " bytes was written", i, p->bytes);
    return WEFT_INTERNAL;
  }
  return WEFT_OK;
}

static void sim_deallocate(weft_device* device, void* memory) {
  pthread_mutex_lock(&device->mutex);
  piece** at = &device->pieces;
  while ((*at)->hidden != memory) at = &(*at)->next;
  piece* p = *at;
  *at = p->next;
  pthread_mutex_unlock(&device->mutex);
  weft_device_error error = {0};
  if (check_zones(p, &error) != WEFT_OK) device->host->remark(error.text);
  memset(p->shadow, kPoison, p->size);
  munmap(p->hidden, p->size + kPage);
  free(p->shadow - kPage);
  free(p);
}

/* The piece that [address - before, address + after) lies in; NULL, with an error, for none. */
static piece* find_piece(weft_device* device, const void* address, int64_t before, int64_t after,
                         weft_device_error* error) {
  pthread_mutex_lock(&device->mutex);
  piece* p = device->pieces;
  while (p != NULL && (uintptr_t)address - (uintptr_t)p->hidden >= p->size + kPage) p = p->next;
  pthread_mutex_unlock(&device->mutex);
  if (p == NULL) return fail(error, WEFT_INVALID_ARGUMENT, "memory that sim does not have"), NULL;
  const int64_t at = (const char*)address - p->hidden;
  if (before <= at && after <= p->bytes - at) return p;
  snprintf(error->text, sizeof error->text,
           "bytes %" PRId64 " to %" PRId64 " of an allocation of %" PRId64 " bytes", at - before,
           at + after, p->bytes);
  return NULL;
}

/* --- Routines: plain loops over strides ------------------------------------------------------ */

typedef struct view {
  int kind, dtype, rank;
  int64_t dims[kMaxRank], strides[kMaxRank], before, after;
} view;

struct weft_code {
  void (*run)(const weft_code*, char* const*); /* Null: `kernel` is interpreted. */
  char label[128];
  weft_kernel kernel;
  int count;
  int64_t stride[kMaxRank], padding[kMaxRank], dilation[kMaxRank], groups;
  view views[]; /* Arguments, then results. */
};

/* The next index, the last dim fastest; 0 after the last one. */
static int next_index(int64_t* index, const int64_t* dims, int rank) {
  for (int d = rank - 1; d >= 0; --d) {
    if (++index[d] < dims[d]) return 1;
    index[d] = 0;
  }
  return 0;
}

static int64_t count_of(const int64_t* dims, int rank) {
  int64_t n = 1;
  for (int d = 0; d < rank; ++d) n *= dims[d];
  return n;
}

static int64_t offset_of(const view* v, const int64_t* index) {
  int64_t offset = 0;
  for (int d = 0; d < v->rank; ++d) offset += v->strides[d] * index[d];
  return offset;
}

static int bytes_of(int dtype) {
  static const int kBytes[] = {1, 0, 1, 2, 4, 8, 0, 1, 2, 4, 8, 1, 1, 1, 1, 2, 2, 4, 8, 4, 8, 16};
  return dtype < 0 || dtype > WEFT_C128 ? 0 : kBytes[dtype];
}

static void run_copy(const weft_code* code, char* const* memory) {
  const view* from = &code->views[0];
  const view* to = &code->views[1];
  const int size = bytes_of(from->dtype);
  int64_t index[kMaxRank] = {0};
  do {
    memcpy(memory[1] + offset_of(to, index) * size, memory[0] + offset_of(from, index) * size,
           (size_t)size);
  } while (next_index(index, to->dims, to->rank));
}

/* The offset of an operand's matrix; a dim of one element is repeated. */
static int64_t matrix_at(const view* v, const int64_t* index, int rank) {
  int64_t offset = 0;
  for (int d = 0; d + 2 < v->rank; ++d) {
    if (v->dims[d] > 1) offset += v->strides[d] * index[rank - v->rank + d];
  }
  return offset;
}

static void run_matmul(const weft_code* code, char* const* memory) {
  const view *a = &code->views[0], *b = &code->views[1], *c = &code->views[2];
  const int64_t inner = a->dims[a->rank - 1];
  const int64_t a_step = a->strides[a->rank - 1], b_step = b->strides[b->rank - 2];
  int64_t index[kMaxRank] = {0};
  do {
    const float* x = (const float*)memory[0] + matrix_at(a, index, c->rank) +
                     a->strides[a->rank - 2] * index[c->rank - 2];
    const float* y = (const float*)memory[1] + matrix_at(b, index, c->rank) +
                     b->strides[b->rank - 1] * index[c->rank - 1];
    double sum = 0;
    for (int64_t k = 0; k < inner; ++k) sum += (double)x[k * a_step] * y[k * b_step];
    ((float*)memory[2])[offset_of(c, index)] = (float)sum;
  } while (next_index(index, c->dims, c->rank));
}

/* One element of a convolution: the sum over a group's channels and the taps of the window. */
static double window_sum(const weft_code* code, const float* x, const float* w,
                         const int64_t* out) {
  const view *in = &code->views[0], *weight = &code->views[1];
  const int64_t first = out[1] / (weight->dims[0] / code->groups) * weight->dims[1];
  int64_t tap[kMaxRank] = {0}; /* A channel of the group, then the place in the window. */
  double sum = 0;
  if (count_of(weight->dims + 1, weight->rank - 1) == 0) return sum;
  do {
    int64_t from = out[0] * in->strides[0] + (first + tap[0]) * in->strides[1];
    int64_t at = out[1] * weight->strides[0] + tap[0] * weight->strides[1];
    int inside = 1;
    for (int d = 2; d < in->rank; ++d) {
      const int64_t i =
          out[d] * code->stride[d - 2] - code->padding[d - 2] + tap[d - 1] * code->dilation[d - 2];
      inside = inside && i >= 0 && i < in->dims[d];
      from += i * in->strides[d];
      at += tap[d - 1] * weight->strides[d];
    }
    if (inside) sum += (double)x[from] * w[at];
  } while (next_index(tap, weight->dims + 1, weight->rank - 1));
  return sum;
}

static void run_convolution(const weft_code* code, char* const* memory) {
  const view* result = &code->views[code->count - 1];
  const float* bias =
      code->count == 4 && code->views[2].kind == WEFT_TENSOR ? (const float*)memory[2] : NULL;
  int64_t index[kMaxRank] = {0};
  do {
    double sum = window_sum(code, (const float*)memory[0], (const float*)memory[1], index);
    if (bias != NULL) sum += bias[index[1] * code->views[2].strides[0]];
    ((float*)memory[code->count - 1])[offset_of(result, index)] = (float)sum;
  } while (next_index(index, result->dims, result->rank));
}

static weft_status run_code(weft_device* device, const weft_code* code, char* const* memory,
                            weft_device_error* error) {
  const view* result = &code->views[code->count - 1];
  if (code->run != NULL) {
    if (count_of(result->dims, result->rank) > 0) code->run(code, memory);
    return WEFT_OK;
  }
  int64_t sizes[code->count + 1];
  for (int i = 0; i < code->count; ++i) sizes[i] = code->views[i].before + code->views[i].after;
  return device->host->interpret(code->kernel, (void* const*)memory, sizes, code->count, error);
}

/* --- Which routine takes a step -------------------------------------------------------------- */

/* The first `n` integers of an attribute; 0 when it has fewer. */
static int read_ints(const weft_call* call, const char* name, int n, int64_t* to) {
  for (int a = 0; a < call->num_attrs; ++a) {
    const weft_attr* attr = &call->attrs[a];
    if (strcmp(attr->name, name) != 0 || attr->count < n) continue;
    for (int i = 0; i < n; ++i) to[i] = attr->ints[i];
    return 1;
  }
  return 0;
}

static int takes_convolution(const weft_call* call, weft_code* code) {
  const int n = call->args[0].rank - 2;
  int64_t transposed = 0;
  code->run = run_convolution;
  return call->num_results == 1 && call->num_args >= 2 &&
         read_ints(call, "transposed", 1, &transposed) && !transposed &&
         read_ints(call, "stride", n, code->stride) &&
         read_ints(call, "padding", n, code->padding) &&
         read_ints(call, "dilation", n, code->dilation) &&
         read_ints(call, "groups", 1, &code->groups) && code->groups > 0;
}

static int takes(const weft_call* call, weft_code* code) {
  code->kernel = call->kernel;
  if (strcmp(call->op, "kernel") == 0) return call->kernel != 0;
  if (strcmp(call->op, "copy") == 0) {
    code->run = run_copy;
    return code->count == 2 && bytes_of(call->args[0].dtype) > 0;
  }
  for (int i = 0; i < code->count; ++i) {
    if (code->views[i].kind != WEFT_ABSENT && code->views[i].dtype != WEFT_F32) return 0;
  }
  if (strcmp(call->op, "convolution") == 0) return takes_convolution(call, code);
  code->run = run_matmul;
  return strcmp(call->op, "matmul") == 0 && code->count == 3 && call->args[0].rank >= 2 &&
         call->args[1].rank >= 2;
}

static void sim_release_code(weft_device* device, weft_code* code) {
  --device->alive;
  free(code);
}

/* False for more dims than there is room for. */
static int copy_tensor(const weft_device_tensor* t, view* v) {
  if (t->rank > kMaxRank) return 0;
  *v = (view){t->kind, t->dtype, t->rank, .before = t->bytes_before, .after = t->bytes_after};
  for (int d = 0; d < t->rank; ++d) v->dims[d] = t->dims[d], v->strides[d] = t->strides[d];
  return 1;
}

static weft_status sim_find_code(weft_device* device, const weft_call* call, weft_code** out,
                                 int64_t* scratch, weft_device_error* error) {
  (void)scratch;
  if (asked_to_fail(device, "find_code", error)) return WEFT_UNAVAILABLE;
  const int count = call->num_args + call->num_results;
  weft_code* code = make(sizeof *code + (size_t)count * sizeof(view), error);
  if (code == NULL) return WEFT_RESOURCE_EXHAUSTED;
  code->count = count;
  snprintf(code->label, sizeof code->label, "%s", call->label);
  int good = 1;
  for (int i = 0; i < count; ++i) {
    const weft_device_tensor* t =
        i < call->num_args ? &call->args[i] : &call->results[i - call->num_args];
    good = good && copy_tensor(t, &code->views[i]);
  }
  if (!good || !takes(call, code)) return free(code), WEFT_UNIMPLEMENTED;
  ++device->alive;
  *out = code;
  return WEFT_OK;
}

/* --- Events and streams ---------------------------------------------------------------------- */

struct weft_event {
  uint64_t issued, done; /* Times that it was recorded, and that the mark was reached. */
};

typedef struct task {
  enum { kCopyIn, kCopyOut, kRun, kRecord, kWait } kind;
  struct task* next;
  char* memory; /* The device memory of a copy. */
  void* to;     /* The host's memory of a copy out. */
  int64_t bytes, number;
  const weft_code* code;
  weft_event* event;
  uint64_t mark;
  _Alignas(void*) char data[]; /* Bytes that are copied in; the addresses of operands. */
} task;

struct weft_stream {
  weft_device* device;
  int number, stop;
  pthread_t thread;
  task *first, *last; /* A task is in the queue until it is done. */
  weft_status status; /* Error of the first task that failed since the last synchronize. */
  weft_device_error error;
};

static weft_status run_task(weft_device* device, task* t, weft_device_error* error) {
  static const char* const kLate[] = {"late_copy_in", "late_copy_out", "late_launch"};
  if (asked_to_fail(device, kLate[t->kind], error)) return WEFT_UNAVAILABLE;
  const int count = t->kind == kRun ? t->code->count : 1;
  const view copied = {.kind = WEFT_TENSOR, .after = t->bytes};
  char** memory = t->kind == kRun ? (char**)t->data : &t->memory;
  piece* in[count];
  for (int i = 0; i < count; ++i) {
    const view* v = t->kind == kRun ? &t->code->views[i] : &copied;
    in[i] = NULL;
    if (v->kind != WEFT_TENSOR || v->before + v->after == 0) continue;
    in[i] = find_piece(device, memory[i], v->before, v->after, error);
    if (in[i] == NULL) return WEFT_INVALID_ARGUMENT;
    memory[i] = in[i]->shadow + (memory[i] - in[i]->hidden);
  }
  if (t->kind == kCopyIn) memcpy(memory[0], t->data, (size_t)t->bytes);
  if (t->kind == kCopyOut) memcpy(t->to, memory[0], (size_t)t->bytes);
  weft_status status = t->kind == kRun ? run_code(device, t->code, memory, error) : WEFT_OK;
  for (int i = 0; i < count && status == WEFT_OK; ++i) {
    if (in[i] != NULL) status = check_zones(in[i], error);
  }
  return status;
}

/* Marks are reached, and waited for, also behind work that failed. */
static void meet_event(weft_device* device, const task* t) {
  pthread_mutex_lock(&device->mutex);
  if (t->kind == kRecord && t->event->done < t->mark) t->event->done = t->mark;
  pthread_cond_broadcast(&device->changed);
  while (t->kind == kWait && t->event->done < t->mark) {
    pthread_cond_wait(&device->changed, &device->mutex);
  }
  pthread_mutex_unlock(&device->mutex);
}

static int64_t now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void do_task(weft_stream* stream, task* t) {
  if (stream->device->delay > 0) usleep(stream->device->delay);
  if (t->kind == kRecord || t->kind == kWait) {
    meet_event(stream->device, t);
  } else if (stream->status == WEFT_OK) {
    const int64_t begin = now();
    stream->error = (weft_device_error){.launch = t->number};
    stream->status = run_task(stream->device, t, &stream->error);
    if (atomic_load(&stream->device->profiled)) {
      const char* what = t->kind == kRun ? t->code->label : "copy";
      stream->device->host->record("sim", stream->number, what, begin, now());
    }
  }
}

static void* stream_main(void* argument) {
  weft_stream* stream = argument;
  weft_device* device = stream->device;
  pthread_mutex_lock(&device->mutex);
  while (stream->first != NULL || !stream->stop) {
    task* t = stream->first;
    if (t == NULL) {
      pthread_cond_wait(&device->changed, &device->mutex);
      continue;
    }
    pthread_mutex_unlock(&device->mutex);
    do_task(stream, t);
    pthread_mutex_lock(&device->mutex);
    stream->first = t->next;
    free(t);
    pthread_cond_broadcast(&device->changed);
  }
  pthread_mutex_unlock(&device->mutex);
  return NULL;
}

/* Adds a copy of the task, with a copy of `data`, for a call of `entry`. */
static weft_status submit(weft_device* device, weft_stream* stream, const char* entry,
                          const task* given, const void* data, size_t size,
                          weft_device_error* error) {
  if (asked_to_fail(device, entry, error)) return WEFT_UNAVAILABLE;
  task* t = make(sizeof *t + size, error);
  if (t == NULL) return WEFT_RESOURCE_EXHAUSTED;
  *t = *given;
  if (size > 0) memcpy(t->data, data, size);
  pthread_mutex_lock(&device->mutex);
  *(stream->first == NULL ? &stream->first : &stream->last->next) = t;
  stream->last = t;
  pthread_cond_broadcast(&device->changed);
  pthread_mutex_unlock(&device->mutex);
  return WEFT_OK;
}

static weft_status sim_stream_create(weft_device* device, weft_stream** out,
                                     weft_device_error* error) {
  if (asked_to_fail(device, "stream_create", error)) return WEFT_UNAVAILABLE;
  weft_stream* stream = make(sizeof *stream, error);
  if (stream == NULL) return WEFT_RESOURCE_EXHAUSTED;
  stream->device = device;
  stream->number = device->streams++;
  if (pthread_create(&stream->thread, NULL, stream_main, stream) != 0) {
    return free(stream), fail(error, WEFT_RESOURCE_EXHAUSTED, "no thread");
  }
  ++device->alive;
  *out = stream;
  return WEFT_OK;
}

static void sim_stream_destroy(weft_device* device, weft_stream* stream) {
  --device->alive;
  pthread_mutex_lock(&device->mutex);
  stream->stop = 1;
  pthread_cond_broadcast(&device->changed);
  pthread_mutex_unlock(&device->mutex);
  pthread_join(stream->thread, NULL);
  free(stream);
}

static weft_status sim_stream_synchronize(weft_device* device, weft_stream* stream,
                                          weft_device_error* error) {
  pthread_mutex_lock(&device->mutex);
  while (stream->first != NULL) pthread_cond_wait(&device->changed, &device->mutex);
  const weft_status status = stream->status;
  if (status != WEFT_OK) *error = stream->error;
  stream->status = WEFT_OK;
  pthread_mutex_unlock(&device->mutex);
  if (asked_to_fail(device, "stream_synchronize", error)) return WEFT_UNAVAILABLE;
  return status;
}

static weft_status sim_event_create(weft_device* device, weft_event** out,
                                    weft_device_error* error) {
  if (asked_to_fail(device, "event_create", error)) return WEFT_UNAVAILABLE;
  *out = make(sizeof **out, error);
  device->alive += *out != NULL;
  return *out != NULL ? WEFT_OK : WEFT_RESOURCE_EXHAUSTED;
}

static void sim_event_destroy(weft_device* device, weft_event* event) {
  --device->alive;
  free(event);
}

static weft_status sim_event_record(weft_device* device, weft_event* event, weft_stream* stream,
                                    weft_device_error* error) {
  const task t = {.kind = kRecord, .event = event, .mark = ++event->issued};
  const weft_status status = submit(device, stream, "event_record", &t, NULL, 0, error);
  if (status != WEFT_OK) --event->issued;
  return status;
}

static weft_status sim_stream_wait(weft_device* device, weft_stream* stream, weft_event* event,
                                   weft_device_error* error) {
  const task t = {.kind = kWait, .event = event, .mark = event->issued};
  return submit(device, stream, "stream_wait", &t, NULL, 0, error);
}

static weft_status sim_copy_in(weft_device* device, weft_stream* stream, void* to, const void* from,
                               int64_t bytes, weft_device_error* error) {
  if (find_piece(device, to, 0, bytes, error) == NULL) return WEFT_INVALID_ARGUMENT;
  const task t = {.kind = kCopyIn, .memory = to, .bytes = bytes};
  return submit(device, stream, "copy_in", &t, from, (size_t)bytes, error);
}

static weft_status sim_copy_out(weft_device* device, weft_stream* stream, void* to,
                                const void* from, int64_t bytes, weft_device_error* error) {
  if (find_piece(device, from, 0, bytes, error) == NULL) return WEFT_INVALID_ARGUMENT;
  const task t = {.kind = kCopyOut, .memory = (char*)from, .to = to, .bytes = bytes};
  return submit(device, stream, "copy_out", &t, NULL, 0, error);
}

static weft_status sim_launch(weft_device* device, weft_stream* stream, weft_code* code,
                              const weft_launch* launch, weft_device_error* error) {
  if (launch->count != code->count) return fail(error, WEFT_INTERNAL, "too few operands");
  const task t = {.kind = kRun, .code = code, .number = launch->number};
  return submit(device, stream, "launch", &t, launch->memory, code->count * sizeof(void*), error);
}

static void sim_profile(weft_device* device, int32_t on) { atomic_store(&device->profiled, on); }

/* --- Target, options and entries -------------------------------------------------------------- */

static const char kTarget[] =
    "target sim {\n"
    "  composites = [fused]\n"
    "  routine matmul { ops = [matmul] dtypes = [f32] min_rank = 2 strided = [0, 1, result] }\n"
    "  routine convolution {\n"
    "    ops = [convolution] dtypes = [f32] min_rank = 3 max_rank = 8 channel_dim = 1\n"
    "    constant_attrs = [stride, padding, dilation, output_padding, groups]\n"
    "    strided = [0, 1, 2, result]\n"
    "  }\n"
    "}\n";

static const weft_device_option kOptions[] = {
    {"fail", "", "ENTRY:N: the N-th call of that entry fails"},
    {"delay", "0", "Microseconds by which each piece of work begins late"},
};

#define ENTRY(name) .name = sim_##name

/* clang-format off */
static const weft_device_api kApi = {
    .struct_size = sizeof kApi, .abi = WEFT_DEVICE_ABI, .name = "sim", .target = kTarget,
    .num_options = sizeof kOptions / sizeof kOptions[0], .options = kOptions,
    ENTRY(open), ENTRY(close), ENTRY(allocate), ENTRY(deallocate), ENTRY(copy_in), ENTRY(copy_out),
    ENTRY(stream_create), ENTRY(stream_destroy), ENTRY(stream_synchronize), ENTRY(event_create),
    ENTRY(event_destroy), ENTRY(event_record), ENTRY(stream_wait), ENTRY(find_code), ENTRY(launch),
    ENTRY(release_code), ENTRY(profile)};
/* clang-format on */

WEFT_DEVICE("sim", kApi)
