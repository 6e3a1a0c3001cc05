// Normalizations.
#include "absl/strings/str_cat.h"
#include "graph/ir/builder.h"
#include "graph/ops/ops.h"
#include "graph/sym/sym_ops.h"
#include "serialize/pt2/aten/tables.h"
#include "serialize/pt2/build.h"

namespace weft::pt2 {
namespace {

// `v` in input's dtype; PyTorch also accepts wider weights and statistics.
Value* Like(AtenCall& c, Value* v, Value* input) {
  return v == nullptr ? nullptr : Convert(c, v, DTypeOf(input));
}

std::vector<Value*> LayerNormOf(AtenCall& c, Value* input) {
  return c.Ops(ops::native_layer_norm,
               {input, Like(c, c.OptT("weight"), input), Like(c, c.OptT("bias"), input)},
               {{"normalized_shape", c.Syms("normalized_shape")}, {"eps", c.Float("eps")}});
}

void LayerNorm(AtenCall& c) {
  const auto y = LayerNormOf(c, c.T("input"));
  if (!y.empty()) c.Return(y[0]);
}

// The dtype of statistics that a norm returns: that of wider weights, else input's.
DType StatisticsDType(AtenCall& c) {
  const DType dtype = DTypeOf(c.T("input"));
  for (absl::string_view name : {"weight", "bias", "running_mean"}) {
    if (c.schema().Find(name) >= 0 && c.Has(name)) return DTypeOf(c.T(name));
  }
  return dtype;
}

void NativeLayerNorm(AtenCall& c) {
  const auto y = LayerNormOf(c, c.T("input"));
  c.Return(y[0]);
  for (size_t i = 1; i < y.size(); ++i) c.Return(Convert(c, y[i], StatisticsDType(c)));
}

void RmsNorm(AtenCall& c) {
  Value* x = c.T("input");
  // The default is the distance between 1 and the next number.
  const DType dtype = DTypeOf(x);
  const double eps = dtype == DType::kF64 ? 2.220446049250313e-16
                     : dtype == DType::kF16 || dtype == DType::kBF16 || dtype == DType::kF32
                         ? 1.1920928955078125e-07
                         : 0;
  c.Return(c.Op(ops::rms_norm, {x, Like(c, c.OptT("weight"), x)},
                {{"normalized_shape", c.Syms("normalized_shape")}, {"eps", c.Float("eps", eps)}}));
}

// --- Groups -----------------------------------------------------------------------

void GroupNorm(AtenCall& c) {
  Value* x = c.T("input");
  c.Return(c.Op(ops::group_norm, {x, Like(c, c.OptT("weight"), x), Like(c, c.OptT("bias"), x)},
                {{"num_groups", c.Int("num_groups")}, {"eps", c.Float("eps")}}));
}

struct Statistics {
  Value* mean = nullptr;  // Kept dims.
  Value* var = nullptr;   // Biased.
};

Statistics StatisticsOf(AtenCall& c, Value* x, const Ints& dims) {
  Value* mean = Reduce(c, ops::mean, x, dims, true);
  Value* centered = Sub(c, x, mean);
  return {mean, Reduce(c, ops::mean, Mul(c, centered, centered), dims, true)};
}

// Also returns mean and 1 / standard deviation, [N, groups].
void NativeGroupNorm(AtenCall& c) {
  Value* x = c.T("input");
  const int64_t groups = c.Int("group");
  const SymInt n = c.Sym("N");
  const double eps = c.Float("eps");
  c.Return(c.Op(ops::group_norm, {x, Like(c, c.OptT("weight"), x), Like(c, c.OptT("bias"), x)},
                {{"num_groups", groups}, {"eps", eps}}));
  if (!c.ok() || groups < 1) return c.Return(nullptr);
  const SymInt inner = FloorDiv(c.Sym("C") * c.Sym("HxW"), groups);
  Value* wide = Convert(c, x, Wide(DTypeOf(x)));
  Value* seen = Reshape(c, wide, {n, SymInt(groups), inner});
  const Statistics s = StatisticsOf(c, seen, {2});
  Value* rstd = c.Op(ops::rsqrt, {Add(c, s.var, eps)});
  c.Return(Convert(c, Squeeze(c, s.mean, 2), StatisticsDType(c)));
  c.Return(Convert(c, Squeeze(c, rstd, 2), StatisticsDType(c)));
}

// --- Batches ------------------------------------------------------------------------

Value* ChannelsOr(AtenCall& c, Value* v, Value* x, double value) {
  if (v != nullptr) return Like(c, v, x);
  return Full(c, {DimOf(x, 1)}, NumberLike(c, x, value));
}

Value* InferenceNorm(AtenCall& c, Value* x, Value* mean, Value* var, double eps) {
  if (RankOf(x) < 2) return c.Fail("input has too few dims");
  return c.Op(ops::batch_norm,
              {x, ChannelsOr(c, c.OptT("weight"), x, 1), ChannelsOr(c, c.OptT("bias"), x, 0),
               Like(c, mean, x), Like(c, var, x)},
              {{"eps", eps}});
}

// Normalization with the statistics of the batch: output, mean and 1 / deviation.
struct TrainingNorm {
  Value* output = nullptr;
  Value* mean = nullptr;
  Value* rstd = nullptr;
  Value* var = nullptr;
};

TrainingNorm BatchStatistics(AtenCall& c, Value* input, double eps) {
  TrainingNorm result;
  const int rank = RankOf(input);
  if (rank < 2) {
    c.Fail("input has too few dims");
    return result;
  }
  Value* x = Convert(c, input, Wide(DTypeOf(input)));
  const Statistics s = StatisticsOf(c, x, OtherDims(rank, {1}));
  Value* rstd = c.Op(ops::rsqrt, {Add(c, s.var, eps)});
  Value* y = Mul(c, Sub(c, x, s.mean), rstd);
  if (Value* w = c.OptT("weight")) {
    y = Mul(c, y, AlongDim(c, Convert(c, w, DTypeOf(x)), 1, rank));
  }
  if (Value* b = c.OptT("bias")) {
    y = Add(c, y, AlongDim(c, Convert(c, b, DTypeOf(x)), 1, rank));
  }
  const SymInts channels = {DimOf(input, 1)};
  result.output = Convert(c, y, DTypeOf(input));
  result.mean = Reshape(c, s.mean, channels);
  result.rstd = Reshape(c, rstd, channels);
  result.var = Reshape(c, s.var, channels);
  return result;
}

// Outside of training the saved statistics are empty.
void NoTraining(AtenCall& c) {
  Value* x = c.T("input");
  c.Return(InferenceNorm(c, x, c.T("running_mean"), c.T("running_var"), c.Float("eps")));
  const Value* mean = c.T("running_mean");
  c.Return(Zeros(c, {SymInt(0)}, DTypeOf(mean)));
  c.Return(Zeros(c, {SymInt(0)}, DTypeOf(mean)));
}

void ReturnTraining(AtenCall& c, const TrainingNorm& y) {
  c.Return(y.output);
  c.Return(Convert(c, y.mean, StatisticsDType(c)));
  c.Return(Convert(c, y.rstd, StatisticsDType(c)));
}

void NoStats(AtenCall& c) { ReturnTraining(c, BatchStatistics(c, c.T("input"), c.Float("eps"))); }

// The running statistics after one batch of training.
struct Running {
  Value* mean = nullptr;
  Value* var = nullptr;
};

Running UpdateRunning(AtenCall& c, const TrainingNorm& y) {
  if (!c.ok()) return {};
  const double momentum = c.Float("momentum");
  SymInt count = 1;
  for (int64_t d : OtherDims(RankOf(y.output), {1})) {
    count = count * DimOf(y.output, static_cast<int>(d));
  }
  // The unbiased variance, not that of the batch.
  const DType dtype = DTypeOf(y.var);
  Value* unbiased =
      Mul(c, y.var, Div(c, SymScalar(c, count, dtype), SymScalar(c, count - 1, dtype)));
  const auto mixed = [&](Value* old, Value* now) {
    return Add(c, Mul(c, old, 1 - momentum), Mul(c, Convert(c, now, DTypeOf(old)), momentum));
  };
  return {mixed(c.T("running_mean"), y.mean), mixed(c.T("running_var"), unbiased)};
}

// Writes the running statistics to their buffers.
void Written(AtenCall& c, const TrainingNorm& y) {
  const Running running = UpdateRunning(c, y);
  c.Write("running_mean", running.mean);
  c.Write("running_var", running.var);
}

void BatchNorm(AtenCall& c) {
  Value* x = c.T("input");
  const double eps = c.Float("eps");
  if (c.Bool("training") || !c.Has("running_mean")) {
    const TrainingNorm y = BatchStatistics(c, x, eps);
    if (c.Bool("training") && c.Has("running_mean")) Written(c, y);
    return c.Return(y.output);
  }
  c.Return(InferenceNorm(c, x, c.T("running_mean"), c.T("running_var"), eps));
}

void Legit(AtenCall& c) {
  Value* x = c.T("input");
  const double eps = c.Float("eps");
  if (!c.Bool("training")) return NoTraining(c);
  const TrainingNorm y = BatchStatistics(c, x, eps);
  ReturnTraining(c, y);
  Written(c, y);
}

// The statistics may be absent; in training they are written.
void NativeBatchNorm(AtenCall& c) {
  if (c.Has("running_mean")) return Legit(c);
  NoStats(c);
}

// Always in training; the reserve of cuDNN is returned as an empty tensor.
void WithUpdate(AtenCall& c) {
  const TrainingNorm y = BatchStatistics(c, c.T("input"), c.Float("eps"));
  ReturnTraining(c, y);
  c.Return(Zeros(c, {SymInt(0)}, DType::kU8));
  Written(c, y);
}

void WithUpdateFunctional(AtenCall& c) {
  const TrainingNorm y = BatchStatistics(c, c.T("input"), c.Float("eps"));
  const Running running = UpdateRunning(c, y);
  ReturnTraining(c, y);
  c.Return(Zeros(c, {SymInt(0)}, DType::kU8));
  c.Return(running.mean);
  c.Return(running.var);
}

// Returns the running statistics as results.
void Functional(AtenCall& c) {
  Value* x = c.T("input");
  Value* mean = c.T("running_mean");
  Value* var = c.T("running_var");
  const double eps = c.Float("eps");
  if (!c.Bool("training")) {
    c.Return(InferenceNorm(c, x, mean, var, eps));
    c.Return(Zeros(c, {SymInt(0)}, DTypeOf(mean)));
    c.Return(Zeros(c, {SymInt(0)}, DTypeOf(mean)));
    c.Return(mean);
    return c.Return(var);
  }
  const TrainingNorm y = BatchStatistics(c, x, eps);
  const Running running = UpdateRunning(c, y);
  ReturnTraining(c, y);
  c.Return(running.mean);
  c.Return(running.var);
}

// The running statistics of instance norm are means over the batch.
void WriteInstanceStatistics(AtenCall& c, Value* x) {
  Value* wide = Convert(c, x, Wide(DTypeOf(x)));
  Ints dims;
  SymInt count = 1;
  for (int d = 2; d < RankOf(x); ++d) {
    dims.push_back(d);
    count = count * DimOf(x, d);
  }
  const Statistics s = StatisticsOf(c, wide, dims);
  const DType dtype = DTypeOf(wide);
  const double momentum = c.Float("momentum");
  const auto mixed = [&](absl::string_view name, Value* now) {
    now = Reduce(c, ops::mean, Reshape(c, now, {DimOf(x, 0), DimOf(x, 1)}), {0}, false);
    Value* old = c.T(name);
    now = Mul(c, Convert(c, now, DTypeOf(old)), momentum);
    c.Write(name, Add(c, Mul(c, old, 1 - momentum), now));
  };
  mixed("running_mean", s.mean);
  Value* scale = Div(c, SymScalar(c, count, dtype), SymScalar(c, count - 1, dtype));
  mixed("running_var", Mul(c, s.var, scale));
}

void InstanceNorm(AtenCall& c) {
  Value* x = c.T("input");
  if (!c.Bool("use_input_stats")) {
    return c.Return(InferenceNorm(c, x, c.T("running_mean"), c.T("running_var"), c.Float("eps")));
  }
  if (RankOf(x) < 2 || !DimOf(x, 1).is_constant()) {
    return c.Return(c.Unsupported("the number of channels is not known"));
  }
  c.Return(c.Op(ops::group_norm, {x, Like(c, c.OptT("weight"), x), Like(c, c.OptT("bias"), x)},
                {{"num_groups", DimOf(x, 1)}, {"eps", c.Float("eps")}}));
  if (c.Has("running_mean")) WriteInstanceStatistics(c, x);
}

// x / max(|x|, eps)
void WeightNorm(AtenCall& c) {
  Value* v = c.T("v");
  Value* g = c.T("g");
  const int dim = c.Dim("dim", RankOf(v));
  const Ints dims = OtherDims(RankOf(v), {dim});
  Value* norm = c.Op(ops::sqrt, {Reduce(c, ops::sum, Mul(c, v, v), dims, true)});
  c.Return(Mul(c, v, Div(c, g, norm)));
  if (c.schema().results.size() > 1) c.Return(norm);
}

// Scales slices along `dim` to norms of at most maxnorm.
void Renorm(AtenCall& c) {
  Value* x = c.T("self");
  const int dim = c.Dim("dim", RankOf(x));
  if (c.Float("p") != 2) {
    return c.Return(c.Unsupported("renorm with p other than 2"));
  }
  const Ints dims = OtherDims(RankOf(x), {dim});
  Value* norm = c.Op(ops::sqrt, {Reduce(c, ops::sum, Mul(c, x, x), dims, true)});
  const double most = c.Float("maxnorm");
  Value* factor = Div(c, NumberLike(c, norm, most), Add(c, norm, 1e-7));
  Value* above = c.Op(ops::gt, {norm, NumberLike(c, norm, most)});
  c.Return(Mul(c, x, Where(c, above, factor, NumberLike(c, norm, 1))));
}

constexpr AtenOp kTable[] = {
    {"_batch_norm_with_update(Tensor input, Tensor? weight, Tensor? bias, "
     "Tensor(a!) running_mean, Tensor(b!) running_var, float momentum, float "
     "eps) -> (Tensor, Tensor, Tensor, Tensor)",
     WithUpdate},
    {"_batch_norm_with_update_functional(Tensor input, Tensor? weight, Tensor? "
     "bias, Tensor running_mean, Tensor running_var, float momentum, float eps) "
     "-> (Tensor, Tensor, Tensor, Tensor, Tensor running_mean_out, Tensor "
     "running_var_out)",
     WithUpdateFunctional},
    {"_native_batch_norm_legit(Tensor input, Tensor? weight, Tensor? bias, "
     "Tensor(a!) running_mean, Tensor(b!) running_var, bool training, float "
     "momentum, float eps) -> (Tensor, Tensor, Tensor)",
     Legit},
    {"_native_batch_norm_legit.no_stats(Tensor input, Tensor? weight, Tensor? "
     "bias, bool training, float momentum, float eps) -> (Tensor, Tensor, "
     "Tensor)",
     NoStats},
    {"_native_batch_norm_legit_functional(Tensor input, Tensor? weight, "
     "Tensor? bias, Tensor running_mean, Tensor running_var, bool training, "
     "float momentum, float eps) -> (Tensor, Tensor, Tensor, Tensor "
     "running_mean_out, Tensor running_var_out)",
     Functional},
    {"_native_batch_norm_legit_no_training(Tensor input, Tensor? weight, "
     "Tensor? bias, Tensor running_mean, Tensor running_var, float momentum, "
     "float eps) -> (Tensor, Tensor, Tensor)",
     NoTraining},
    {"_weight_norm(Tensor v, Tensor g, int dim=0) -> Tensor", WeightNorm},
    {"_weight_norm_interface(Tensor v, Tensor g, int dim=0) -> (Tensor, "
     "Tensor)",
     WeightNorm},
    {"batch_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? "
     "running_mean, Tensor? running_var, bool training, float momentum, float "
     "eps, bool cudnn_enabled) -> Tensor",
     BatchNorm},
    {"group_norm(Tensor input, int num_groups, Tensor? weight=None, Tensor? "
     "bias=None, float eps=1.0000000000000001e-05, bool cudnn_enabled=True) -> "
     "Tensor",
     GroupNorm},
    {"instance_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? "
     "running_mean, Tensor? running_var, bool use_input_stats, float momentum, "
     "float eps, bool cudnn_enabled) -> Tensor",
     InstanceNorm},
    {"layer_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight=None, "
     "Tensor? bias=None, float eps=1.0000000000000001e-05, bool "
     "cudnn_enable=True) -> Tensor",
     LayerNorm},
    {"native_batch_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? "
     "running_mean, Tensor? running_var, bool training, float momentum, float "
     "eps) -> (Tensor, Tensor, Tensor)",
     NativeBatchNorm},
    {"native_group_norm(Tensor input, Tensor? weight, Tensor? bias, SymInt N, "
     "SymInt C, SymInt HxW, int group, float eps) -> (Tensor, Tensor, Tensor)",
     NativeGroupNorm},
    {"native_layer_norm(Tensor input, SymInt[] normalized_shape, Tensor? "
     "weight, Tensor? bias, float eps) -> (Tensor, Tensor, Tensor)",
     NativeLayerNorm},
    {"renorm(Tensor self, Scalar p, int dim, Scalar maxnorm) -> Tensor", Renorm},
    {"rms_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight=None, "
     "float? eps=None) -> Tensor",
     RmsNorm},
};

}  // namespace

absl::Span<const AtenOp> NormTable() { return kTable; }

}  // namespace weft::pt2
