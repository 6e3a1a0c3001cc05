#include "backends/cuda/routines/select.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "backends/cuda/routines/routine_code.h"
#include "backends/cuda/routines/select_unit.h"
#include "backends/cuda/routines/sort.h"
#include "backends/runtime/step_names.h"
#include "base/status_macros.h"
#include "graph/ir/attrs.h"

namespace weft::cuda {
namespace {

constexpr auto kCountBytes = static_cast<int64_t>(sizeof(int32_t));

// A piece of the scratch memory.
struct Piece {
  int64_t begin = 0, bytes = 0;
};

// The launches before FindSizes count what is found; the others are made for that number.
class SelectCode : public StepCode {
 public:
  absl::Status FindSizes(const LaunchMemory& memory,
                         std::vector<std::vector<int64_t>>* dims) override {
    int32_t found = 0;
    if (sizes_.size > 0) {
      WEFT_RETURN_IF_ERROR(counting_.Launch(memory));
      const char* const last = memory.scratch + counts_.begin + sizes_.parts * kCountBytes;
      WEFT_RETURN_IF_ERROR(device_.CopyOut(&found, last, kCountBytes));
    }
    sizes_.found = found;
    *dims = DimsOf(found);
    dims_ = *dims;
    return absl::OkStatus();
  }

  absl::Status Launch(const LaunchMemory& memory) override {
    if (sizes_.found == 0) return absl::OkStatus();
    for (size_t r = 0; r < dims_.size(); ++r) {
      if (memory.results[r] == nullptr) continue;
      device_.Forget(RangeOf(memory.results[r], ResultExtent(static_cast<int>(r))));
    }
    return Put(memory);
  }

  // It waits for a number.
  bool recordable() const override { return false; }
  int64_t scratch_bytes() const override { return counting_.scratch_bytes(); }
  const char* runner() const override { return "library"; }
  std::string routine() const override { return counting_.routine(); }

 protected:
  using AddParameters = absl::FunctionRef<void(PreparedLaunch*)>;

  SelectCode(const RoutineContext& context, const StepRequest& request, const char* routine,
             const SelectSizes& sizes)
      : device_(context.device),
        sizes_(sizes),
        counting_(context.device, request, routine),
        num_args_(static_cast<int>(request.args.size())),
        operand_(request.args[0].present() ? ExtentOf(request, request.args[0]) : Extent()),
        label_(DescribeStep(request.plan, request.step)) {
    // Blocks that keep a GPU busy, and the fewest elements of a part.
    constexpr int64_t kBlocks = 1024;
    constexpr int64_t kLeastPart = 2048;
    const int64_t part = std::max((sizes_.size + kBlocks - 1) / kBlocks, kLeastPart);
    sizes_.part = (part + kRoutineThreads - 1) / kRoutineThreads * kRoutineThreads;
    sizes_.parts = (sizes_.size + sizes_.part - 1) / sizes_.part;
    for (const View& view : request.step.results) {
      result_bytes_.push_back(view.present() ? DTypeBytes(view.type.dtype(), 1) : 0);
    }
  }

  // The dims of the results.
  virtual std::vector<std::vector<int64_t>> DimsOf(int64_t found) const = 0;
  // Submits the launches that write the results, which are not empty.
  virtual absl::Status Put(const LaunchMemory& memory) = 0;

  // Adds the launches that count. `first` is a kernel that counts in each part.
  absl::Status AddCounts(const std::shared_ptr<const CudaModule>& module, const char* first,
                         AddParameters add) {
    module_ = module;
    counts_ = Reserve((sizes_.parts + 1) * kCountBytes);
    if (sizes_.size == 0) return absl::OkStatus();
    WEFT_RETURN_IF_ERROR(counting_.AddKernel(
        module, first, Blocks(),
        [&](PreparedLaunch* launch) {
          add(launch);
          AddPiece(counts_, launch);
        },
        BytesOf(sizes_)));
    return counting_.AddKernel(
        module, "weft_select_offsets", OneBlock(),
        [&](PreparedLaunch* launch) { AddPiece(counts_, launch); }, BytesOf(sizes_));
  }

  // Submits a launch to the results' memory.
  absl::Status Submit(const LaunchMemory& memory, const char* name, const LaunchShape& shape,
                      AddParameters add) {
    WEFT_ASSIGN_OR_RETURN(const CuFunction function, module_->Find(name));
    PreparedLaunch launch(function, shape);
    add(&launch);
    launch.AddStruct(BytesOf(sizes_));
    return launch.Submit(device_, memory, label_);
  }

