// cumsum, cumprod, cummax, cummin, sort, topk, scatter and scatter_nd, compared with the reference
// executor.
#include <cmath>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "backends/cpu/target.h"
#include "backends/reference/executor.h"
#include "graph/ir/module.h"
#include "gtest/gtest.h"
#include "lowering/lower.h"
#include "tests/backends/cpu/routine_program.h"
#include "tests/support/parse.h"

namespace weft::cpu {
namespace {

using Dims = std::vector<int64_t>;

constexpr Tolerance kEqual = {0, 0};

// Few different values of both signs, so that the order of equal ones shows; zeros of both signs
// and NaN among floats.
HostTensor Repeating(DType dtype, const Dims& dims) {
  HostTensor t(dtype, dims);
  std::vector<double> values(t.numel());
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<double>(i * 7919 % 89 % 23);
    if (IsSignedInt(dtype) || IsFloat(dtype)) values[i] -= 11;
    if (!IsFloat(dtype)) continue;
    if (i % 41 == 3) values[i] = std::nan("");
    if (i % 29 == 7) values[i] = -0.0;
    if (i % 97 == 13) values[i] = i % 2 ? HUGE_VAL : -HUGE_VAL;
  }
  t.WriteDoubles(values);
  return t;
}

HostTensor Indices(DType dtype, const Dims& dims, int64_t bound) {
  HostTensor t(dtype, dims);
  std::vector<double> values(t.numel());
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<double>(static_cast<int64_t>(i * 7919 % 1009) % (2 * bound) - bound);
  }
  t.WriteDoubles(values);
  return t;
}

std::string With(absl::string_view text, absl::string_view dtype) {
  return absl::StrReplaceAll(text, {{"T[", absl::StrCat(dtype, "[")}});
}

TEST(Scan, AddsUpAndMultiplies) {
  for (const char* dtype : {"f32", "f64", "f16", "bf16", "i32", "i64"}) {
    for (const char* op : {"cumsum", "cumprod"}) {
      for (const char* attrs : {"dim=1", "dim=-1, reverse=true", "dim=0, exclusive=true",
                                "dim=1, exclusive=true, reverse=true"}) {
        const std::string text =
            With(absl::StrCat("func @main(%x: T[5, 70, 131]) -> T[5, 70, 131] { %y = ", op, "(%x, ",
                              attrs, ") return %y }"),
                 dtype);
        const DType type = *ParseDType(dtype);
        HostTensor x =
            IsFloat(type) ? Noise(type, {5, 70, 131}, 1.2, 3) : Repeating(type, {5, 70, 131});
        ExpectRoutine(text, op, {x}, kEqual);
      }
    }
  }
}

TEST(Scan, OpenSizes) {
  const std::string text =
      "func @main(%x: f32[a, b]) -> f32[a, b] where a >= 0, b >= 1 { %y = cumsum(%x, dim=0) return "
      "%y }";
  const auto executable = RoutineProgram(text, "cumsum", {"native", 2});
  ASSERT_NE(executable, nullptr);
  for (const Dims& dims : {Dims{1, 1}, {4, 9}, {300, 100}}) {
    ExpectAsReference(*executable, text, {Repeating(DType::kF32, dims)}, kEqual);
  }
}

// Several lines at once, narrow floats a part of them at a time.
TEST(Scan, LinesBehindEachOther) {
  for (const char* dtype : {"f32", "f64", "f16", "bf16", "i32", "i64"}) {
    const DType type = *ParseDType(dtype);
    for (const std::string attrs : {"dim=1", "dim=1, reverse=true", "dim=1, exclusive=true",
                                    "dim=1, exclusive=true, reverse=true"}) {
      for (const char* op : {"cumsum", "cumprod"}) {
        HostTensor x = Noise(type, {15, 700}, 1.5, 3);
        if (!IsFloat(type)) x = Repeating(type, {15, 700});
        ExpectRoutine(With(absl::StrCat("func @main(%x: T[15, 700]) -> T[15, 700] { %y = ", op,
                                        "(%x, ", attrs, ") return %y }"),
                           dtype),
                      op, {x}, kEqual);
      }
    }
    ExpectRoutine(
        With("func @main(%x: T[2, 3000]) -> T[2, 3000] { %y = cumsum(%x, dim=1) return %y }",
             dtype),
        "cumsum", {Repeating(type, {2, 3000})}, kEqual);
    // A first element of -0 stays.
    HostTensor zeros(type, {9, 300});
    if (IsFloat(type)) zeros.WriteDoubles(std::vector<double>(9 * 300, -0.0));
    for (const char* dim : {"0", "1"}) {
      ExpectRoutine(With(absl::StrCat("func @main(%x: T[9, 300]) -> T[9, 300] { %y = cumsum(%x,"
                                      " dim=",
                                      dim, ") return %y }"),
                         dtype),
                    "cumsum", {zeros}, kEqual);
    }
  }
}

