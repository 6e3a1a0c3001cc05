// What generated sources of models have in common. Words that begin with `$` are replaced.
#ifndef WEFT_BACKENDS_CPU_AOT_MODEL_SOURCE_TEXT_H_
#define WEFT_BACKENDS_CPU_AOT_MODEL_SOURCE_TEXT_H_

namespace weft::cpu {

// NAME.h.
inline constexpr char kModelHeaderText[] = R"(/* The model $NAME, compiled by Weft.
 *
 * $NAME.cc has its kernels, $NAME.weftb its plan and weights; a program needs both, and the runtime
 * of Weft. Tensors are dense, in row-major order; f16 and bf16 are given by their bits, bools as
 * bytes of 0 or 1. */
#ifndef $UPPER_H_
#define $UPPER_H_

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One thread at a time uses a model; a program may have several. */
typedef struct $NAME $NAME;

typedef struct $NAME_options {
  int32_t threads;      /* Threads of a run; 0: 1. */
  int32_t skip_hashes;  /* 1: does not compare the weights with the hashes that the file has. */
} $NAME_options;

/* Opens $NAME.weftb at its path, or with null the file that $NAME.cc was compiled with
 * (-D$UPPER_FILE='"$NAME.weftb"'). Null options: zeros. Returns null if it fails. */
$NAME* $NAME_create(const char* file, const $NAME_options* options);
void $NAME_destroy($NAME* model);

$STRUCTS/* 0, or 1 if it fails. The outputs are the model's: they last until it runs again. */
int $NAME_run($PARAMETERS);

/* The text of the last error in this thread. */
const char* $NAME_error(void);

#ifdef __cplusplus
}
#endif

#endif
)";

// The beginning of NAME.cc, up to the kernels.
inline constexpr char kModelProgramText[] =
    R"(// The model $NAME, compiled by Weft: its kernels, and what $NAME.h declares. To compile it for one
// of its instruction sets, and to link it:
//
$COMMANDS//   c++ ... $NAME.o $(pkg-config --libs weft_runtime) -l:libsleef.so.3
#ifdef __FAST_MATH__
#error "$NAME.cc: results depend on the order of operations; compile it without -ffast-math"
#endif

// The program around the kernels.
#ifndef $UPPER_KERNELS_ALONE

#include $HEADER

#include <algorithm>
#include <cstring>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "weft/api/runtime/runtime.h"
#include "weft/base/host_buffer.h"
#include "weft/graph/sym/sym_expr.h"

$TABLES
struct $NAME {
  weft::RuntimeProgram program;
  std::vector<weft::HostTensor> outputs;  // Those of the last run.
};

extern "C" const void* $NAME_entry(void);

