// Operators of linear algebra, special functions, searches and TorchVision, on
// numbers that can be worked out by hand.
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "backends/reference/executor.h"
#include "gmock/gmock.h"
#include "graph/ir/module.h"
#include "graph/tensor/tensor.h"
#include "gtest/gtest.h"
#include "serialize/pt2/pt2.h"
#include "tests/serialize/pt2/program_text.h"

namespace weft::pt2 {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pointwise;

using Inputs = std::vector<std::pair<std::string, std::string>>;
using Doubles = std::vector<double>;

std::string T(const std::string& name) { return TestProgram::T(name); }
std::string Int(int64_t v) { return absl::StrCat("{\"as_int\":", v, "}"); }
std::string Float(double v) { return absl::StrCat("{\"as_float\":", v, "}"); }
std::string Bool(bool v) { return absl::StrCat("{\"as_bool\":", v ? "true" : "false", "}"); }

struct Operand {
  std::string name;
  std::vector<int64_t> dims;
  Doubles values;
  int dtype = 7;
};

struct Outcome {
  absl::Status status;
  std::vector<Doubles> results;
};

// One node of these operands; all of its results.
Outcome RunOp(const std::string& target, const std::vector<Operand>& operands, const Inputs& more,
              int results) {
  TestProgram p;
  Inputs inputs;
  std::vector<HostTensor> tensors;
  for (const Operand& o : operands) {
    std::vector<std::string> sizes;
    for (int64_t d : o.dims) sizes.push_back(absl::StrCat(d));
    p.inputs.push_back({o.name, o.dtype, sizes});
    inputs.emplace_back(o.name, T(o.name));
    tensors.push_back(
        HostTensor::FromDoubles(o.dtype == 5 ? DType::kI64 : DType::kF32, o.dims, o.values));
  }
  inputs.insert(inputs.end(), more.begin(), more.end());
  std::vector<std::string> outputs;
  for (int i = 0; i < results; ++i) {
    p.outputs.push_back(absl::StrCat("y", i));
    outputs.push_back(T(p.outputs.back()));
  }
  p.nodes = {TestProgram::Node("torch.ops." + target, inputs, outputs)};
  Outcome outcome;
  const auto module = ImportPt2Bytes(p.Archive());
  outcome.status = module.status();
  if (!module.ok()) return outcome;
  const auto got = reference::Run(*(*module)->main(), tensors);
  outcome.status = got.status();
  if (!got.ok()) return outcome;
  for (const HostTensor& t : *got) outcome.results.push_back(t.ReadDoubles());
  return outcome;
}

struct RowCase {
  const char* target;
  std::vector<Operand> operands;
  Inputs more;
  std::vector<Doubles> results;
};

void Check(const std::vector<RowCase>& cases) {
  for (const RowCase& c : cases) {
    SCOPED_TRACE(c.target);
    const Outcome got = RunOp(c.target, c.operands, c.more, static_cast<int>(c.results.size()));
    ASSERT_TRUE(got.status.ok()) << got.status;
    for (size_t i = 0; i < c.results.size(); ++i) {
      EXPECT_THAT(got.results[i], Pointwise(testing::DoubleNear(1e-5), c.results[i]))
          << "result " << i;
    }
  }
}

const Operand& A() {
  static const auto& a = *new Operand{"A", {2, 2}, {1, 2, 3, 4}};
  return a;
}

TEST(Rows, Systems) {
  const Operand self = {"self", {2, 2}, {1, 2, 3, 4}};
  const Operand spd = {"self", {2, 2}, {4, 2, 2, 5}};
  Check({
      {"aten.linalg_inv.default", {A()}, {}, {{-2, 1, 1.5, -0.5}}},
      {"aten.inverse.default", {self}, {}, {{-2, 1, 1.5, -0.5}}},
      {"aten.linalg_solve.default", {A(), {"B", {2}, {5, 11}}}, {}, {{1, 2}}},
      {"aten.linalg_solve.default", {A(), {"B", {2, 1}, {5, 11}}}, {}, {{1, 2}}},
      // [1, 2] A = [7, 10].
      {"aten.linalg_solve.default",
       {A(), {"B", {1, 2}, {7, 10}}},
       {{"left", Bool(false)}},
       {{1, 2}}},
      {"aten.linalg_slogdet.default", {A()}, {}, {{-1}, {0.6931472}}},
      {"aten.logdet.default", {spd}, {}, {{2.7725887}}},
      {"aten.linalg_lu.default", {A()}, {}, {{0, 1, 1, 0}, {1, 0, 1 / 3.0, 1}, {3, 4, 0, 2 / 3.0}}},
      {"aten.linalg_lu.default",
       {{"A", {3, 2}, {1, 2, 3, 4, 6, 8}}},
       {},
       {{0, 1, 0, 0, 0, 1, 1, 0, 0}, {1, 0, 1 / 6.0, 1, 0.5, 0}, {6, 8, 0, 2 / 3.0}}},
      {"aten.linalg_cholesky.default", {spd}, {}, {{2, 0, 1, 2}}},
      {"aten.linalg_cholesky_ex.default", {spd}, {}, {{2, 0, 1, 2}, {0}}},
      {"aten.cholesky_solve.default",
       {{"self", {2, 1}, {8, 12}}, {"input2", {2, 2}, {2, 0, 1, 2}}},
       {},
       {{1, 2}}},
      {"aten.linalg_solve_triangular.default",
       {{"self", {2, 2}, {2, 9, 1, 4}}, {"B", {2, 1}, {2, 9}}},
       {{"upper", Bool(false)}},
       {{1, 2}}},
      // [1, 2] [[2, 0], [1, 4]] = [4, 8].
      {"aten.linalg_solve_triangular.default",
       {{"self", {2, 2}, {2, 9, 1, 4}}, {"B", {1, 2}, {4, 8}}},
       {{"upper", Bool(false)}, {"left", Bool(false)}},
       {{1, 2}}},
  });
}

TEST(Rows, SingularMatricesEndTheRun) {
  const Outcome got = RunOp("aten.linalg_inv.default", {{"A", {2, 2}, {1, 2, 2, 4}}}, {}, 1);
  EXPECT_THAT(std::string(got.status.message()), HasSubstr("linalg_inv: the matrix is singular"));
  const Outcome told = RunOp("aten.linalg_inv_ex.default", {{"A", {2, 2}, {1, 2, 2, 4}}}, {}, 2);
  ASSERT_TRUE(told.status.ok()) << told.status;
  EXPECT_THAT(told.results[1], ElementsAre(2));
}

TEST(Rows, Spectra) {
  Check({
      {"aten.linalg_eigvalsh.default", {{"self", {2, 2}, {2, 9, 1, 2}}}, {}, {{1, 3}}},
      {"aten.linalg_svdvals.default", {{"A", {2, 2}, {3, 0, 0, -4}}}, {}, {{4, 3}}},
      {"aten.linalg_pinv.atol_rtol_float", {{"self", {2, 1}, {3, 4}}}, {}, {{0.12, 0.16}}},
      {"aten.linalg_matrix_rank.atol_rtol_float", {{"self", {2, 2}, {1, 2, 2, 4}}}, {}, {{1}}},
      {"aten.linalg_matrix_exp.default", {{"self", {2, 2}, {0, 1, 0, 0}}}, {}, {{1, 1, 0, 1}}},
      {"aten.linalg_vecdot.default", {{"x", {2}, {1, 2}}, {"y", {2}, {3, 4}}}, {}, {{11}}},
  });
}

TEST(Rows, SpecialFunctions) {
  const auto self = [](Doubles v) { return Operand{"self", {static_cast<int64_t>(v.size())}, v}; };
  Check({
      {"aten.digamma.default", {self({1, 2})}, {}, {{-0.5772157, 0.4227843}}},
      {"aten.polygamma.default", {self({1})}, {{"n", Int(1)}}, {{1.6449341}}},
      {"aten.special_ndtr.default", {self({0, 1.959964, -3})}, {}, {{0.5, 0.975, 0.0013499}}},
      {"aten.special_log_ndtr.default",
       {self({0, -20, 3})},
       {},
       {{-0.6931472, -203.917155, -0.0013508}}},
      {"aten.special_spherical_bessel_j0.default", {{"x", {2}, {0, 1}}}, {}, {{1, 0.841471}}},
      {"aten.mvlgamma.default", {self({3})}, {{"p", Int(2)}}, {{1.5501949}}},
      {"aten.special_zeta.other_scalar", {self({2})}, {{"other", Float(1)}}, {{1.6449341}}},
  });
}

TEST(Rows, SearchesAndExtremes) {
  const Operand sorted = {"sorted_sequence", {4}, {1, 3, 3, 7}};
  const Operand values = {"self", {3}, {3, 0, 9}};
  Check({
      {"aten.searchsorted.Tensor", {sorted, values}, {}, {{1, 0, 4}}},
      {"aten.searchsorted.Tensor", {sorted, values}, {{"right", Bool(true)}}, {{3, 0, 4}}},
      {"aten.searchsorted.Tensor",
       {{"sorted_sequence", {3}, {7, 1, 3}}, values, {"sorter", {3}, {1, 2, 0}, 5}},
       {{"side", "{\"as_string\":\"right\"}"}},
       {{2, 0, 3}}},
      {"aten.bucketize.Tensor", {values, {"boundaries", {2}, {3, 5}}}, {}, {{0, 0, 2}}},
      {"aten.cummax.default",
       {{"self", {4}, {1, 3, 2, 3}}},
       {{"dim", Int(0)}},
       {{1, 3, 3, 3}, {0, 1, 1, 3}}},
      {"aten.cummin.default",
       {{"self", {4}, {2, 3, 1, 1}}},
       {{"dim", Int(0)}},
       {{2, 2, 1, 1}, {0, 0, 2, 3}}},
      {"aten.mode.default", {{"self", {5}, {2, 1, 2, 1, 3}}}, {}, {{1}, {3}}},
  });
}

TEST(Rows, Vision) {
  Check({
      {"torchvision.nms.default",
       {{"dets", {3, 4}, {0, 0, 2, 2, 0, 0, 2, 1.9, 5, 5, 6, 6}}, {"scores", {3}, {1, 3, 2}}},
       {{"iou_threshold", Float(0.5)}},
       {{1, 2}}},
      {"torchvision.roi_align.default",
       {{"input", {1, 1, 2, 2}, {1, 2, 3, 4}}, {"rois", {1, 5}, {0, 0, 0, 2, 2}}},
       {{"spatial_scale", Float(1)},
        {"pooled_height", Int(1)},
        {"pooled_width", Int(1)},
        {"sampling_ratio", Int(-1)},
        {"aligned", Bool(true)}},
       {{2.5}}},
      {"torchvision.deform_conv2d.default",
       {{"input", {1, 1, 2, 2}, {1, 2, 3, 4}},
        {"weight", {1, 1, 1, 1}, {2}},
        {"offset", {1, 2, 2, 2}, {0, 0, 0, 0, 0.5, 0, 0, 0}},
        {"mask", {1, 0, 2, 2}, {}},
        {"bias", {1}, {10}}},
       {{"stride_h", Int(1)},
        {"stride_w", Int(1)},
        {"pad_h", Int(0)},
        {"pad_w", Int(0)},
        {"dilation_h", Int(1)},
        {"dilation_w", Int(1)},
        {"groups", Int(1)},
        {"offset_groups", Int(1)},
        {"use_mask", Bool(false)}},
       {{13, 14, 16, 18}}},
  });
}

}  // namespace
}  // namespace weft::pt2