// Long lines in which few elements win, or all do, and the same ones over and over.
TEST(Scan, ExtremaOfLongLines) {
  constexpr int64_t kSize = 1000;
  for (const char* dtype : {"u8", "i16", "i32", "u64", "bf16", "f32", "f64"}) {
    const DType type = *ParseDType(dtype);
    for (const int kind : {0, 1, 2, 3, 4}) {
      HostTensor x = Noise(type, {3, kSize}, 100, kind + 1);
      std::vector<double> values = x.ReadDoubles();
      for (size_t i = 0; i < values.size(); ++i) {
        const auto at = static_cast<double>(i % kSize);
        if (kind == 1) values[i] = at / 8;
        if (kind == 2) values[i] = 120 - at / 8;
        if (kind == 3) values[i] = i % 64 == 63 ? 9 : 3;
        if (kind == 4 && IsFloat(type) && i % 300 == 250) values[i] = std::nan("");
      }
      x.WriteDoubles(values);
      for (const char* op : {"cummax", "cummin"}) {
        ExpectRoutine(With(absl::StrCat("func @main(%x: T[3, 1000]) -> (T[3, 1000], i64[3, 1000])"
                                        " { %y, %i = ",
                                        op, "(%x, dim=1) return %y, %i }"),
                           dtype),
                      op, {x}, kEqual);
      }
    }
  }
}

TEST(Scan, FindsExtremaAndWhereTheyStand) {
  for (const char* dtype : {"bool", "i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64", "f16",
                            "bf16", "f32", "f64"}) {
    for (const char* op : {"cummax", "cummin"}) {
      for (const char* dim : {"0", "1", "-1"}) {
        const std::string text =
            With(absl::StrCat("func @main(%x: T[3, 70, 41]) -> (T[3, 70, 41], i64[3, 70, 41]) {"
                              " %y, %i = ",
                              op, "(%x, dim=", dim, ") return %y, %i }"),
                 dtype);
        ExpectRoutine(text, op, {Repeating(*ParseDType(dtype), {3, 70, 41})}, kEqual);
      }
    }
  }
  ExpectRoutine("func @main(%x: f32[9, 20]) -> i64[9, 20] { %y, %i = cummin(%x, dim=1) return %i }",
                "cummin", {Repeating(DType::kF32, {9, 20})}, kEqual);
  ExpectRoutine("func @main(%x: f32[9, 20]) -> f32[9, 20] { %y, %i = cummax(%x, dim=0) return %y }",
                "cummax", {Repeating(DType::kF32, {9, 20})}, kEqual);
}

TEST(Sort, KeepsTheOrderOfEqualElements) {
  for (const char* dtype : {"bool", "i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64", "f16",
                            "bf16", "f32", "f64"}) {
    for (const char* attrs : {"dim=1", "dim=0, descending=true", "descending=true"}) {
      const std::string text =
          With(absl::StrCat("func @main(%x: T[3, 37, 201]) -> (T[3, 37, 201], i64[3, 37, 201]) {"
                            " %y, %i = sort(%x, ",
                            attrs, ") return %y, %i }"),
               dtype);
      ExpectRoutine(text, "sort", {Repeating(*ParseDType(dtype), {3, 37, 201})}, kEqual);
    }
  }
}

