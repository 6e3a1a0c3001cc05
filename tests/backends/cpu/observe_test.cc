// observe, compared with the reference executor.
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "graph/ops/quant/observer_state.h"
#include "gtest/gtest.h"
#include "tests/backends/cpu/routine_program.h"

namespace weft::cpu {
namespace {

using Dims = std::vector<int64_t>;

constexpr Tolerance kEqual = {0, 0};

// The state after `x` has equal bits.
void ExpectState(const HostTensor& x, const HostTensor& state, const std::string& attrs) {
  SCOPED_TRACE(attrs);
  const std::string type = state.type().ToString();
  ExpectRoutine(absl::StrCat("func @main(%x: ", x.type().ToString(), ", %s: ", type, ") -> ", type,
                             " { %y = observe(%x, %s, ", attrs, ") return %y }"),
                "observe", {x, state}, kEqual);
}

HostTensor Histogram(double most, double least = -1) {
  std::vector<double> values = {least, most};
  for (int i = 0; i < kObserverBins; ++i) values.push_back(i % 3);
  HostTensor state(DType::kF64, {2 + kObserverBins});
  state.WriteDoubles(values);
  return state;
}

// Elements that lie on the borders of bins, too.
HostTensor Steps(const Dims& dims, double step) {
  HostTensor x(DType::kF32, dims);
  std::vector<double> values(x.numel());
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = step * static_cast<double>(static_cast<int64_t>(i * 7919 % 4099) - 2000);
  }
  x.WriteDoubles(values);
  return x;
}

TEST(Observe, Histograms) {
  constexpr char kAttrs[] = "statistic=\"histogram\"";
  const HostTensor empty = InitialState("histogram");
  for (const Dims& dims : {Dims{7}, {3, 5}, {130, 129}, {33, 40, 41}}) {
    // Within the range, and beyond it to each side.
    for (const double step : {1.0 / 4096, 1.0 / 1024, 0.01, 3e-5}) {
      for (const double most : {1.0, 3.0}) {
        ExpectState(Steps(dims, step), Histogram(most), kAttrs);
      }
      ExpectState(Steps(dims, step), empty, kAttrs);
    }
    // 1 / 49 is rounded down: a product with it falls below borders on which the quotient lies.
    ExpectState(Steps(dims, 49.0 / 2048), Histogram(98, -98), kAttrs);
  }
}

// As many elements as are divided among threads.
TEST(Observe, ManyElements) {
  const HostTensor x = Steps({700, 1000}, 1.0 / 1024);
  ExpectState(x, Histogram(1), "statistic=\"histogram\"");
  ExpectState(x, InitialState("min_max"), "statistic=\"min_max\"");
}

// One value has a bin to each side; without a finite element the state stays.
TEST(Observe, HistogramsOfFewValues) {
  constexpr char kAttrs[] = "statistic=\"histogram\"";
  constexpr double kInf = std::numeric_limits<double>::infinity();
  for (const double value : {0.0, -0.0, 3.5, -1e30, 3e38, kInf, -kInf, std::nan("")}) {
    HostTensor x(DType::kF32, {5, 4});
    x.WriteDoubles(std::vector<double>(20, value));
    ExpectState(x, InitialState("histogram"), kAttrs);
    ExpectState(x, Histogram(2), kAttrs);
  }
  HostTensor x = Steps({300, 111}, 1.0 / 2048);
  std::vector<double> values = x.ReadDoubles();
  for (size_t i = 0; i < values.size(); i += 11) values[i] = i % 2 ? kInf : std::nan("");
  values[5] = -kInf;
  x.WriteDoubles(values);
  ExpectState(x, Histogram(1), kAttrs);
}

TEST(Observe, Extrema) {
  for (const char* statistic : {"min_max", "moving_average"}) {
    const std::string attrs = absl::StrCat("statistic=\"", statistic, "\", momentum=0.25");
    for (const Dims& dims : {Dims{9}, {3, 4, 5}, {17, 6, 401}}) {
      HostTensor x = Steps(dims, 0.01);
      std::vector<double> values = x.ReadDoubles();
      for (size_t i = 0; i < values.size(); i += 5) values[i] = i % 2 ? HUGE_VAL : std::nan("");
      x.WriteDoubles(values);
      HostTensor state(DType::kF32, {2});
      state.WriteDoubles({-0.75, 12.5});
      ExpectState(x, state, attrs);
      ExpectState(x, InitialState(statistic), attrs);
      for (size_t axis = 0; axis < dims.size(); ++axis) {
        const std::string by_slice = absl::StrCat(attrs, ", axis=", axis);
        ExpectState(x, InitialState(statistic, dims[axis]), by_slice);
        HostTensor slices(DType::kF32, {2, dims[axis]});
        std::vector<double> extrema(2 * dims[axis]);
        for (size_t i = 0; i < extrema.size(); ++i) extrema[i] = 0.5 * static_cast<double>(i) - 3;
        slices.WriteDoubles(extrema);
        ExpectState(x, slices, by_slice);
      }
    }
  }
}

TEST(Observe, OpenSizesAndNarrowNumbers) {
  const std::string open =
      "func @main(%x: f32[a, b], %s: f64[2050]) -> f64[2050] {"
      " %0 = permute(%x, dims=[1, 0]) %y = observe(%0, %s, statistic=\"histogram\") return %y }";
  const auto executable = RoutineProgram(open, "observe", {"native", 2});
  ASSERT_NE(executable, nullptr);
  for (const Dims& dims : {Dims{1, 1}, {4, 9}, {300, 100}}) {
    ExpectAsReference(*executable, open, {Steps(dims, 0.01), Histogram(1)}, kEqual);
  }
  for (const DType dtype : {DType::kF16, DType::kBF16}) {
    HostTensor x(dtype, {31, 5});
    x.WriteDoubles(Steps({31, 5}, 0.01).ReadDoubles());
    ExpectState(x, Histogram(1), "statistic=\"histogram\"");
    ExpectState(x, InitialState("min_max"), "statistic=\"min_max\"");
  }
}

}  // namespace
}  // namespace weft::cpu
