// Host tensors: elements of all dtypes, views, equality and fingerprints.
#include "graph/tensor/tensor.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/host_buffer.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace weft {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
constexpr int64_t kMin = std::numeric_limits<int64_t>::min();

std::vector<DType> AllDTypes() {
  std::vector<DType> dtypes;
  for (int i = 0; i < kNumDTypes; ++i) dtypes.push_back(static_cast<DType>(i));
  return dtypes;
}

std::vector<int64_t> Iota(int64_t n) {
  std::vector<int64_t> values;
  for (int64_t i = 0; i < n; ++i) values.push_back(i);
  return values;
}

// --- Reading and writing ----------------------------------------------------

TEST(TensorTest, RoundTripsEveryDType) {
  for (DType dtype : AllDTypes()) {
    if (IsComplex(dtype)) continue;
    SCOPED_TRACE(DTypeName(dtype));
    std::vector<int64_t> values = {0, 1, 1, 0, 1, 1, 0};
    if (dtype != DType::kBool) values = {0, 1, 2, 3, 4, 6, 7};
    if (IsSignedInt(dtype) || IsFloat(dtype)) values[2] = -2;
    if (dtype == DType::kF4E2M1) values[6] = -6;
    if (dtype == DType::kF8E8M0) values = {1, 2, 4, 8, 16, 32, 64};
    const auto t = HostTensor::FromInts(dtype, {7, 1}, values);
    EXPECT_EQ(t.ReadInts(), values);
    const std::vector<double> doubles(values.begin(), values.end());
    EXPECT_EQ(t.ReadDoubles(), doubles);
    EXPECT_TRUE(t.BitEqual(HostTensor::FromDoubles(dtype, {7, 1}, doubles)));
    for (int i = 0; i < 7; ++i) {
      EXPECT_EQ(t.IntAt(i), values[i]);
      EXPECT_EQ(t.DoubleAt(i), doubles[i]);
    }
    EXPECT_EQ(t.type(), Type::Tensor(dtype, {7, 1}));
    EXPECT_EQ(t.bytes(), DTypeBytes(dtype, 7));
  }
}

TEST(TensorTest, IntegerLimits) {
  for (DType dtype : AllDTypes()) {
    if (!IsInt(dtype)) continue;
    const std::vector<int64_t> values = {IntMin(dtype), IntMax(dtype)};
    EXPECT_EQ(HostTensor::FromInts(dtype, {2}, values).ReadInts(), values);
  }
}

TEST(TensorTest, IntegersKeepTheirLowBits) {
  EXPECT_EQ(HostTensor::ScalarInt(DType::kU8, 300).IntAt(0), 44);
  EXPECT_EQ(HostTensor::ScalarInt(DType::kI8, 200).IntAt(0), -56);
  EXPECT_EQ(HostTensor::ScalarInt(DType::kI4, 9).IntAt(0), -7);
  EXPECT_EQ(HostTensor::ScalarInt(DType::kU4, -1).IntAt(0), 15);
  EXPECT_EQ(HostTensor::Scalar(DType::kU8, -1.9).IntAt(0), 255);
  EXPECT_EQ(HostTensor::ScalarInt(DType::kBool, 256).IntAt(0), 1);
  EXPECT_EQ(HostTensor::Scalar(DType::kBool, 0.25).IntAt(0), 1);
  EXPECT_EQ(HostTensor::Scalar(DType::kBool, kNan).IntAt(0), 1);
}

TEST(TensorTest, UnsignedLongs) {
  const auto t = HostTensor::ScalarInt(DType::kU64, -1);
  EXPECT_EQ(t.IntAt(0), -1);
  EXPECT_EQ(t.DoubleAt(0), 0x1p64);
  const auto u = HostTensor::Scalar(DType::kU64, 0x1p63);
  EXPECT_EQ(u.IntAt(0), kMin);
  EXPECT_EQ(u.DoubleAt(0), 0x1p63);
}

TEST(TensorTest, FloatsTruncateToInts) {
  for (DType dtype : {DType::kF16, DType::kF32, DType::kF64}) {
    const auto t = HostTensor::FromDoubles(dtype, {6}, {1.75, -1.75, kNan, kInf, -kInf, -0.5});
    EXPECT_THAT(t.ReadInts(), ElementsAre(1, -1, 0, kMax, kMin, 0));
  }
}

