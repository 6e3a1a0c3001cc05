// The ops that the CPU has routines for, and the attributes that routines read, without the ops.
//
// A step names its op and has its attributes in the order of a schema, which may come from a file:
// CheckRoutineOp comes first; the classes of attributes CHECK what it checks.
#ifndef WEFT_BACKENDS_CPU_LIBRARY_ROUTINE_OPS_H_
#define WEFT_BACKENDS_CPU_LIBRARY_ROUTINE_OPS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "graph/sym/sym_int.h"
#include "graph/tensor/dtype.h"

namespace weft {
class AttrList;
struct OpSchema;
}  // namespace weft

namespace weft::cpu {

enum class RoutineOp : uint8_t {
  kMatmul,
  kLinear,
  kConvolution,
  kMatmulInteger,
  kConvolutionInteger,
  kMatmulNbits,
  kAttention,
  kMaxPool,
  kAvgPool,
  kLstm,
  kGru,
  kRnn,
  kDft,
  kStft,
  kGridSampler,
  kInterpolate,
  kCol2Im,
  kRoll,
  kObserve,
  kCumsum,
  kCumprod,
  kCummax,
  kCummin,
  kSort,
  kTopk,
  kScatter,
  kScatterNd,
  kConvert,
};

// Nullopt for an op without routines.
std::optional<RoutineOp> FindRoutineOp(absl::string_view name);
absl::string_view RoutineOpName(RoutineOp op);

// Unimplemented unless `attrs` are constants for `schema` that have every attribute that routines
// of `op` read, of the right kind.
absl::Status CheckRoutineOp(RoutineOp op, const OpSchema* schema, const AttrList* attrs);

// Attributes of a step that CheckRoutineOp accepts.
class RoutineAttrs {
 public:
  RoutineAttrs(const OpSchema* schema, const AttrList* attrs) : schema_(schema), attrs_(attrs) {}

 protected:
  bool Has(absl::string_view name) const;
  bool Bool(absl::string_view name) const;
  int64_t Int(absl::string_view name) const;
  DType Dtype(absl::string_view name) const;
  double Float(absl::string_view name) const;
  std::optional<double> OptionalFloat(absl::string_view name) const;
  std::optional<int64_t> OptionalInt(absl::string_view name) const;
  std::optional<int64_t> OptionalSym(absl::string_view name) const;
  SymInt Sym(absl::string_view name) const;
  absl::Span<const SymInt> Syms(absl::string_view name) const;
  std::vector<int64_t> Ints(absl::string_view name) const;
  const std::string& Str(absl::string_view name) const;
  const std::vector<std::string>& Strs(absl::string_view name) const;
  const std::vector<double>& Floats(absl::string_view name) const;