namespace {

using weft::HostTensor;

thread_local std::string last_error;

// Stands for inputs that the plan has no use for.
[[maybe_unused]] constexpr char kNotRead[] = "";

int Report(const absl::Status& status) {
  last_error = std::string(status.message());
  return status.ok() ? 0 : 1;
}

std::optional<int64_t> ValueOf(weft::SymInt size, const int64_t* values) {
  return weft::Evaluate(size, [&](weft::SymInt symbol) -> std::optional<int64_t> {
    for (size_t i = 0; kSymbols[i] != nullptr; ++i) {
      if (symbol.name() == kSymbols[i]) return values[i];
    }
    return std::nullopt;
  });
}

// The input on the memory of the caller.
absl::StatusOr<HostTensor> InputOn(const weft::RuntimeProgram::Input& input, const int64_t* values,
                                   const void* data) {
  const auto bad = [&](const std::string& why) {
    return absl::InvalidArgumentError("input " + input.name + ", " + input.type.ToString() + ", " +
                                      why);
  };
  if (input.type.is_symint()) {
    const std::optional<int64_t> value = ValueOf(input.type.symint(), values);
    if (!value) return bad("has no value");
    return HostTensor::ScalarInt(weft::DType::kI64, *value);
  }
  std::vector<int64_t> dims;
  for (const weft::SymInt dim : input.type.dims()) {
    dims.push_back(ValueOf(dim, values).value_or(-1));
  }
  const std::optional<int64_t> numel = weft::CheckedNumel(dims);
  if (!numel || *numel >= int64_t{1} << 56) return bad("has no such sizes");
  if (data == nullptr && *numel > 0) return bad("is null");
  const weft::DType dtype = input.type.dtype();
  return HostTensor::View(
      weft::HostBuffer::Borrow(const_cast<void*>(data), weft::DTypeBytes(dtype, *numel)), dtype,
      dims);
}

absl::Status RunOn($NAME* model, const int64_t* values, const void* const* data) {
  std::vector<HostTensor> inputs, written;
  for (size_t i = 0; kInputs[i] != nullptr; ++i) {
    WEFT_ASSIGN_OR_RETURN(inputs.emplace_back(),
                          InputOn(model->program.inputs()[i], values, data[i]));
  }
  // Outputs, and new values, are dense, in memory of their own.
  WEFT_ASSIGN_OR_RETURN(model->outputs, model->program.Run(inputs, &written));
  for (size_t i = 0; i < written.size(); ++i) {
    if (!written[i].valid() || written[i].bytes() == 0) continue;
    std::memcpy(const_cast<void*>(data[i]), written[i].raw(), written[i].bytes());
  }
  return absl::OkStatus();
}

int RunModel($NAME* model, const int64_t* values, const void* const* data) {
  try {
    return Report(RunOn(model, values, data));
  } catch (const std::bad_alloc&) {
    return Report(absl::ResourceExhaustedError("there is not enough memory"));
  }
}

// True if the plan in the file takes and gives what the header says.
bool IsOfThisModel(const weft::RuntimeProgram& program) {
  size_t inputs = 0, outputs = 0;
  for (; kInputs[inputs] != nullptr; ++inputs) {
    if (inputs >= program.inputs().size() ||
        program.inputs()[inputs].type.ToString() != kInputs[inputs]) {
      return false;
    }
  }
  for (; kOutputs[outputs] != nullptr; ++outputs) {
    if (outputs >= program.outputs().size() ||
        program.outputs()[outputs].ToString() != kOutputs[outputs]) {
      return false;
    }
  }
  return inputs == program.inputs().size() && outputs == program.outputs().size();
}

}  // namespace

extern "C" {

$NAME* $NAME_create(const char* file, const $NAME_options* options) {
  weft::RuntimeProgramOptions open;
  if (options != nullptr && options->threads != 0) open.threads = options->threads;
  if (options != nullptr) open.check_weights = options->skip_hashes == 0;
  open.code = $NAME_entry();
  auto program = weft::RuntimeProgram::Open(file == nullptr ? "" : file, open);
  if (program.ok() && !IsOfThisModel(*program)) {
    program = absl::InvalidArgumentError(std::string(file == nullptr ? "" : file) +
                                         ": not the file that was written with $NAME.cc");
  }
  if (program.ok()) return new $NAME{*std::move(program), {}};
  Report(program.status());
  return nullptr;
}

void $NAME_destroy($NAME* model) { delete model; }

const char* $NAME_error(void) { return last_error.c_str(); }

$RUN
}  // extern "C"

#endif  // $UPPER_KERNELS_ALONE

// The kernels. Products and sums are rounded one by one, so that results are those of all other ways
// to run the model.
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#else
#pragma GCC optimize("wrapv,no-math-errno,no-trapping-math,fp-contract=off")
#pragma GCC diagnostic ignored "-Wpsabi"
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"
#pragma GCC diagnostic ignored "-Wsign-compare"
#pragma GCC diagnostic ignored "-Wtype-limits"
#pragma GCC diagnostic ignored "-Wunused-function"
#pragma GCC diagnostic ignored "-Wunused-parameter"
#pragma GCC diagnostic ignored "-Wunused-variable"
namespace $NAME_kernels {
)";

// The end of NAME.cc.
inline constexpr char kModelTablesText[] = R"(
#ifdef $UPPER_FILE
$FILE
#else
const unsigned char* const $NAME_file = nullptr;
const unsigned char* const $NAME_file_end = nullptr;
#endif
const ModelCode* const kCodes[] = {&$NAME_code};
const ModelEntry kEntry = {$VERSION, $NAME_file, $NAME_file_end, 1, kCodes};

}  // namespace $NAME_kernels

#ifdef $UPPER_KERNELS_ALONE
extern "C" const void* $ENTRY(void) { return &$NAME_kernels::kEntry; }
#else
extern "C" const void* $NAME_entry(void) { return &$NAME_kernels::kEntry; }
#endif
)";

}  // namespace weft::cpu

#endif  // WEFT_BACKENDS_CPU_AOT_MODEL_SOURCE_TEXT_H_
