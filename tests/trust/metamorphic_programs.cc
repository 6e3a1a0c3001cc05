#include "tests/trust/metamorphic_programs.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "graph/ir/builder.h"
#include "graph/ir/graph.h"
#include "graph/ops/ops.h"
#include "graph/ops/registry.h"
#include "graph/sym/sym_facts.h"
#include "tests/trust/judge.h"

namespace weft::trust {
namespace {

// The dim whose indices the programs treat alike.
enum class Kind { kBatch, kLength, kChannels };

class NetBuilder {
 public:
  explicit NetBuilder(Random& random)
      : random_(random),
        kind_(random.Of({Kind::kBatch, Kind::kBatch, Kind::kLength, Kind::kChannels})),
        dim_(kind_ == Kind::kBatch ? 0 : 1),
        images_(kind_ == Kind::kChannels || (kind_ == Kind::kBatch && random.OneIn(2))) {
    program_.module = std::make_unique<Module>(ops::Registry());
    program_.edge_values = random.OneIn(6);
    program_.output_dim = dim_;
    // Numbers of channels that symbols stand for have no depthwise convolutions.
    program_.resizes = random.OneIn(2);
    main_ = program_.module->AddFunction("main");
    if (program_.resizes) {
      program_.module->symbols().Declare({SymInt::Symbol("n"), {0, 4096}});
    }
  }

  absl::StatusOr<TestProgram> Make() {
    Builder b(main_);
    dims_ = images_ ? Dims{random_.Pick(1, 3), random_.Pick(2, 9), random_.Pick(3, 9),
                           random_.Pick(3, 9)}
                    : Dims{random_.Pick(1, 3), random_.Pick(1, 17), random_.Pick(1, 33)};
    dims_[dim_] = random_.Pick(2, 6);
    Value* value = Input(dims_, dim_);
    if (random_.OneIn(2)) value = b.Op(ops::silu, {value});
    for (int i = random_.Pick(1, 5); i > 0; --i) {
      Value* next = images_ ? ImageLayer(b, value) : RowLayer(b, value);
      if (next != nullptr) value = next;
      if (!b.status().ok()) return b.status();
      for (int k = random_.Pick(0, 2); k > 0; --k) value = Pointwise(b, value);
      if (!b.status().ok()) return b.status();
    }
    main_->SetOutputs({&value, 1});
    return std::move(program_);
  }

 private:
  // An input whose dim `carried` (-1: none) is the one that is selected from.
  Value* Input(const Dims& dims, int carried) {
    std::vector<SymInt> sizes(dims.begin(), dims.end());
    if (carried >= 0 && program_.resizes) sizes[carried] = SymInt::Symbol("n");
    program_.inputs.push_back(DrawTensor(DType::kF32, dims, program_.edge_values, random_));
    program_.carries.push_back(carried);
    return main_->AddInput(Type::Tensor(DType::kF32, sizes));
  }

  // The same values for all indices: an input or a constant, without edge values.
  Value* Shared(Builder& b, const Dims& dims) {
    HostTensor tensor = DrawTensor(DType::kF32, dims, false, random_);
    if (random_.OneIn(2)) return b.Constant(tensor);
    program_.inputs.push_back(tensor);
    program_.carries.push_back(-1);
    return main_->AddInput(tensor.type());
  }

  Value* Pointwise(Builder& b, Value* value) {
    if (random_.OneIn(3)) {
      return b.Op(*random_.Of({&ops::relu, &ops::gelu, &ops::sigmoid, &ops::tanh, &ops::silu,
                               &ops::hardswish, &ops::abs}),
                  {value});
    }
    Dims dims = dims_;
    for (int64_t& d : dims) {
      if (random_.OneIn(2)) d = 1;
    }
    Value* other = dims[dim_] == 1 ? Shared(b, dims) : Input(dims, dim_);
    const OpDef* op = random_.Of({&ops::add, &ops::mul, &ops::sub, &ops::maximum, &ops::minimum});
    return random_.OneIn(3) ? b.Op(*op, {other, value}) : b.Op(*op, {value, other});
  }

  // On rows [n, t, d] or [b, n, d].
  Value* RowLayer(Builder& b, Value* value) {
    switch (random_.Pick(0, 4)) {
      case 0:
        return b.Op(ops::softmax, {value}, {{"dim", 2}});
      case 1:
        return b.Ops(
            ops::native_layer_norm, {value, nullptr, nullptr},
            {{"normalized_shape", std::vector<SymInt>{SymInt(dims_[2])}}, {"eps", 0.1}})[0];
      case 2: {  // A matrix for each batch.
        const int64_t out = random_.Pick(1, 20);
        const Dims weight = {dims_[0], dims_[2], out};
        Value* other = kind_ == Kind::kBatch ? Input(weight, 0) : Shared(b, weight);
        dims_[2] = out;
        return b.Op(ops::matmul, {value, other});
      }
      default: {
        const int64_t out = random_.Pick(1, 40);
        Value* weight = Shared(b, {out, dims_[2]});
        Value* bias = random_.OneIn(2) ? nullptr : Shared(b, {out});
        dims_[2] = out;
        return b.Op(ops::linear, {value, weight, bias});
      }
    }
  }

