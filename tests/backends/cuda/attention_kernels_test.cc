// The attention kernel of compute capability 9.0 on the emulated driver, which is a GPU of 8.0: the
// test launches it by itself.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "backends/cuda/device/cuda_device.h"
#include "backends/cuda/device/modules.h"
#include "backends/cuda/driver/libraries.h"
#include "backends/cuda/routines/attention_shape.h"
#include "backends/cuda/routines/attention_unit.h"
#include "backends/cuda/routines/routine_code.h"
#include "graph/tensor/tensor.h"
#include "gtest/gtest.h"

namespace weft::cuda {
namespace {

constexpr double kInf = std::numeric_limits<double>::infinity();

struct Problem {
  DType dtype = DType::kBF16;
  int64_t heads = 1, queries = 1, keys = 1, features = 64, value_features = 64;
  AttentionMask mask = AttentionMask::kNone;
  bool mask_rows = false;  // The mask has a row for each query.
  bool causal = false;
  double scale = 0.125, softcap = 0;
  double growth = 0;  // Makes scores of later keys larger.
};

// Values between -1 and 1 that repeat late.
std::vector<double> Values(int64_t count, int64_t seed) {
  std::vector<double> values(count);
  for (int64_t i = 0; i < count; ++i) {
    values[i] = static_cast<double>((i * 48271 + seed) % 97 - 48) / 50;
  }
  return values;
}

class CudaAttentionKernels : public testing::Test {
 protected:
  void SetUp() override {
    auto libraries = OpenLibraries("emulated", "");
    ASSERT_TRUE(libraries.ok()) << libraries.status();
    auto opened = CudaDevice::Open(**libraries, 0);
    ASSERT_TRUE(opened.ok()) << opened.status();
    device_ = *std::move(opened);
    loader_ = std::make_unique<ModuleLoader>(*device_);
    units_ = std::make_unique<UnitCache>(*loader_);
  }

  // A tensor on the device, and its values as the dtype rounds them.
  struct Operand {
    std::unique_ptr<DeviceMemory> memory;
    std::vector<double> values;
  };
  Operand Copy(DType dtype, const std::vector<double>& values) {
    HostTensor t(dtype, {static_cast<int64_t>(values.size())});
    t.WriteDoubles(values);
    auto memory = device_->Allocate(t.bytes(), profiler::MemoryCategory::kTemporary);
    EXPECT_TRUE(memory.ok()) << memory.status();
    EXPECT_TRUE(device_->CopyIn((*memory)->data(), t.data<char>(), t.bytes()).ok());
    return {*std::move(memory), t.ReadDoubles()};
  }