TEST(Sort, FindsTheFirstElements) {
  for (const char* dtype : {"f32", "i64", "bf16"}) {
    for (const char* largest : {"true", "false"}) {
      for (const int k : {0, 1, 5, 199, 200}) {
        const std::string text =
            absl::StrReplaceAll(With("func @main(%x: T[41, 200]) -> (T[41, K], i64[41, K]) {"
                                     " %y, %i = topk(%x, k=K, largest=L) return %y, %i }",
                                     dtype),
                                {{"K", absl::StrCat(k)}, {"L)", absl::StrCat(largest, ")")}});
        ExpectRoutine(text, "topk", {Repeating(*ParseDType(dtype), {41, 200})}, kEqual);
      }
    }
  }
}

TEST(Sort, DividesLinesAmongThreads) {
  const HostTensor x = Repeating(DType::kF32, {70, 1000});
  ExpectRoutine(
      "func @main(%x: f32[6, 50000]) -> (f32[6, 50000], i64[6, 50000]) {"
      " %y, %i = sort(%x) return %y, %i }",
      "sort", {Repeating(DType::kF32, {6, 50000})}, kEqual);
  ExpectRoutine(
      "func @main(%x: f32[70, 1000]) -> (f32[70, 20], i64[70, 20]) {"
      " %y, %i = topk(%x, k=20) return %y, %i }",
      "topk", {x}, kEqual);
}

// One of the results is not used.
TEST(Sort, LeavesResultsOut) {
  ExpectRoutine("func @main(%x: f32[9, 20]) -> i64[9, 4] { %y, %i = topk(%x, k=4) return %i }",
                "topk", {Repeating(DType::kF32, {9, 20})}, kEqual);
  ExpectRoutine("func @main(%x: i64[9, 20]) -> i64[9, 20] { %y, %i = sort(%x) return %y }", "sort",
                {Repeating(DType::kI64, {9, 20})}, kEqual);
}

TEST(Scatter, ReplacesAndCombines) {
  for (const char* dtype :
       {"f32", "f64", "f16", "bf16", "i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64"}) {
    for (const char* reduce : {"none", "add", "mul", "max", "min"}) {
      const DType type = *ParseDType(dtype);
      const HostTensor self = Repeating(type, {13, 6}), updates = Noise(type, {80, 9}, 2, 5);
      ExpectRoutine(absl::StrReplaceAll(
                        With("func @main(%x: T[13, 6], %i: i64[70, 5], %u: T[80, 9]) -> T[13, 6] {"
                             " %y = scatter(%x, %i, %u, dim=0, reduce=\"R\") return %y }",
                             dtype),
                        {{"\"R\"", absl::StrCat("\"", reduce, "\"")}}),
                    "scatter", {self, Indices(DType::kI64, {70, 5}, 13), updates}, {1e-5, 1e-6});
      ExpectRoutine(absl::StrReplaceAll(
                        With("func @main(%x: T[13, 6], %i: i32[70, 1], %u: T[70, 6]) -> T[13, 6] {"
                             " %y = scatter_nd(%x, %i, %u, reduce=\"R\") return %y }",
                             dtype),
                        {{"\"R\"", absl::StrCat("\"", reduce, "\"")}}),
                    "scatter_nd",
                    {self, Indices(DType::kI32, {70, 1}, 13), Noise(type, {70, 6}, 2, 5)},
                    {1e-5, 1e-6});
    }
  }
}

TEST(Scatter, MovesAllElements) {
  for (const char* dtype : {"bool", "i8", "u16", "bf16", "f64"}) {
    const DType type = *ParseDType(dtype);
    ExpectRoutine(
        With("func @main(%x: T[4, 5, 3], %i: i64[2, 2], %u: T[2, 3]) -> T[4, 5, 3] {"
             " %y = scatter_nd(%x, %i, %u) return %y }",
             dtype),
        "scatter_nd",
        {Repeating(type, {4, 5, 3}), Indices(DType::kI64, {2, 2}, 4), Repeating(type, {2, 3})},
        kEqual);
    ExpectRoutine(
        With("func @main(%x: T[4, 5], %i: i64[3, 2], %u: T[3, 4]) -> T[4, 5] {"
             " %y = scatter(%x, %i, %u, dim=-1) return %y }",
             dtype),
        "scatter",
        {Repeating(type, {4, 5}), Indices(DType::kI64, {3, 2}, 5), Repeating(type, {3, 4})},
        kEqual);
  }
}

