// Statistics over several batches, against numbers worked out by hand; every batch is
// evaluated as the op and as its decomposition.
#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "graph/ir/builder.h"
#include "graph/ops/evaluate.h"
#include "graph/ops/ops.h"
#include "graph/ops/quant/observer_state.h"
#include "graph/tensor/tensor.h"
#include "gtest/gtest.h"

namespace weft {
namespace {

using Doubles = std::vector<double>;

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

class Observer {
 public:
  explicit Observer(std::string statistic, double momentum = 0.01)
      : state_(InitialState(statistic)) {
    SetAttrs({{"statistic", statistic}, {"momentum", momentum}});
  }
  Observer(std::string statistic, int axis, int64_t channels)
      : state_(InitialState(statistic, channels)) {
    SetAttrs({{"statistic", statistic}, {"axis", axis}});
  }

  void Add(std::vector<int64_t> dims, const Doubles& values) {
    const HostTensor x = HostTensor::FromDoubles(DType::kF32, dims, values);
    const auto got = Evaluate(ops::observe, attrs_, {x, state_});
    const auto parts = EvaluateDecomposed(ops::observe, attrs_, {x, state_});
    ASSERT_TRUE(got.ok() && parts.ok()) << got.status() << parts.status();
    EXPECT_EQ((*got)[0].ReadDoubles(), (*parts)[0].ReadDoubles());
    state_ = (*got)[0];
  }
  void Add(const Doubles& values) { Add({static_cast<int64_t>(values.size())}, values); }

  Doubles state() const { return state_.ReadDoubles(); }
  // Of a histogram: the bins that are not empty.
  std::map<int64_t, double> counts() const {
    const Doubles all = state();
    std::map<int64_t, double> counts;
    for (int64_t i = 0; i < kObserverBins; ++i) {
      if (all[2 + i] != 0) counts[i] = all[2 + i];
    }
    return counts;
  }

 private:
  void SetAttrs(std::initializer_list<NamedAttr> attrs) {
    const auto list = MakeAttrs(ops::observe, absl::MakeConstSpan(attrs.begin(), attrs.size()));
    ASSERT_TRUE(list.ok()) << list.status();
    attrs_ = *list;
  }

  const AttrList* attrs_ = nullptr;
  HostTensor state_;
};

TEST(Observe, MinMaxKeepsTheExtremaOfAllBatches) {
  Observer o("min_max");
  EXPECT_EQ(o.state(), (Doubles{kInf, -kInf}));
  o.Add({1, 2});
  EXPECT_EQ(o.state(), (Doubles{1, 2}));
  o.Add({-3, 1.5});
  EXPECT_EQ(o.state(), (Doubles{-3, 2}));
}

TEST(Observe, MinMaxLeavesOutWhatIsNotFinite) {
  Observer o("min_max");
  o.Add({kNan, kInf, -kInf});
  EXPECT_EQ(o.state(), (Doubles{kInf, -kInf}));
  o.Add({kNan, 4, kInf});
  EXPECT_EQ(o.state(), (Doubles{4, 4}));
  o.Add({-kInf});
  o.Add({});
  EXPECT_EQ(o.state(), (Doubles{4, 4}));
}

TEST(Observe, SlicesHaveTheirOwnExtrema) {
  Observer o("min_max", 1, 2);
  EXPECT_EQ(o.state(), (Doubles{kInf, kInf, -kInf, -kInf}));
  o.Add({2, 2, 1}, {1, -2, 3, -4});
  EXPECT_EQ(o.state(), (Doubles{1, -4, 3, -2}));
  o.Add({1, 2, 2}, {kNan, 9, 5, kInf});
  EXPECT_EQ(o.state(), (Doubles{1, -4, 9, 5}));
}

TEST(Observe, TheMovingAverageStartsWithTheFirstBatch) {
  Observer o("moving_average", 0.25);
  o.Add({kNan});
  o.Add({-4, 8});
  EXPECT_EQ(o.state(), (Doubles{-4, 8}));
  o.Add({0, 16});
  EXPECT_EQ(o.state(), (Doubles{-3, 10}));
  o.Add({});
  o.Add({kInf});
  EXPECT_EQ(o.state(), (Doubles{-3, 10}));
}

TEST(Observe, SlicesOfAMovingAverageStartAlone) {
  Observer o("moving_average", 0, 2);
  o.Add({2, 1}, {1, kNan});
  EXPECT_EQ(o.state(), (Doubles{1, kInf, 1, -kInf}));
  o.Add({2, 1}, {1, 7});
  EXPECT_EQ(o.state(), (Doubles{1, 7, 1, 7}));
}

TEST(Observe, HistogramCountsInTheRangeOfTheFirstBatch) {
  Observer o("histogram");
  o.Add({0, 1, 1.5, 2048, kNan, -kInf});
  EXPECT_EQ(o.state()[0], 0);
  EXPECT_EQ(o.state()[1], 2048);
  // The largest element is in the last bin.
  EXPECT_EQ(o.counts(), (std::map<int64_t, double>{{0, 1}, {1, 2}, {2047, 1}}));
  o.Add({1, 7});
  EXPECT_EQ(o.counts(), (std::map<int64_t, double>{{0, 1}, {1, 3}, {7, 1}, {2047, 1}}));
  o.Add({kInf, kNan});
  o.Add({});
  EXPECT_EQ(o.counts(), (std::map<int64_t, double>{{0, 1}, {1, 3}, {7, 1}, {2047, 1}}));
}

TEST(Observe, HistogramThatWidensMovesItsCounts) {
  Observer o("histogram");
  o.Add({0, 5, 6, 2048});
  o.Add({4096});
  // Two old bins are one; the new largest element is in the last bin.
  EXPECT_EQ(o.state()[1], 4096);
  EXPECT_EQ(o.counts(), (std::map<int64_t, double>{{0, 1}, {2, 1}, {3, 1}, {1023, 1}, {2047, 1}}));
}

TEST(Observe, HistogramSplitsABinAmongThoseThatItMeets) {
  Observer o("histogram");
  o.Add({0, 2048});
  o.Add({-1024});
  // Bins are 1.5 wide: the old first bin [0, 1) begins at 682 2/3, so that parts with the
  // mid-points below 0.5 belong to bin 682.
  EXPECT_EQ(o.counts(), (std::map<int64_t, double>{{0, 1}, {682, 0.5}, {683, 0.5}, {2047, 1}}));
}

TEST(Observe, HistogramOfOneNumberGoesToItsBin) {
  Observer o("histogram");
  o.Add({3, 3, 3});
  EXPECT_EQ(o.counts(), (std::map<int64_t, double>{{1024, 3}}));
  o.Add({3});
  EXPECT_EQ(o.counts(), (std::map<int64_t, double>{{1024, 4}}));
  o.Add({0, 2048});
  EXPECT_EQ(o.counts(), (std::map<int64_t, double>{{0, 1}, {3, 4}, {2047, 1}}));
}

TEST(ObserverState, HasItsTypeBeforeTheFirstBatch) {
  for (const char* name : {"min_max", "moving_average", "histogram"}) {
    EXPECT_TRUE(IsStatistic(name));
    EXPECT_EQ(InitialState(name).type(), StateType(name));
  }
  EXPECT_EQ(InitialState("min_max", 3).type(), StateType("min_max", SymInt(3)));
  EXPECT_FALSE(IsStatistic("mode"));
}

}  // namespace
}  // namespace weft