// Not first to double and then to the narrow type.
TEST(TensorTest, IntegersRoundOnce) {
  const int64_t above_tie = (int64_t{1} << 60) + (int64_t{1} << 52) + 1;
  for (int64_t v : {above_tie, -above_tie}) {
    const double want = std::copysign(0x1p60 + 0x1p53, v);
    EXPECT_EQ(HostTensor::ScalarInt(DType::kBF16, v).DoubleAt(0), want);
    EXPECT_EQ(HostTensor::ScalarInt(DType::kBF16, v - (v > 0 ? 1 : -1)).DoubleAt(0),
              std::copysign(0x1p60, v));
  }
  EXPECT_EQ(
      HostTensor::ScalarInt(DType::kF32, (int64_t{1} << 60) + (int64_t{1} << 36) + 1).DoubleAt(0),
      0x1p60 + 0x1p37);
  EXPECT_EQ(HostTensor::ScalarInt(DType::kBF16, kMin).DoubleAt(0), -0x1p63);
  EXPECT_EQ(HostTensor::ScalarInt(DType::kF64, kMax).DoubleAt(0), 0x1p63);
}

TEST(TensorTest, OverflowOnWriting) {
  EXPECT_EQ(HostTensor::Scalar(DType::kF32, 1e39).DoubleAt(0), kInf);
  EXPECT_EQ(HostTensor::Scalar(DType::kF16, -1e6).DoubleAt(0), -kInf);
  EXPECT_TRUE(std::isnan(HostTensor::Scalar(DType::kF8E4M3, 1e6).DoubleAt(0)));
}

TEST(TensorTest, NibblesArePackedLowFirst) {
  const auto t = HostTensor::FromInts(DType::kU4, {3}, {1, 2, 3});
  EXPECT_EQ(t.bytes(), 2);
  EXPECT_EQ(t.raw()[0], 0x21);
  EXPECT_EQ(t.raw()[1], 0x03);
  const auto s = HostTensor::FromInts(DType::kI4, {2}, {-1, -8});
  EXPECT_EQ(s.raw()[0], 0x8f);
  const auto f = HostTensor::FromDoubles(DType::kF4E2M1, {3}, {0.5, -6, 3});
  EXPECT_EQ(f.bytes(), 2);
  EXPECT_EQ(f.raw()[0], 0xf1);
  EXPECT_EQ(f.raw()[1], 0x05);
}

TEST(TensorTest, NibblesBesideAViewAreKept) {
  auto buffer = HostBuffer::Allocate(2);
  buffer->data()[0] = 0x21;
  buffer->data()[1] = 0x43;
  auto middle = HostTensor::View(buffer, DType::kU4, {2}, {}, 1).value();
  EXPECT_THAT(middle.ReadInts(), ElementsAre(2, 3));
  EXPECT_FALSE(middle.is_contiguous());
  EXPECT_EQ(middle.Contiguous().raw()[0], 0x32);
  EXPECT_TRUE(middle.BitEqual(HostTensor::FromInts(DType::kU4, {2}, {2, 3})));
  middle.WriteInts({15, 14});
  EXPECT_EQ(buffer->data()[0], 0xf1);
  EXPECT_EQ(buffer->data()[1], 0x4e);
}

TEST(TensorTest, EmptyAndScalar) {
  EXPECT_FALSE(HostTensor().valid());
  const HostTensor empty(DType::kF32, {3, 0, 2});
  EXPECT_EQ(empty.numel(), 0);
  EXPECT_TRUE(empty.ReadDoubles().empty());
  EXPECT_TRUE(empty.is_contiguous());
  EXPECT_TRUE(empty.BitEqual(HostTensor(DType::kF32, {3, 0, 2})));
  EXPECT_FALSE(empty.BitEqual(HostTensor(DType::kF32, {0, 3, 2})));
  const auto scalar = HostTensor::Scalar(DType::kF32, 2.5);
  EXPECT_EQ(scalar.rank(), 0);
  EXPECT_EQ(scalar.numel(), 1);
  EXPECT_EQ(scalar.type(), Type::Scalar(DType::kF32));
}

