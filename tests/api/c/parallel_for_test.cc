// Loops of programs on threads of the host.
#include <atomic>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "api/c/weft.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/api/c/weft_api.h"

namespace weft_api_test {
namespace {

constexpr char kThreads[] = "3";

// Runs tasks one after another, from the last one on, and counts them.
struct Host {
  std::atomic<int64_t> tasks{0};

  static void Run(void* context, int64_t count, void (*task)(void* data, int64_t index),
                  void* data) {
    static_cast<Host*>(context)->tasks += count;
    for (int64_t i = count; i-- > 0;) task(data, i);
  }
};

int64_t ThreadsOfProcess() {
  const std::filesystem::directory_iterator threads("/proc/self/task");
  return std::distance(begin(threads), end(threads));
}

struct Case {
  const char* name;
  std::vector<int64_t> dims;
  std::string body;  // After "func @main(%x: f32[dims]) ".
  bool by_host = true;
};

std::vector<float> Numbers(int64_t count) {
  std::vector<float> numbers(count);
  for (int64_t i = 0; i < count; ++i) numbers[i] = static_cast<float>(i * 37 % 101) / 64 - 0.75f;
  return numbers;
}

std::vector<float> RunCase(const Case& c) {
  std::string dims;
  int64_t count = 1;
  for (const int64_t dim : c.dims) {
    absl::StrAppend(&dims, dims.empty() ? "" : ", ", dim);
    count *= dim;
  }
  const weft_option threads = {"threads", kThreads};
  weft_program_options options = {sizeof options};
  options.options = &threads;
  options.num_options = 1;
  const Program program =
      Create(Parse(absl::StrCat("func @main(%x: f32[", dims, "]) ", c.body)), &options);
  const auto x = F32(c.dims, Numbers(count));
  return Read(Run1(program, &x->tensor));
}

// x times a constant of 64 by 128.
std::string Matmul() {
  std::string rows;
  for (int64_t row = 0; row < 64; ++row) {
    absl::StrAppend(&rows, row == 0 ? "[" : ", [", absl::StrJoin(Numbers(128), ", "), "]");
  }
  return absl::StrCat("{\n  %w = constant(dense<[", rows,
                      "]>) : f32[64, 128]\n  %0 = matmul(%x, %w)\n  return %0\n}");
}

const std::vector<Case>& Cases() {
  static const auto& cases = *new std::vector<Case>{
      {"kernels", {512, 256}, R"({
  %0 = exp(%x)
  %1 = softmax(%0, dim=1)
  return %1
})"},
      {"matmul", {64, 64}, Matmul()},
      // oneDNN's with threads of OpenMP.
      {"large matmul", {1024, 64}, Matmul()},
      {"matmul of oneDNN",
       {256, 256},
       R"({
  %0 = matmul(%x, %x)
  return %0
})",
       /*by_host=*/false},
      {"attention", {1, 4, 128, 32}, R"({
  %0 = scaled_dot_product_attention(%x, %x, %x)
  return %0
})"},
      {"sort", {64, 2048}, R"({
  %0, %1 = sort(%x, dim=1)
  return %0
})"},
      {"cumsum", {64, 2048}, R"({
  %0 = cumsum(%x, dim=1)
  return %0
})"},
  };
  return cases;
}

// The first test of the process: no thread of OpenMP has begun.
TEST(WeftParallelForTest, NoOtherThreadBegins) {
  Host host;
  ASSERT_FINE(Weft().set_parallel_for(Host::Run, &host));
  const int64_t before = ThreadsOfProcess();
  std::vector<std::vector<float>> results;
  for (const Case& c : Cases()) {
    const int64_t tasks = host.tasks;
    results.push_back(RunCase(c));
    EXPECT_FALSE(results.back().empty()) << c.name;
    EXPECT_EQ(host.tasks > tasks, c.by_host) << c.name;
    EXPECT_EQ(ThreadsOfProcess(), before) << c.name;
  }
  ASSERT_FINE(Weft().set_parallel_for(nullptr, nullptr));
  const int64_t tasks = host.tasks;
  for (size_t i = 0; i < Cases().size(); ++i) {
    EXPECT_EQ(RunCase(Cases()[i]), results[i]) << Cases()[i].name;
  }
  EXPECT_EQ(host.tasks, tasks);
  EXPECT_GT(ThreadsOfProcess(), before);
}

}  // namespace
}  // namespace weft_api_test
