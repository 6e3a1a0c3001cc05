// Ops that ONNX has no operators for, each with the reason.
#include "graph/ops/ops.h"
#include "serialize/onnx/export/export_tables.h"

namespace weft::onnx_export {
namespace {

constexpr char kNoBessel[] = "ONNX has no Bessel functions";
constexpr char kNoGamma[] = "ONNX has no gamma function, and none that is made of it";
constexpr char kNoErrorFunction[] = "of the error functions ONNX has Erf alone";
constexpr char kNoLinalg[] = "ONNX has no operator that factors or solves";
constexpr char kNoComplex[] = "ONNX computes no complex numbers";
constexpr char kBits[] = "written out, with the bitwise operators of opset 18";
constexpr char kWrites[] = "writes memory; functionalize comes before";

}  // namespace

absl::Span<const ExportEntry> AbsentExports() {
  static const ExportEntry kEntries[] = {
      {&ops::bessel_i0, nullptr, "", kNoBessel},
      {&ops::bessel_i0e, nullptr, "", kNoBessel},
      {&ops::bessel_i1, nullptr, "", kNoBessel},
      {&ops::bessel_i1e, nullptr, "", kNoBessel},
      {&ops::bessel_j0, nullptr, "", kNoBessel},
      {&ops::bessel_j1, nullptr, "", kNoBessel},
      {&ops::bessel_y0, nullptr, "", kNoBessel},
      {&ops::bessel_y1, nullptr, "", kNoBessel},
      {&ops::bitcast, nullptr, "", "BitCast came with opset 26, after the opsets written here"},
      {&ops::cholesky, nullptr, "", kNoLinalg},
      {&ops::copy_, nullptr, "", kWrites},
      {&ops::cummax, nullptr, "", "ONNX has no running extrema"},
      {&ops::cummin, nullptr, "", "ONNX has no running extrema"},
      {&ops::digamma, nullptr, "", kNoGamma},
      {&ops::eigh, nullptr, "", kNoLinalg},
      {&ops::erfcx, nullptr, "", kNoErrorFunction},
      {&ops::erfinv, nullptr, "", kNoErrorFunction},
      {&ops::igamma, nullptr, "", kNoGamma},
      {&ops::igammac, nullptr, "", kNoGamma},
      {&ops::lgamma, nullptr, "", kNoGamma},
      {&ops::lu_factor, nullptr, "", kNoLinalg},
      {&ops::lu_solve, nullptr, "", kNoLinalg},
      {&ops::matrix_exp, nullptr, "", kNoLinalg},
      {&ops::mode, nullptr, "", "ONNX has no operator that counts equal elements"},
      {&ops::ndtri, nullptr, "", kNoErrorFunction},
      {&ops::polygamma, nullptr, "", kNoGamma},
      {&ops::qr, nullptr, "", kNoLinalg},
      {&ops::rand, nullptr, "", kBits},
      {&ops::randn, nullptr, "", kBits},
      {&ops::random_bits, nullptr, "", kBits},
      {&ops::runtime_assert, nullptr, "", "ONNX has no operator that ends a run"},
      {&ops::scatter_, nullptr, "", kWrites},
      {&ops::scatter_nd_, nullptr, "", kWrites},
      {&ops::searchsorted, nullptr, "", "ONNX has no search in a sorted sequence"},
      {&ops::solve_triangular, nullptr, "", kNoLinalg},
      {&ops::svd, nullptr, "", kNoLinalg},
      {&ops::view_as_complex, nullptr, "", kNoComplex},
      {&ops::view_as_real, nullptr, "", kNoComplex},
      {&ops::zeta, nullptr, "", kNoGamma},
  };
  return kEntries;
}

}  // namespace weft::onnx_export