TEST(TensorTest, Allocate) {
  const auto ok = HostTensor::Allocate(DType::kF32, {2, 3});
  ASSERT_TRUE(ok.ok());
  EXPECT_EQ(ok->ReadDoubles(), std::vector<double>(6, 0.0));
  EXPECT_FALSE(HostTensor::Allocate(DType::kF32, {-1}).ok());
  EXPECT_FALSE(HostTensor::Allocate(DType::kU8, {kMax, 2}).ok());
  EXPECT_FALSE(HostTensor::Allocate(DType::kC128, {kMax}).ok());
  EXPECT_FALSE(HostTensor::Allocate(DType::kF32, {5}, 19).ok());
  EXPECT_TRUE(HostTensor::Allocate(DType::kF32, {5}, 20).ok());
  EXPECT_TRUE(HostTensor::Allocate(DType::kF32, {kMax, kMax, 0}).ok());
  const auto status = HostTensor::Allocate(DType::kF32, {4, 5}, 19).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted);
  EXPECT_THAT(status.message(), HasSubstr("f32[4, 5]"));
}

TEST(TensorTest, CheckedNumel) {
  EXPECT_EQ(CheckedNumel({}), 1);
  EXPECT_EQ(CheckedNumel({2, 3}), 6);
  EXPECT_EQ(CheckedNumel({kMax, 0, kMax}), 0);
  EXPECT_EQ(CheckedNumel({0, -1}), std::nullopt);
  EXPECT_EQ(CheckedNumel({kMax, 2}), std::nullopt);
  EXPECT_THAT(ContiguousStrides({2, 3, 4}), ElementsAre(12, 4, 1));
}

// --- Views ------------------------------------------------------------------

struct ViewCase {
  std::vector<int64_t> dims, strides;
  int64_t offset;
};

// Row-major positions, computed one at a time.
std::vector<int64_t> Positions(const ViewCase& v) {
  std::vector<int64_t> out = {v.offset};
  for (size_t i = 0; i < v.dims.size(); ++i) {
    std::vector<int64_t> next;
    for (int64_t p : out) {
      for (int64_t j = 0; j < v.dims[i]; ++j) {
        next.push_back(p + j * v.strides[i]);
      }
    }
    out = next;
  }
  return out;
}

TEST(ViewTest, StridesOfEveryKind) {
  const ViewCase cases[] = {
      {{4, 3}, {1, 4}, 0},          // Transposed.
      {{2, 3}, {6, 1}, 1},          // Rows of a wider matrix.
      {{4}, {-1}, 11},              // Backwards.
      {{2, 2, 2}, {-6, 2, -1}, 7},  // Mixed.
      {{3, 2}, {0, 1}, 4},          // Broadcast.
      {{2, 1, 3}, {3, 99, 1}, 5},   // A dim of one strides nowhere.
      {{2, 2, 3}, {6, 3, 1}, 0},    // All of it.
      {{}, {}, 11},                 // One element.
      {{5, 0}, {1, 1}, 12},         // None, at the end.
  };
  for (DType dtype : AllDTypes()) {
    auto buffer = HostBuffer::Allocate(DTypeBytes(dtype, 12));
    for (int64_t i = 0; i < buffer->size(); ++i) {
      buffer->data()[i] = static_cast<uint8_t>(i * 37 + 11);
    }
    const auto all = HostTensor::View(buffer, dtype, {12}).value();
    for (const ViewCase& v : cases) {
      SCOPED_TRACE(absl::StrCat(DTypeName(dtype), " case ", &v - cases));
      const auto view = HostTensor::View(buffer, dtype, v.dims, v.strides, v.offset);
      ASSERT_TRUE(view.ok()) << view.status();
      const HostTensor dense = view->Contiguous();
      EXPECT_TRUE(dense.is_contiguous());
      EXPECT_TRUE(dense.BitEqual(*view));
      EXPECT_EQ(dense.Fingerprint(), view->Fingerprint());
      if (IsComplex(dtype)) continue;
      std::vector<int64_t> want;
      for (int64_t p : Positions(v)) want.push_back(all.IntAt(p));
      EXPECT_EQ(view->ReadInts(), want);
      EXPECT_EQ(dense.ReadInts(), want);
      for (size_t i = 0; i < want.size(); ++i) {
        EXPECT_EQ(view->IntAt(i), want[i]);
      }
    }
  }
}

TEST(ViewTest, ComplexElementsMoveWhole) {
  double data[] = {1, 2, 3, 4, 5, 6};
  auto buffer = HostBuffer::Borrow(data, sizeof(data));
  const auto back = HostTensor::View(buffer, DType::kC128, {3}, {-1}, 2).value();
  const HostTensor dense = back.Contiguous();
  EXPECT_EQ(std::vector<double>(dense.data<double>(), dense.data<double>() + 6),
            (std::vector<double>{5, 6, 3, 4, 1, 2}));
}

