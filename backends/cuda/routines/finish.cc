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

// The dims of the result, with its strides and those of the epilogue's operands.
std::vector<Dim> DimsOf(const RunView& result, const EpilogueCode& epilogue) {
  std::vector<Dim> dims;
  for (int d = 0; d < result.rank(); ++d) {
    Dim dim = {result.dims[d], {result.strides[d]}};
    for (const EpilogueOperand& operand : epilogue.operands) {
      dim.strides.push_back(operand.strides[d]);
    }
    dims.push_back(std::move(dim));
  }
  dims = Join(dims);
  // A result of one element is a row of one.
  if (dims.empty()) {
    dims.push_back({result.numel(), std::vector<int64_t>(1 + epilogue.operands.size(), 1)});
  }
  return dims;
}

// True if rows of the result consist of whole groups, at multiples of them.
bool HasGroups(const std::vector<Dim>& dims, const RunView& result, int64_t group) {
  const auto rest = [group](const Dim& dim) { return dim.strides[0] % group == 0; };
  return dims.back().strides[0] == 1 && dims.back().size % group == 0 &&
         result.offset % group == 0 && std::all_of(dims.begin(), dims.end() - 1, rest);
}

}  // namespace

absl::StatusOr<Finish> MakeFinish(const RoutineContext& context, const StepRequest& request,
                                  size_t first) {
  Step ops;
  ops.epilogue.assign(request.step.epilogue.begin() + static_cast<ptrdiff_t>(first),
                      request.step.epilogue.end());
  const StepRequest rest = {request.plan,   ops,
                            request.env,    request.attrs,
                            request.args,   request.results,
                            request.memory, request.constants};
  const RunView& result = request.results[0];
  WEFT_ASSIGN_OR_RETURN(const EpilogueCode epilogue, MakeEpilogue(rest, result.rank() - 1));
  std::vector<Dim> dims = DimsOf(result, epilogue);
  if (dims.size() > kMaxFinishDims) return absl::UnimplementedError("a result of too many dims");
  FinishSizes sizes;
  std::vector<FinishOperand> operands(epilogue.operands.size() + 1);
  for (size_t o = 0; o < epilogue.operands.size(); ++o) {
    operands[o].step = dims.back().strides[1 + o];
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
    sizes.result[d] = dims[d].strides[0];
    for (size_t o = 0; o < epilogue.operands.size(); ++o) {
      operands[o].strides[d] = dims[d].strides[1 + o];
    }
  }
  WEFT_ASSIGN_OR_RETURN(auto module, context.units.Find(FinishUnit(result.dtype, epilogue.text)));
  WEFT_ASSIGN_OR_RETURN(const CuFunction function,
                        module->Find(grouped ? "weft_finish" : "weft_finish1"));
  const int64_t blocks = (sizes.points + kRoutineThreads - 1) / kRoutineThreads;
  PreparedLaunch launch(function, GridOf(blocks, context.device.multiprocessors()));
  launch.AddOperand(static_cast<int>(request.args.size()), 0, ExtentOf(request, result));
  for (const EpilogueOperand& operand : epilogue.operands) {
    launch.AddOperand(operand.arg, 0, ExtentOf(request, request.args[operand.arg]));
  }
  std::string bytes = BytesOf(sizes);
  for (const FinishOperand& operand : operands) bytes += BytesOf(operand);
  launch.AddStruct(bytes);
  return Finish{std::move(module), std::move(launch)};
}

}  // namespace weft::cuda