  // On images [n, c, h, w] or [b, n, h, w].
  Value* ImageLayer(Builder& b, Value* value) {
    if (random_.OneIn(4)) {
      return b.Op(ops::avg_pool, {value},
                  {{"kernel_size", Dims{3, 3}},
                   {"stride", Dims{1, 1}},
                   {"padding", Dims{1, 1, 1, 1}},
                   {"dilation", Dims{1, 1}}});
    }
    const bool depthwise = kind_ == Kind::kChannels || random_.OneIn(4);
    if (depthwise && kind_ == Kind::kChannels && program_.resizes) return nullptr;
    const int64_t in = dims_[1], out = depthwise ? in : random_.Pick(1, 20);
    const Dims weight_dims = {out, depthwise ? 1 : in, 3, 3};
    Value* weight;
    if (kind_ == Kind::kChannels) {
      program_.inputs.push_back(DrawTensor(DType::kF32, weight_dims, false, random_));
      program_.carries.push_back(0);
      weight = main_->AddInput(program_.inputs.back().type());
    } else {
      weight = Shared(b, weight_dims);
    }
    dims_[1] = out;
    const Dims ones = {1, 1};
    return b.Op(ops::convolution, {value, weight, nullptr},
                {{"stride", ones},
                 {"padding", ones},
                 {"dilation", ones},
                 {"groups", SymInt(depthwise ? in : 1)}});
  }

  Random& random_;
  const Kind kind_;
  const int dim_;
  const bool images_;
  TestProgram program_;
  Graph* main_ = nullptr;
  Dims dims_;
};

// Elements at `indices` of a dim of a float tensor.
HostTensor Select(const HostTensor& tensor, int dim, const std::vector<int64_t>& indices) {
  Dims dims(tensor.dims().begin(), tensor.dims().end());
  int64_t inner = 1, outer = 1;
  for (int d = 0; d < dim; ++d) outer *= dims[d];
  for (size_t d = dim + 1; d < dims.size(); ++d) inner *= dims[d];
  const std::vector<double> from = tensor.ReadDoubles();
  std::vector<double> to;
  for (int64_t o = 0; o < outer; ++o) {
    for (int64_t index : indices) {
      const auto begin = from.begin() + (o * dims[dim] + index) * inner;
      to.insert(to.end(), begin, begin + inner);
    }
  }
  dims[dim] = static_cast<int64_t>(indices.size());
  return HostTensor::FromDoubles(tensor.dtype(), dims, to);
}

// Some indices, in any order and more than once; all of them once where the size is fixed.
std::vector<int64_t> DrawIndices(int64_t size, bool resizes, Random& random) {
  std::vector<int64_t> indices;
  if (resizes) {
    const int count = random.OneIn(3) ? 1 : random.Pick(1, 8);
    for (int i = 0; i < count; ++i) indices.push_back(random.Pick(0, static_cast<int>(size) - 1));
    return indices;
  }
  for (int64_t i = 0; i < size; ++i) indices.push_back(i);
  for (size_t i = indices.size(); i > 1; --i) std::swap(indices[i - 1], indices[random.Next() % i]);
  return indices;
}

}  // namespace

absl::StatusOr<TestProgram> MakeMetamorphicProgram(Random& random) {
  return NetBuilder(random).Make();
}

absl::Status CheckSelection(const TestProgram& program, const Configuration& configuration,
                            Totals* totals) {
  ++totals->programs;
  Random random(program.inputs[0].Fingerprint());
  Configuration other = RandomConfiguration(random, {configuration.options.isa, "", 0, false});
  other.options.f32_precision = configuration.options.f32_precision;
  const std::vector<int64_t> indices =
      DrawIndices(program.inputs[0].dim(program.output_dim), program.resizes, random);
  std::vector<HostTensor> selected = program.inputs;
  for (size_t i = 0; i < selected.size(); ++i) {
    if (program.carries[i] >= 0) selected[i] = Select(selected[i], program.carries[i], indices);
  }
  WEFT_ASSIGN_OR_RETURN(auto whole,
                        CompiledProgram::Create(*program.module, configuration, totals));
  WEFT_ASSIGN_OR_RETURN(auto part, CompiledProgram::Create(*program.module, other, totals));
  WEFT_ASSIGN_OR_RETURN(const std::vector<HostTensor> all, whole.Run(program.inputs));
  WEFT_ASSIGN_OR_RETURN(const std::vector<HostTensor> got, part.Run(selected));
  const HostTensor want = Select(all[0], program.output_dim, indices);
  JudgeLimits limits;
  limits.operand_error = OperandErrorOf(configuration.options);
  limits.both_round = true;
  const std::string difference =
      DifferenceBeyondRounding(*program.module, selected, got, {want}, limits, &totals->trials);
  totals->generated += whole.stats().generated_steps;
  totals->fallbacks += whole.stats().fallbacks;
  if (difference.empty()) {
    ++totals->compared;
    return absl::OkStatus();
  }
  std::string list;
  for (int64_t index : indices) absl::StrAppend(&list, " ", index);
  return absl::InternalError(
      absl::StrCat(difference, "\nof all, selected:", list, "; of part: ", other.ToString()));
}

}  // namespace weft::trust