// Indices and updates are views: repeated along dims, transposed, with steps.
TEST(Scatter, ReadsViews) {
  const HostTensor self = Repeating(DType::kF32, {4, 9, 6});
  const HostTensor line = Indices(DType::kI64, {5}, 9);
  for (const char* reduce : {"none", "add"}) {
    const auto with = [&](const char* text) {
      return absl::StrReplaceAll(text, {{"\"R\"", absl::StrCat("\"", reduce, "\"")}});
    };
    ExpectRoutine(with(R"(
        func @main(%x: f32[4, 9, 6], %i: i64[5], %u: f32[5, 4, 6]) -> f32[4, 9, 6] {
          %0 = reshape(%i, size=[1, 5, 1])
          %1 = expand(%0, size=[4, 5, 6])
          %2 = permute(%u, dims=[1, 0, 2])
          %y = scatter(%x, %1, %2, dim=1, reduce="R")
          return %y
        })"),
                  "scatter", {self, line, Noise(DType::kF32, {5, 4, 6}, 2, 5)}, {1e-5, 1e-6});
    ExpectRoutine(with(R"(
        func @main(%x: f32[4, 9, 6], %i: i64[6, 7, 4], %u: f32[4, 14, 6]) -> f32[4, 9, 6] {
          %0 = permute(%i, dims=[2, 1, 0])
          %1 = slice(%u, dim=1, start=0, end=14, step=2)
          %y = scatter(%x, %0, %1, dim=1, reduce="R")
          return %y
        })"),
                  "scatter",
                  {self, Indices(DType::kI64, {6, 7, 4}, 9), Noise(DType::kF32, {4, 14, 6}, 2, 5)},
                  {1e-5, 1e-6});
    ExpectRoutine(with(R"(
        func @main(%x: f32[4, 9, 6], %i: i64[5, 9, 6], %u: f32[5, 6, 9]) -> f32[4, 9, 6] {
          %0 = permute(%u, dims=[0, 2, 1])
          %y = scatter(%x, %i, %0, dim=0, reduce="R")
          return %y
        })"),
                  "scatter",
                  {self, Indices(DType::kI64, {5, 9, 6}, 4), Noise(DType::kF32, {5, 6, 9}, 2, 5)},
                  {1e-5, 1e-6});
    ExpectRoutine(with(R"(
        func @main(%x: f32[4, 9, 6], %i: i64[2, 5], %u: f32[6, 5]) -> f32[4, 9, 6] {
          %0 = permute(%i, dims=[1, 0])
          %1 = permute(%u, dims=[1, 0])
          %y = scatter_nd(%x, %0, %1, reduce="R")
          return %y
        })"),
                  "scatter_nd",
                  {self, Indices(DType::kI64, {2, 5}, 4), Noise(DType::kF32, {6, 5}, 2, 5)},
                  {1e-5, 1e-6});
  }
}

// More updates than places that are found at once, and enough for several threads.
TEST(Scatter, ManyUpdates) {
  for (const char* dtype : {"f32", "bf16", "i64", "u8"}) {
    const DType type = *ParseDType(dtype);
    // The order of updates to an element shows.
    const Tolerance tolerance = IsFloat(type) ? Tolerance{1e-4, 1e-4} : kEqual;
    for (const char* reduce : {"none", "add", "max"}) {
      for (const char* index : {"i32", "i64"}) {
        const auto with = [&](absl::string_view text) {
          return absl::StrReplaceAll(
              With(text, dtype),
              {{"\"R\"", absl::StrCat("\"", reduce, "\"")}, {"I[", absl::StrCat(index, "[")}});
        };
        const DType indices = *ParseDType(index);
        ExpectRoutine(
            with("func @main(%x: T[500], %i: I[2600], %u: T[2600]) -> T[500] {"
                 " %y = scatter(%x, %i, %u, dim=0, reduce=\"R\") return %y }"),
            "scatter",
            {Repeating(type, {500}), Indices(indices, {2600}, 500), Noise(type, {2600}, 2, 5)},
            tolerance);
        ExpectRoutine(with("func @main(%x: T[30, 70], %i: I[1300, 45], %u: T[1300, 45]) -> T[30,"
                           " 70] { %y = scatter(%x, %i, %u, dim=0, reduce=\"R\") return %y }"),
                      "scatter",
                      {Repeating(type, {30, 70}), Indices(indices, {1300, 45}, 30),
                       Noise(type, {1300, 45}, 2, 5)},
                      tolerance);
        ExpectRoutine(with("func @main(%x: T[9, 40, 50], %i: I[700, 1], %u: T[700, 40, 50]) ->"
                           " T[9, 40, 50] { %y = scatter_nd(%x, %i, %u, reduce=\"R\") return"
                           " %y }"),
                      "scatter_nd",
                      {Repeating(type, {9, 40, 50}), Indices(indices, {700, 1}, 9),
                       Noise(type, {700, 40, 50}, 2, 5)},
                      tolerance);
      }
    }
  }
}

