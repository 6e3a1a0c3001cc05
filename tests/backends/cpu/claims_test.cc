// Routines refuse operands and results that do not fit their op. A plan from a file may have any.
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "backends/cpu/kernels/tile_ops.h"
#include "backends/cpu/library/library.h"
#include "graph/ir/builder.h"
#include "graph/ir/op_def.h"
#include "graph/ops/ops.h"
#include "gtest/gtest.h"

namespace weft::cpu {
namespace {

// Operands, then results, of an op.
struct Views {
  std::vector<RunView> args, results;
};

bool IsTaken(const OpDef& op, const std::vector<NamedAttr>& attrs, const Views& views) {
  const auto list = MakeAttrs(op, attrs);
  EXPECT_TRUE(list.ok()) << list.status();
  LibraryStep step;
  step.op = *FindRoutineOp(op.name());
  step.schema = &op.schema();
  step.attrs = *list;
  EXPECT_TRUE(CheckRoutineOp(step.op, step.schema, step.attrs).ok());
  step.args = views.args;
  step.result = views.results[0];
  step.more_results.assign(views.results.begin() + 1, views.results.end());
  step.constants.resize(step.args.size());
  step.constant_keys.resize(step.args.size());
  LibraryContext context;
  context.table = Avx2TileTable();
  const auto call = MakeLibraryCall(step, context);
  EXPECT_TRUE(call.ok() || absl::IsUnimplemented(call.status())) << call.status();
  return call.ok();
}

RunView ViewOf(DType dtype, const std::vector<int64_t>& dims) {
  RunView view = DenseView(dtype, dims);
  view.buffer = 0;
  return view;
}

// The op is taken as it is, and not if an operand or a result has another dtype, or a result has
// another size or gaps.
void ExpectClaims(const OpDef& op, const std::vector<NamedAttr>& attrs, const Views& views) {
  SCOPED_TRACE(op.name());
  EXPECT_TRUE(IsTaken(op, attrs, views));
  const auto expect_refused = [&](const char* what, bool of_results, size_t i, auto change) {
    Views other = views;
    change(of_results ? other.results[i] : other.args[i]);
    EXPECT_FALSE(IsTaken(op, attrs, other))
        << what << (of_results ? " of result " : " of operand ") << i;
  };
  for (const bool of_results : {false, true}) {
    const std::vector<RunView>& all = of_results ? views.results : views.args;
    for (size_t i = 0; i < all.size(); ++i) {
      const DType dtype = all[i].dtype == DType::kI16 ? DType::kF64 : DType::kI16;
      expect_refused("the dtype", of_results, i, [&](RunView& view) { view.dtype = dtype; });
      if (!of_results) continue;
      expect_refused("the size", of_results, i, [](RunView& view) { ++view.dims.back(); });
    }
  }
}

TEST(Claims, Scans) {
  const RunView x = ViewOf(DType::kF32, {4, 9}), at = ViewOf(DType::kI64, {4, 9});
  const std::vector<NamedAttr> dim = {{"dim", int64_t{1}}};
  ExpectClaims(ops::cumsum, dim, {{x}, {x}});
  ExpectClaims(ops::cumprod, dim, {{x}, {x}});
  ExpectClaims(ops::cummax, dim, {{x}, {x, at}});
  ExpectClaims(ops::cummin, dim, {{x}, {x, at}});
}

TEST(Claims, Orders) {
  const RunView x = ViewOf(DType::kF32, {4, 9}), at = ViewOf(DType::kI64, {4, 9});
  ExpectClaims(ops::sort, {}, {{x}, {x, at}});
  ExpectClaims(ops::topk, {{"k", SymInt(3)}},
               {{x}, {ViewOf(DType::kF32, {4, 3}), ViewOf(DType::kI64, {4, 3})}});
}

TEST(Claims, Scatters) {
  const RunView x = ViewOf(DType::kF32, {5, 3}), at = ViewOf(DType::kI64, {2, 3});
  for (const char* reduce : {"none", "add"}) {
    const NamedAttr how = {"reduce", std::string(reduce)};
    ExpectClaims(ops::scatter, {{"dim", int64_t{0}}, how},
                 {{x, at, ViewOf(DType::kF32, {2, 3})}, {x}});
    ExpectClaims(ops::scatter_nd, {how},
                 {{x, ViewOf(DType::kI32, {2, 1}), ViewOf(DType::kF32, {2, 3})}, {x}});
  }
}

}  // namespace
}  // namespace weft::cpu