TEST(ViewTest, WritesThrough) {
  HostTensor t(DType::kI32, {2, 3});
  auto columns = HostTensor::View(t.buffer(), DType::kI32, {3, 2}, {1, 3}).value();
  columns.WriteInts({1, 2, 3, 4, 5, 6});
  EXPECT_THAT(t.ReadInts(), ElementsAre(1, 3, 5, 2, 4, 6));
}

TEST(ViewTest, UnalignedElements) {
  auto buffer = HostBuffer::Allocate(17);
  auto shifted = HostBuffer::Borrow(buffer->data() + 1, 16);
  auto t = HostTensor::View(shifted, DType::kF64, {2}).value();
  t.WriteDoubles({1.5, -2});
  EXPECT_THAT(t.ReadDoubles(), ElementsAre(1.5, -2));
}

TEST(ViewTest, ReachingOutsideIsAnError) {
  auto buffer = HostBuffer::Allocate(48);  // 12 of f32, 96 of i4.
  const auto view = [&](DType dtype, std::vector<int64_t> dims, std::vector<int64_t> strides,
                        int64_t offset) {
    return HostTensor::View(buffer, dtype, dims, strides, offset).status();
  };
  EXPECT_TRUE(view(DType::kF32, {12}, {}, 0).ok());
  EXPECT_FALSE(view(DType::kF32, {13}, {}, 0).ok());
  EXPECT_FALSE(view(DType::kF32, {12}, {}, 1).ok());
  EXPECT_FALSE(view(DType::kF32, {12}, {}, -1).ok());
  EXPECT_TRUE(view(DType::kF32, {12}, {-1}, 11).ok());
  EXPECT_FALSE(view(DType::kF32, {12}, {-1}, 10).ok());
  EXPECT_TRUE(view(DType::kF32, {3, 4}, {4, 1}, 0).ok());
  EXPECT_FALSE(view(DType::kF32, {3, 4}, {5, 1}, 0).ok());
  EXPECT_TRUE(view(DType::kU4, {96}, {}, 0).ok());
  EXPECT_FALSE(view(DType::kU4, {96}, {}, 1).ok());
  EXPECT_FALSE(view(DType::kF32, {-1}, {}, 0).ok());
  EXPECT_FALSE(view(DType::kF32, {2, 2}, {1}, 0).ok());
  EXPECT_FALSE(view(DType::kF32, {}, {1}, 0).ok());
  EXPECT_TRUE(view(DType::kF32, {0}, {}, 12).ok());
  EXPECT_FALSE(view(DType::kF32, {0}, {}, 13).ok());
  EXPECT_THAT(view(DType::kF32, {13}, {}, 0).message(), HasSubstr("f32[13]"));
  EXPECT_FALSE(HostTensor::View(nullptr, DType::kF32, {1}).ok());
}

TEST(ViewTest, NothingOverflows) {
  auto buffer = HostBuffer::Allocate(16);
  for (int64_t stride : {kMax, kMin, kMax / 2, kMin / 2}) {
    for (int64_t offset : {int64_t{0}, kMax, kMin}) {
      EXPECT_FALSE(HostTensor::View(buffer, DType::kU8, {3}, {stride}, offset).ok());
      const std::vector<int64_t> many(40, 2);
      const std::vector<int64_t> strides(40, stride);
      EXPECT_FALSE(HostTensor::View(buffer, DType::kU8, many, strides, offset).ok());
    }
  }
  EXPECT_FALSE(HostTensor::View(buffer, DType::kU8, {kMax}, {kMax}, kMax).ok());
  EXPECT_FALSE(HostTensor::View(buffer, DType::kU8, {kMax}, {}, 1).ok());
  EXPECT_FALSE(HostTensor::View(buffer, DType::kU8, {kMax, 2}, {0, 0}).ok());
  EXPECT_FALSE(HostTensor::View(buffer, DType::kF64, {kMax}, {0}).ok());
  // Steps that cancel out one another only at some elements.
  EXPECT_FALSE(HostTensor::View(buffer, DType::kU8, {2, 2}, {kMax, -kMax}, 0).ok());
}