TEST(Scatter, RefusesIndicesOutOfRange) {
  const std::string text =
      "func @main(%x: f32[4], %i: i64[2], %u: f32[2]) -> f32[4] {"
      " %y = scatter(%x, %i, %u, dim=0) return %y }";
  const auto executable = RoutineProgram(text, "scatter", {"native", 1});
  ASSERT_NE(executable, nullptr);
  for (const int64_t index : {4, -5}) {
    HostTensor indices(DType::kI64, {2});
    indices.WriteDoubles({0, static_cast<double>(index)});
    const auto got =
        executable->Run({Noise(DType::kF32, {4}, 1, 1), indices, Noise(DType::kF32, {2}, 1, 2)});
    EXPECT_TRUE(absl::StrContains(got.status().message(),
                                  absl::StrCat("index ", index, " is out of range for size 4")))
        << got.status();
  }
  const std::string many =
      "func @main(%x: f32[4], %i: i64[3000], %u: f32[3000]) -> f32[4] {"
      " %y = scatter(%x, %i, %u, dim=0) return %y }";
  const auto long_line = RoutineProgram(many, "scatter", {"native", 2});
  ASSERT_NE(long_line, nullptr);
  HostTensor indices(DType::kI64, {3000});
  indices.data<int64_t>()[2990] = int64_t{1} << 40;
  const auto got =
      long_line->Run({Noise(DType::kF32, {4}, 1, 1), indices, Noise(DType::kF32, {3000}, 1, 2)});
  EXPECT_TRUE(absl::StrContains(got.status().message(), "index 1099511627776 is out of range"))
      << got.status();
}

// The sizes of the results depend on the elements.
TEST(Unique, GroupsElements) {
  for (const char* dtype : {"bool", "i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64", "f16",
                            "bf16", "f32", "f64"}) {
    for (const char* attrs : {"", ", sorted=false", ", dim=0", ", dim=-1, sorted=false"}) {
      const std::string text = With(
          absl::StrCat("func @main(%x: T[n]) -> (T[u0], i64[u0], i64[n], i64[u0]) where n >= 0,"
                       " unbacked u0, u0 <= n { %y, %i, %j, %k = unique(%x",
                       attrs, ") : T[u0], i64[u0], i64[n], i64[u0] return %y, %i, %j, %k }"),
          dtype);
      const auto module = Parse(text);
      auto plan = Lower(*module->main(), CpuTarget());
      ASSERT_TRUE(plan.ok()) << plan.status();
      const auto executable = Executable::Create(*std::move(plan), CpuOptions());
      ASSERT_TRUE(executable.ok()) << executable.status();
      for (const int64_t n : {0, 1, 7, 500}) {
        SCOPED_TRACE(absl::StrCat(text, " n=", n));
        const HostTensor x = Repeating(*ParseDType(dtype), {n});
        const auto want = reference::Run(*module->main(), {x});
        const auto got = (*executable)->Run({x});
        ASSERT_TRUE(want.ok() && got.ok()) << want.status() << got.status();
        for (size_t r = 0; r < want->size(); ++r) {
          EXPECT_EQ(Difference((*got)[r], (*want)[r], kEqual), "") << "result " << r;
        }
      }
    }
  }
}

}  // namespace
}  // namespace weft::cpu