  // Operands lie as [length, heads, features].
  void ExpectAttention(const Problem& p) {
    SCOPED_TRACE(absl::StrCat(DTypeName(p.dtype), " heads ", p.heads, " queries ", p.queries,
                              " keys ", p.keys, " features ", p.features, " ", p.value_features,
                              " mask ", static_cast<int>(p.mask), p.mask_rows, " causal ",
                              p.causal));
    const int64_t q_row = p.heads * p.features;
    const int64_t v_row = p.heads * p.value_features;
    std::vector<double> keys = Values(p.keys * q_row, 5);
    for (size_t i = 0; i < keys.size(); ++i) {
      keys[i] += p.growth * static_cast<double>(i / q_row) / static_cast<double>(p.keys);
    }
    const Operand q = Copy(p.dtype, Values(p.queries * q_row, 1));
    const Operand k = Copy(p.dtype, keys);
    const Operand v = Copy(p.dtype, Values(p.keys * v_row, 9));
    const bool bools = p.mask == AttentionMask::kBool;
    std::vector<double> masks = Values((p.mask_rows ? p.queries : 1) * p.keys, 3);
    for (size_t i = 0; bools && i < masks.size(); ++i) masks[i] = i % 3 != 1;
    // With a mask of all queries, query 2 sees nothing.
    for (int64_t j = 0; bools && p.mask_rows && j < p.keys; ++j) masks[2 * p.keys + j] = 0;
    const Operand mask = Copy(bools ? DType::kBool : p.dtype, masks);
    const Operand o = Copy(p.dtype, std::vector<double>(p.queries * v_row, 77));

    AttentionSizes s;
    s.queries = p.queries;
    s.keys = p.keys;
    s.features = p.features;
    s.value_features = p.value_features;
    s.q_row = s.k_row = q_row;
    s.v_row = s.o_row = v_row;
    s.q_column = s.k_column = s.v_column = s.o_column = s.m_column = 1;
    s.m_row = p.mask_rows ? p.keys : 0;
    s.q_groups = s.k_groups = s.v_groups = 1;
    s.o_groups = p.causal;
    s.causal = p.causal;
    s.split_keys = p.keys;
    s.heads = s.dims[0] = p.heads;
    s.rank = 1;
    s.q[0] = s.k[0] = p.features;
    s.v[0] = s.o[0] = p.value_features;
    s.scale = static_cast<float>(p.scale);
    s.softcap = static_cast<float>(p.softcap);
    AttentionShape shape = WgmmaAttention(p.features, p.value_features);
    shape.dtype = p.dtype;
    shape.mask = p.mask;
    shape.cap = p.softcap > 0;
    s.tiles = (p.queries + shape.queries() - 1) / shape.queries();
    Launch(shape, s, {&q, &k, &v, &mask, &o});
    Compare(p, s, {&q, &k, &v, &mask, &o});
  }

  void Launch(const AttentionShape& shape, const AttentionSizes& s,
              const std::vector<const Operand*>& operands) {
    const auto module = units_->Find(AttentionUnit(shape));
    ASSERT_TRUE(module.ok()) << module.status();
    const auto function = (*module)->Find("weft_attention");
    ASSERT_TRUE(function.ok()) << function.status();
    ASSERT_TRUE(device_->AllowShared(*function, shape.shared_bytes()).ok());
    LaunchShape launch;
    launch.blocks = static_cast<unsigned>(s.heads * s.tiles);
    launch.threads = static_cast<unsigned>(shape.threads());
    launch.shared_bytes = static_cast<unsigned>(shape.shared_bytes());
    std::vector<uint64_t> addresses;
    std::vector<OperandRange> ranges;
    for (const Operand* operand : operands) {
      addresses.push_back(reinterpret_cast<uint64_t>(operand->memory->data()));
      ranges.push_back({addresses.back(), operand->memory->size()});
    }
    addresses.push_back(0);  // Parts.
    ranges.push_back({});
    std::vector<void*> parameters;
    for (uint64_t& address : addresses) parameters.push_back(&address);
    std::string bytes = BytesOf(s);
    parameters.push_back(bytes.data());
    const absl::Status status =
        device_->Launch(*function, launch, absl::MakeSpan(parameters), ranges, "attention");
    ASSERT_TRUE(status.ok()) << status;
  }