  Piece Reserve(int64_t bytes) { return {counting_.ReserveScratch(bytes), bytes}; }
  static void AddPiece(const Piece& piece, PreparedLaunch* launch) {
    launch->AddScratch(piece.bytes, piece.begin);
  }
  // Elements of the piece have no content yet.
  void Forget(const LaunchMemory& memory, const Piece& piece) {
    device_.Forget(RangeOf(memory.scratch, {-piece.begin, piece.begin + piece.bytes}));
  }
  void AddSource(PreparedLaunch* launch) const { launch->AddOperand(0, 0, operand_); }
  void AddResult(int result, PreparedLaunch* launch) const {
    const bool present = result_bytes_[result] > 0;
    launch->AddOperand(present ? num_args_ + result : -1, 0, ResultExtent(result));
  }
  LaunchShape Blocks() const { return GridOf(sizes_.parts, device_.multiprocessors()); }
  static LaunchShape OneBlock() { return GridOf(1, 1); }

  CudaDevice& device_;
  SelectSizes sizes_;
  RoutineCode counting_;
  Piece counts_;

 private:
  Extent ResultExtent(int result) const {
    int64_t bytes = result_bytes_[result];
    for (const int64_t dim : dims_[result]) bytes *= dim;
    return {0, bytes};
  }

  const int num_args_;
  const Extent operand_;
  std::vector<int64_t> result_bytes_;       // By result, of an element; 0: it is absent.
  std::vector<std::vector<int64_t>> dims_;  // Of the results, as found last.
  std::shared_ptr<const CudaModule> module_;
  const std::string label_;
};

class NonzeroCode : public SelectCode {
 public:
  static absl::StatusOr<std::unique_ptr<StepCode>> Make(const RoutineContext& context,
                                                        const StepRequest& request) {
    const RunView& x = request.args[0];
    SelectSizes sizes;
    sizes.size = x.numel();
    sizes.rank = x.rank();
    std::copy(x.dims.begin(), x.dims.end(), sizes.dims);
    WEFT_ASSIGN_OR_RETURN(const auto module, context.units.Find(NonzeroUnit(x.dtype)));
    std::unique_ptr<NonzeroCode> code(new NonzeroCode(context, request, "nonzero", sizes));
    WEFT_RETURN_IF_ERROR(code->AddCounts(module, "weft_nonzero_count",
                                         [&](PreparedLaunch* launch) { code->AddSource(launch); }));
    return code;
  }

 private:
  using SelectCode::SelectCode;

  std::vector<std::vector<int64_t>> DimsOf(int64_t found) const override {
    return {{found, sizes_.rank}};
  }
  absl::Status Put(const LaunchMemory& memory) override {
    if (sizes_.rank == 0) return absl::OkStatus();
    return Submit(memory, "weft_nonzero_put", Blocks(), [&](PreparedLaunch* launch) {
      AddSource(launch);
      AddPiece(counts_, launch);
      AddResult(0, launch);
    });
  }
};

class UniqueCode : public SelectCode {
 public:
  // `dims`, of the operand, but for dim `dim` are those of the first result.
  static absl::StatusOr<std::unique_ptr<StepCode>> Make(const RoutineContext& context,
                                                        const StepRequest& request, bool sorted,
                                                        std::vector<int64_t> dims, int64_t dim) {
    const RunView& x = request.args[0];
    SelectSizes sizes;
    sizes.size = x.numel();
    sizes.sorted = sorted;
    sizes.has_indices = request.step.results[1].present();
    sizes.has_inverse = request.step.results[2].present();
    sizes.has_counts = request.step.results[3].present();
    WEFT_ASSIGN_OR_RETURN(const auto module, context.units.Find(UniqueUnit(x.dtype)));
    std::unique_ptr<UniqueCode> code(new UniqueCode(context, request, "unique", sizes));
    code->dims_of_values_ = std::move(dims);
    code->dim_ = dim;
    SortSizes order;
    order.lines = 1;
    order.size = sizes.size;
    order.k = sizes.size;
    if (sizes.size > 0) {
      WEFT_ASSIGN_OR_RETURN(
          const SortedKeys keys,
          AddSort(
              context, x.dtype, order, [&](PreparedLaunch* launch) { code->AddSource(launch); },
              &code->counting_));
      code->keys_ = {keys.keys, keys.keys_bytes};
      code->numbers_ = {keys.numbers, keys.numbers_bytes};
    }
    code->starts_ = code->Reserve(sizes.size * kCountBytes);
    for (Piece* piece : {&code->own_, &code->order_, &code->ranks_}) {
      *piece = code->Reserve(sorted ? 0 : sizes.size * kCountBytes);
    }
    WEFT_RETURN_IF_ERROR(code->AddCounts(module, "weft_unique_count", [&](PreparedLaunch* launch) {
      AddPiece(code->keys_, launch);
    }));
    return code;
  }

