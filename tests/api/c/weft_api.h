// The C interface for tests: its table, with handles that destroy themselves.
#ifndef WEFT_TESTS_API_C_WEFT_API_H_
#define WEFT_TESTS_API_C_WEFT_API_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "api/c/weft.h"
#include "gtest/gtest.h"

namespace weft_api_test {

inline const weft_api& Weft() { return *weft_get_api(WEFT_API_VERSION); }

struct Error {
  weft_status code = WEFT_OK;
  std::string function;
  std::string message;
};

// Takes the error apart and destroys it.
inline Error Take(weft_error* error) {
  Error taken = {Weft().error_code(error), Weft().error_function(error),
                 Weft().error_message(error)};
  Weft().error_destroy(error);
  return taken;
}

#define ASSERT_FINE(call)                                            \
  do {                                                               \
    const Error error_of_call = Take(call);                          \
    ASSERT_EQ(error_of_call.code, WEFT_OK) << error_of_call.message; \
  } while (false)
#define EXPECT_FINE(call)                                            \
  do {                                                               \
    const Error error_of_call = Take(call);                          \
    EXPECT_EQ(error_of_call.code, WEFT_OK) << error_of_call.message; \
  } while (false)

struct Destroy {
  void operator()(weft_module* module) const { Weft().module_destroy(module); }
  void operator()(weft_program* program) const { Weft().program_destroy(program); }
  void operator()(weft_text* text) const { Weft().text_destroy(text); }
  void operator()(weft_managed_tensor* tensor) const { tensor->deleter(tensor); }
};
using Module = std::unique_ptr<weft_module, Destroy>;
using Program = std::unique_ptr<weft_program, Destroy>;
using Text = std::unique_ptr<weft_text, Destroy>;
using Output = std::unique_ptr<weft_managed_tensor, Destroy>;

inline Module Parse(absl::string_view text) {
  weft_module* module = nullptr;
  EXPECT_FINE(Weft().module_parse(text.data(), text.size(), "model.weft", &module));
  return Module(module);
}

inline Program Create(const Module& module, const weft_program_options* options = nullptr) {
  weft_program* program = nullptr;
  EXPECT_FINE(Weft().program_create(module.get(), options, &program));
  return Program(program);
}

// A tensor of the caller.
template <typename T>
struct Given {
  Given(weft_dl_type type, std::vector<int64_t> dims, std::vector<T> values)
      : shape(std::move(dims)), data(std::move(values)) {
    tensor.data = data.data();
    tensor.device = {1, 0};
    tensor.ndim = static_cast<int32_t>(shape.size());
    tensor.dtype = type;
    tensor.shape = shape.data();
  }
  Given(const Given&) = delete;

  std::vector<int64_t> shape;
  std::vector<int64_t> strides;
  std::vector<T> data;
  weft_tensor tensor = {};
};

inline constexpr weft_dl_type kF32 = {2, 32, 1};
inline constexpr weft_dl_type kI64 = {0, 64, 1};

using Floats = Given<float>;
inline std::unique_ptr<Floats> F32(std::vector<int64_t> dims, std::vector<float> values) {
  return std::make_unique<Floats>(kF32, std::move(dims), std::move(values));
}

inline std::vector<float> Read(const Output& output) {
  if (output == nullptr) return {};
  const weft_tensor& tensor = output->tensor;
  int64_t count = 1;
  for (int32_t i = 0; i < tensor.ndim; ++i) count *= tensor.shape[i];
  const auto* data =
      reinterpret_cast<const float*>(static_cast<const char*>(tensor.data) + tensor.byte_offset);
  return std::vector<float>(data, data + count);
}

inline std::vector<int64_t> Shape(const Output& output) {
  if (output == nullptr) return {};
  return std::vector<int64_t>(output->tensor.shape, output->tensor.shape + output->tensor.ndim);
}

inline Output Run1(const Program& program, const weft_tensor* input) {
  weft_managed_tensor* output = nullptr;
  EXPECT_FINE(Weft().program_run(program.get(), &input, 1, &output, 1));
  return Output(output);
}

inline Error RunError(const Program& program, const weft_tensor* input) {
  weft_managed_tensor* output = reinterpret_cast<weft_managed_tensor*>(&output);
  Error error = Take(Weft().program_run(program.get(), &input, 1, &output, 1));
  EXPECT_EQ(output, nullptr);
  return error;
}

inline constexpr char kDouble[] = R"(
func @main(%x: f32[s0, 3]) -> (%y: f32[s0, 3]) {
  %y = add(%x, %x)
  return %y
}
)";

inline std::string Emit(const Module& module, const char* format) {
  weft_text* text = nullptr;
  EXPECT_FINE(Weft().module_emit(module.get(), format, nullptr, &text));
  const Text owned(text);
  return std::string(Weft().text_data(text), Weft().text_size(text));
}

inline std::string Path(absl::string_view name) {
  return absl::StrCat(testing::TempDir(), "/", name);
}

}  // namespace weft_api_test

#endif  // WEFT_TESTS_API_C_WEFT_API_H_