  void Compare(const Problem& p, const AttentionSizes& s,
               const std::vector<const Operand*>& operands) {
    const std::vector<double>& q = operands[0]->values;
    const std::vector<double>& k = operands[1]->values;
    const std::vector<double>& v = operands[2]->values;
    const std::vector<double>& mask = operands[3]->values;
    HostTensor o(p.dtype, {static_cast<int64_t>(operands[4]->values.size())});
    const absl::Status copied =
        device_->CopyOut(o.data<char>(), operands[4]->memory->data(), o.bytes());
    ASSERT_TRUE(copied.ok()) << copied;
    const std::vector<double> got = o.ReadDoubles();
    double worst = 0;
    for (int64_t head = 0; head < p.heads; ++head) {
      for (int64_t i = 0; i < p.queries; ++i) {
        std::vector<double> weights(p.keys, -kInf);
        double top = -kInf;
        for (int64_t j = 0; j < p.keys && (!p.causal || j <= i); ++j) {
          double score = 0;
          for (int64_t f = 0; f < p.features; ++f) {
            score +=
                q[i * s.q_row + head * p.features + f] * k[j * s.k_row + head * p.features + f];
          }
          score *= p.scale;
          if (p.softcap > 0) score = p.softcap * std::tanh(score / p.softcap);
          const double m = mask[i * s.m_row + j];
          if (p.mask == AttentionMask::kAdded) score += m;
          if (p.mask != AttentionMask::kBool || m != 0) weights[j] = score;
          top = std::max(top, weights[j]);
        }
        double total = 0;
        for (double& w : weights) total += w = w == -kInf ? 0 : std::exp(w - top);
        for (int64_t c = 0; c < p.value_features; ++c) {
          double sum = 0;
          for (int64_t j = 0; j < p.keys; ++j) {
            sum += weights[j] * v[j * s.v_row + head * p.value_features + c];
          }
          const double want = total == 0 ? 0 : sum / total;
          const double have = got[i * s.o_row + head * p.value_features + c];
          worst = std::max(worst, std::isnan(have) ? kInf : std::abs(want - have));
        }
      }
    }
    EXPECT_LT(worst, p.dtype == DType::kF16 ? 2e-3 : 1e-2);
  }

  std::unique_ptr<CudaDevice> device_;
  std::unique_ptr<ModuleLoader> loader_;
  std::unique_ptr<UnitCache> units_;
};

TEST_F(CudaAttentionKernels, TilesInPart) {
  ExpectAttention({DType::kF16, 2, 130, 128});
  ExpectAttention({DType::kF16, 1, 5, 300});
  ExpectAttention({DType::kBF16, 1, 128, 129, 128, 128});
  ExpectAttention({DType::kF16, 1, 70, 400, 64, 128});
}

TEST_F(CudaAttentionKernels, Causal) {
  Problem p{DType::kF16, 1, 300, 300};
  p.causal = true;
  ExpectAttention(p);
  p.keys = 140;
  ExpectAttention(p);
}

TEST_F(CudaAttentionKernels, Masks) {
  for (const AttentionMask mask : {AttentionMask::kBool, AttentionMask::kAdded}) {
    for (const bool rows : {false, true}) {
      Problem p{DType::kF16, 2, 20, 270};
      p.mask = mask;
      p.mask_rows = rows;
      ExpectAttention(p);
    }
  }
}

TEST_F(CudaAttentionKernels, ScalesCapsAndScoresThatGrow) {
  Problem p{DType::kF16, 1, 33, 500};
  p.scale = -0.5;
  ExpectAttention(p);
  p.softcap = 1.5;
  ExpectAttention(p);
  p.softcap = 0;
  p.scale = 1;
  p.growth = 2;
  ExpectAttention(p);
}

TEST(CudaAttentionShape, WgmmaNeedsAlignedRowsAndManyBlocks) {
  const auto form = [](int64_t heads, int64_t features, int64_t groups, bool wgmma = true) {
    AttentionSizes sizes;
    sizes.heads = heads;
    sizes.queries = sizes.keys = 512;
    sizes.features = sizes.value_features = features;
    sizes.q_groups = sizes.k_groups = 1;
    sizes.v_groups = groups;
    AttentionShape shape;
    shape.dtype = DType::kBF16;
    ChooseAttention({true, wgmma, 227 << 10}, &shape, &sizes);
    return shape.form;
  };
  EXPECT_EQ(form(96, 64, 1), AttentionForm::kWgmma);
  EXPECT_EQ(form(96, 128, 1), AttentionForm::kWgmma);
  EXPECT_EQ(form(96, 128, 1, false), AttentionForm::kTensor);
  EXPECT_EQ(form(96, 64, 0), AttentionForm::kTensor);
  EXPECT_EQ(form(96, 96, 1), AttentionForm::kTensor);
  EXPECT_EQ(form(4, 64, 1), AttentionForm::kTensor);
}

}  // namespace
}  // namespace weft::cuda