 private:
  using SelectCode::SelectCode;
  enum Result { kValues, kIndices, kInverse, kCounts };

  std::vector<std::vector<int64_t>> DimsOf(int64_t found) const override {
    std::vector<int64_t> values = dims_of_values_;
    values[dim_] = found;
    return {values, {found}, {sizes_.size}, {found}};
  }

  absl::Status Put(const LaunchMemory& memory) override {
    for (const Piece& piece : {starts_, own_, order_, ranks_}) Forget(memory, piece);
    WEFT_RETURN_IF_ERROR(
        Submit(memory, "weft_unique_groups", Blocks(), [&](PreparedLaunch* launch) {
          for (const Piece& piece : {keys_, numbers_, counts_, starts_, own_}) {
            AddPiece(piece, launch);
          }
          AddResult(kInverse, launch);
        }));
    if (!sizes_.sorted) WEFT_RETURN_IF_ERROR(PutOrder(memory));
    const LaunchShape shape = GridOfElements(sizes_.found, device_.multiprocessors());
    return Submit(memory, "weft_unique_put", shape, [&](PreparedLaunch* launch) {
      AddSource(launch);
      for (const Piece& piece : {numbers_, starts_, order_}) AddPiece(piece, launch);
      for (const Result result : {kValues, kIndices, kCounts}) AddResult(result, launch);
    });
  }

  // The order of the groups by their first elements.
  absl::Status PutOrder(const LaunchMemory& memory) {
    WEFT_RETURN_IF_ERROR(
        Submit(memory, "weft_unique_first_count", Blocks(), [&](PreparedLaunch* launch) {
          for (const Piece& piece : {own_, counts_}) AddPiece(piece, launch);
        }));
    WEFT_RETURN_IF_ERROR(Submit(memory, "weft_select_offsets", OneBlock(),
                                [&](PreparedLaunch* launch) { AddPiece(counts_, launch); }));
    WEFT_RETURN_IF_ERROR(Submit(memory, "weft_unique_order", Blocks(), [&](PreparedLaunch* launch) {
      for (const Piece& piece : {own_, counts_, order_, ranks_}) AddPiece(piece, launch);
    }));
    if (!sizes_.has_inverse) return absl::OkStatus();
    const LaunchShape shape = GridOfElements(sizes_.size, device_.multiprocessors());
    return Submit(memory, "weft_unique_inverse", shape, [&](PreparedLaunch* launch) {
      for (const Piece& piece : {own_, ranks_}) AddPiece(piece, launch);
      AddResult(kInverse, launch);
    });
  }

  std::vector<int64_t> dims_of_values_;
  int64_t dim_ = 0;
  // Of SortUnit, and of the kernels of UniqueUnit.
  Piece keys_, numbers_;
  Piece starts_, own_, order_, ranks_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<StepCode>> MakeNonzero(const RoutineContext& context,
                                                      const StepRequest& request) {
  const RunView& x = request.args[0];
  if (x.numel() >= kMaxElements) return absl::UnimplementedError("2^31 elements or more");
  if (x.rank() > kMaxSelectDims) return absl::UnimplementedError("a tensor of so many dims");
  return NonzeroCode::Make(context, request);
}

absl::StatusOr<std::unique_ptr<StepCode>> MakeUnique(const RoutineContext& context,
                                                     const StepRequest& request) {
  const RunView& x = request.args[0];
  if (x.numel() >= kMaxElements) return absl::UnimplementedError("2^31 elements or more");
  const Attrs attrs(request.step.schema, request.attrs);
  std::vector<int64_t> dims = {x.numel()};
  int64_t dim = 0;
  if (attrs.Has("dim")) {
    dim = attrs.Int("dim");
    if (dim < 0) dim += x.rank();
    if (dim < 0 || dim >= x.rank()) return absl::UnimplementedError("there is no dim");
    dims = x.dims;
    if (dims[dim] != x.numel()) return absl::UnimplementedError("slices of several elements");
  }
  return UniqueCode::Make(context, request, attrs.Bool("sorted"), std::move(dims), dim);
}

}  // namespace weft::cuda