 private:
  const OpSchema* schema_;
  const AttrList* attrs_;
};

// Also those of convolution_integer.
class ConvolutionAttrs : public RoutineAttrs {
 public:
  using RoutineAttrs::RoutineAttrs;
  absl::Span<const SymInt> stride() const { return Syms("stride"); }
  absl::Span<const SymInt> padding() const { return Syms("padding"); }
  absl::Span<const SymInt> dilation() const { return Syms("dilation"); }
  bool transposed() const { return Bool("transposed"); }
  absl::Span<const SymInt> output_padding() const { return Syms("output_padding"); }
  SymInt groups() const { return Sym("groups"); }
};

class NbitsAttrs : public RoutineAttrs {
 public:
  using RoutineAttrs::RoutineAttrs;
  int64_t group_size() const { return Int("group_size"); }
  int64_t bits() const { return Int("bits"); }
  // Files of older versions lack it.
  bool offset() const { return Has("offset") && Bool("offset"); }
};

class AttentionAttrs : public RoutineAttrs {
 public:
  using RoutineAttrs::RoutineAttrs;
  bool is_causal() const { return Bool("is_causal"); }
  std::optional<double> scale() const { return OptionalFloat("scale"); }
  double softcap() const { return Float("softcap"); }
};

class PoolAttrs : public RoutineAttrs {
 public:
  using RoutineAttrs::RoutineAttrs;
  std::vector<int64_t> kernel_size() const { return Ints("kernel_size"); }
  std::vector<int64_t> stride() const { return Ints("stride"); }
  std::vector<int64_t> padding() const { return Ints("padding"); }
  std::vector<int64_t> dilation() const { return Ints("dilation"); }
  // Of avg_pool.
  bool count_include_pad() const { return Bool("count_include_pad"); }
};

class RecurrentAttrs : public RoutineAttrs {
 public:
  using RoutineAttrs::RoutineAttrs;
  int64_t hidden_size() const { return Int("hidden_size"); }
  const std::string& direction() const { return Str("direction"); }
  const std::vector<std::string>& activations() const { return Strs("activations"); }
  const std::vector<double>& activation_alpha() const { return Floats("activation_alpha"); }
  const std::vector<double>& activation_beta() const { return Floats("activation_beta"); }
  double clip() const { return Float("clip"); }
  // Of lstm.
  bool input_forget() const { return Bool("input_forget"); }
  // Of gru.
  bool linear_before_reset() const { return Bool("linear_before_reset"); }
};

class DftAttrs : public RoutineAttrs {
 public:
  using RoutineAttrs::RoutineAttrs;
  std::optional<int64_t> dft_length() const { return OptionalSym("dft_length"); }
  int64_t axis() const { return Int("axis"); }
  bool inverse() const { return Bool("inverse"); }
  bool onesided() const { return Bool("onesided"); }
};

class StftAttrs : public RoutineAttrs {
 public:
  using RoutineAttrs::RoutineAttrs;
  SymInt frame_step() const { return Sym("frame_step"); }
  SymInt frame_length() const { return Sym("frame_length"); }
};

class GridSamplerAttrs : public RoutineAttrs {
 public:
  using RoutineAttrs::RoutineAttrs;
  const std::string& mode() const { return Str("mode"); }
  const std::string& padding_mode() const { return Str("padding_mode"); }
  bool align_corners() const { return Bool("align_corners"); }
};

class InterpolateAttrs : public RoutineAttrs {
 public:
  using RoutineAttrs::RoutineAttrs;
  const std::vector<double>& scales() const { return Floats("scales"); }
  const std::string& mode() const { return Str("mode"); }
  const std::string& coordinate_transformation_mode() const {
    return Str("coordinate_transformation_mode");
  }
  const std::string& nearest_mode() const { return Str("nearest_mode"); }
  double cubic_coeff_a() const { return Float("cubic_coeff_a"); }
  bool exclude_outside() const { return Bool("exclude_outside"); }
  bool antialias() const { return Bool("antialias"); }
};

class RollAttrs : public RoutineAttrs {
 public:
  using RoutineAttrs::RoutineAttrs;
  absl::Span<const SymInt> shifts() const { return Syms("shifts"); }
  std::vector<int64_t> dims() const { return Ints("dims"); }
};

class ObserveAttrs : public RoutineAttrs {
 public:
  using RoutineAttrs::RoutineAttrs;
  const std::string& statistic() const { return Str("statistic"); }
  std::optional<int64_t> axis() const { return OptionalInt("axis"); }
  double momentum() const { return Float("momentum"); }
};

// Of cumsum and cumprod.
class ScanAttrs : public RoutineAttrs {
 public:
  using RoutineAttrs::RoutineAttrs;
  int64_t dim() const { return Int("dim"); }
  bool exclusive() const { return Bool("exclusive"); }
  bool reverse() const { return Bool("reverse"); }
};

// Of cummax and cummin.
class DimAttrs : public RoutineAttrs {
 public:
  using RoutineAttrs::RoutineAttrs;
  int64_t dim() const { return Int("dim"); }
};

class SortAttrs : public RoutineAttrs {
 public:
  using RoutineAttrs::RoutineAttrs;
  int64_t dim() const { return Int("dim"); }
  bool descending() const { return Bool("descending"); }
};

class TopkAttrs : public RoutineAttrs {
 public:
  using RoutineAttrs::RoutineAttrs;
  SymInt k() const { return Sym("k"); }
  int64_t dim() const { return Int("dim"); }
  bool largest() const { return Bool("largest"); }
};

class ScatterAttrs : public RoutineAttrs {
 public:
  using RoutineAttrs::RoutineAttrs;
  int64_t dim() const { return Int("dim"); }
  const std::string& reduce() const { return Str("reduce"); }
};

class ScatterNdAttrs : public RoutineAttrs {
 public:
  using RoutineAttrs::RoutineAttrs;
  const std::string& reduce() const { return Str("reduce"); }
};

class ConvertAttrs : public RoutineAttrs {
 public:
  using RoutineAttrs::RoutineAttrs;
  DType dtype() const { return Dtype("dtype"); }
  bool saturate() const { return Bool("saturate"); }
};

class FoldAttrs : public RoutineAttrs {
 public:
  using RoutineAttrs::RoutineAttrs;
  std::vector<int64_t> kernel_size() const { return Ints("kernel_size"); }
  std::vector<int64_t> dilation() const { return Ints("dilation"); }
  std::vector<int64_t> padding() const { return Ints("padding"); }
  std::vector<int64_t> stride() const { return Ints("stride"); }
};

}  // namespace weft::cpu

#endif  // WEFT_BACKENDS_CPU_LIBRARY_ROUTINE_OPS_H_
