#include "backends/cuda/routines/finish.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "backends/cuda/routines/epilogue.h"
#include "backends/cuda/routines/finish_unit.h"
#include "backends/cuda/routines/joined_dims.h"
#include "backends/cuda/routines/routine_code.h"
#include "base/status_macros.h"

namespace weft::cuda {
namespace {

// Places of the strides of a dim: those of the sums, the result, and the epilogue's operands.
constexpr size_t kSum = 0, kResult = 1, kOperands = 2;

std::vector<Dim> DimsOf(const RunView& sum, const RunView& result, const EpilogueCode& epilogue) {
  std::vector<Dim> dims;
  for (int d = 0; d < result.rank(); ++d) {
    Dim dim = {result.dims[d], {sum.strides[d], result.strides[d]}};
    for (const EpilogueOperand& operand : epilogue.operands) {
      dim.strides.push_back(operand.strides[d]);
    }
    dims.push_back(std::move(dim));
  }
  dims = Join(dims);
  // A result of one element is a row of one.
  if (dims.empty()) {
    dims.push_back({result.numel(), std::vector<int64_t>(kOperands + epilogue.operands.size(), 1)});
  }
  return dims;
}

// True if rows of the sums and of the result consist of whole groups, at multiples of them.
bool HasGroups(const std::vector<Dim>& dims, const RunView& result, int64_t group) {
  const auto rest = [group](const Dim& dim) {
    return dim.strides[kSum] % group == 0 && dim.strides[kResult] % group == 0;
  };
  const Dim& last = dims.back();
  return last.strides[kSum] == 1 && last.strides[kResult] == 1 && last.size % group == 0 &&
         result.offset % group == 0 && std::all_of(dims.begin(), dims.end() - 1, rest);
}

}  // namespace

absl::StatusOr<Finish> MakeFinish(const RoutineContext& context, const StepRequest& request,
                                  size_t first, bool apart) {
  Step ops;
  ops.epilogue.assign(request.step.epilogue.begin() + static_cast<ptrdiff_t>(first),
                      request.step.epilogue.end());
  const StepRequest rest = {request.plan,   ops,
                            request.env,    request.attrs,
                            request.args,   request.results,
                            request.memory, request.constants};
  const RunView& result = request.results[0];
  WEFT_ASSIGN_OR_RETURN(const EpilogueCode epilogue, MakeEpilogue(rest, result.rank() - 1));
  const RunView sum = apart ? DenseView(result.dtype, result.dims) : result;
  std::vector<Dim> dims = DimsOf(sum, result, epilogue);
  if (dims.size() > kMaxFinishDims) return absl::UnimplementedError("a result of too many dims");
  FinishSizes sizes;
  std::vector<FinishOperand> operands(epilogue.operands.size() + 1);
  for (size_t o = 0; o < epilogue.operands.size(); ++o) {
    operands[o].step = dims.back().strides[kOperands + o];
  }
  const int64_t group = FinishGroup(result.dtype);
  const bool grouped = HasGroups(dims, result, group);
  if (grouped) {
    dims.back().size /= group;
    for (int64_t& stride : dims.back().strides) stride *= group;
  }
  sizes.rank = static_cast<int64_t>(dims.size());
  for (size_t d = 0; d < dims.size(); ++d) {
    sizes.points *= dims[d].size;
    sizes.dims[d] = dims[d].size;
    sizes.sum[d] = dims[d].strides[kSum];
    sizes.result[d] = dims[d].strides[kResult];
    for (size_t o = 0; o < epilogue.operands.size(); ++o) {
      operands[o].strides[d] = dims[d].strides[kOperands + o];
    }
  }
  WEFT_ASSIGN_OR_RETURN(auto module, context.units.Find(FinishUnit(result.dtype, epilogue.text)));
  WEFT_ASSIGN_OR_RETURN(const CuFunction function,
                        module->Find(grouped ? "weft_finish" : "weft_finish1"));
  PreparedLaunch launch(function, GridOfElements(sizes.points, context.device.multiprocessors()));
  const int place = static_cast<int>(request.args.size());
  if (apart) {
    launch.AddScratch(DTypeBytes(sum.dtype, sum.numel()));
  } else {
    AddOperand(request, place, &launch);
  }
  AddOperand(request, place, &launch);
  epilogue.AddOperands(request, &launch);
  std::string bytes = BytesOf(sizes);
  for (const FinishOperand& operand : operands) bytes += BytesOf(operand);
  launch.AddStruct(bytes);
  return Finish{std::move(module), std::move(launch)};
}

}  // namespace weft::cuda
