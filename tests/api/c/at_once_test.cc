// Runs of one opened file in several threads at once, with the runtime alone, so that it can be
// built for ThreadSanitizer without the compiler.
#include <cstdint>
#include <map>
#include <thread>
#include <vector>

#include "api/c/weft.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/api/c/weft_api.h"

namespace weft_api_test {
namespace {

// softmax(relu(x @ w)) and its transpose, x of f32[rows, 24].
constexpr char kFile[] = "tests/serialize/flat/files/1.4-plan.weftb";

std::vector<float> Numbers(int64_t rows) {
  std::vector<float> numbers(rows * 24);
  for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<float>(i % 11) / 4;
  return numbers;
}

std::vector<float> RunRows(const Program& program, int64_t rows) {
  const auto x = F32({rows, 24}, Numbers(rows));
  const weft_tensor* input = &x->tensor;
  weft_managed_tensor* outputs[2] = {};
  EXPECT_FINE(Weft().program_run(program.get(), &input, 1, outputs, 2));
  const Output y(outputs[0]), transposed(outputs[1]);
  return Read(y);
}

TEST(WeftAtOnceTest, EightThreadsRunTheirSizes) {
  weft_program* opened = nullptr;
  weft_plan_options options = {sizeof options};
  options.cpu = "avx2";
  ASSERT_FINE(Weft().program_open(kFile, &options, &opened));
  const Program program(opened);
  std::map<int64_t, std::vector<float>> want;
  for (int64_t rows = 1; rows <= 16; ++rows) want[rows] = RunRows(program, rows);
  std::vector<std::thread> threads;
  for (int64_t thread = 0; thread < 8; ++thread) {
    threads.emplace_back([&, thread] {
      for (int64_t run = 0; run < 40; ++run) {
        const int64_t rows = 1 + (thread + run) % 16;
        EXPECT_EQ(RunRows(program, rows), want.at(rows)) << rows;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace weft_api_test