TEST(ViewTest, Contiguity) {
  auto buffer = HostBuffer::Allocate(64);
  const auto contiguous = [&](std::vector<int64_t> dims, std::vector<int64_t> strides) {
    return HostTensor::View(buffer, DType::kU8, dims, strides, 10).value().is_contiguous();
  };
  EXPECT_TRUE(contiguous({2, 3}, {3, 1}));
  EXPECT_TRUE(contiguous({2, 1, 3}, {3, 77, 1}));
  EXPECT_TRUE(contiguous({1}, {-5}));
  EXPECT_FALSE(contiguous({2, 3}, {4, 1}));
  EXPECT_FALSE(contiguous({3, 2}, {1, 3}));
  EXPECT_FALSE(contiguous({2}, {0}));
}

TEST(ViewTest, ContiguousSharesItsBuffer) {
  const HostTensor t(DType::kF32, {4});
  EXPECT_EQ(t.Contiguous().buffer(), t.buffer());
  EXPECT_EQ(t.Reshaped({2, 2}).buffer(), t.buffer());
  EXPECT_THAT(t.Reshaped({2, 2}).dims(), ElementsAre(2, 2));
}

// --- Equality and fingerprints ----------------------------------------------

TEST(FingerprintTest, DependsOnDTypeDimsAndBits) {
  const auto t = HostTensor::FromInts(DType::kI32, {2, 2}, Iota(4));
  const auto same = HostTensor::FromInts(DType::kI32, {2, 2}, Iota(4));
  EXPECT_TRUE(t.BitEqual(same));
  EXPECT_EQ(t.Fingerprint(), same.Fingerprint());
  const HostTensor others[] = {HostTensor::FromInts(DType::kU32, {2, 2}, Iota(4)),
                               HostTensor::FromInts(DType::kI32, {4}, Iota(4)),
                               HostTensor::FromInts(DType::kI32, {4, 1}, Iota(4)),
                               HostTensor::FromInts(DType::kI32, {2, 2}, {0, 1, 2, 4}),
                               HostTensor::FromInts(DType::kI32, {2, 2}, {1, 0, 2, 3}),
                               HostTensor()};
  for (const HostTensor& other : others) {
    EXPECT_FALSE(t.BitEqual(other));
    EXPECT_NE(t.Fingerprint(), other.Fingerprint());
  }
  const auto zero = HostTensor::Scalar(DType::kF32, 0.0);
  EXPECT_FALSE(zero.BitEqual(HostTensor::Scalar(DType::kF32, -0.0)));
}

TEST(FingerprintTest, PaddingBitsDoNotCount) {
  const auto t = HostTensor::FromInts(DType::kU4, {3}, {1, 2, 3});
  const auto u = HostTensor::FromInts(DType::kU4, {3}, {1, 2, 3});
  u.raw()[1] |= 0xf0;
  EXPECT_TRUE(t.BitEqual(u));
  EXPECT_EQ(t.Fingerprint(), u.Fingerprint());
}

// Every single-bit change, at every length around the word size.
TEST(FingerprintTest, EveryBitCounts) {
  for (int64_t size = 1; size <= 20; ++size) {
    HostTensor t(DType::kU8, {size});
    std::vector<uint64_t> seen = {t.Fingerprint()};
    for (int64_t bit = 0; bit < size * 8; ++bit) {
      t.raw()[bit / 8] ^= 1 << bit % 8;
      seen.push_back(t.Fingerprint());
      t.raw()[bit / 8] ^= 1 << bit % 8;
    }
    std::sort(seen.begin(), seen.end());
    EXPECT_EQ(std::unique(seen.begin(), seen.end()), seen.end()) << size;
  }
}

// A fingerprint may be stored, so its definition must not change.
TEST(FingerprintTest, IsTheSameInEveryProcess) {
  const auto t = HostTensor::FromInts(DType::kI32, {2, 2}, Iota(4));
  EXPECT_EQ(t.Fingerprint(), 0xeaaca26c3097809bu);
}

TEST(TensorDeathTest, MisuseIsCaught) {
  const HostTensor t(DType::kF32, {2, 2});
  EXPECT_DEATH(HostTensor::FromInts(DType::kI32, {2}, {1, 2, 3}), "i32\\[2\\]");
  EXPECT_DEATH(t.DoubleAt(4), "4 of 4");
  EXPECT_DEATH(t.Reshaped({3}), "\\[3\\]");
  EXPECT_DEATH(HostTensor(DType::kC64, {1}).ReadDoubles(), "c64");
  EXPECT_DEATH(HostTensor().ReadInts(), "valid");
  EXPECT_DEATH(EncodeFloat(DType::kI32, 1), "i32");
}

}  // namespace
}  // namespace weft
