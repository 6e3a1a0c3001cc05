// The decisions of the `cpu` backend that programs have reached: library steps by routine, layout
// of the first operand, epilogue op, broadcast of its operand, dtype, and whether the weights are
// constants.
#ifndef WEFT_TESTS_TRUST_COVERAGE_H_
#define WEFT_TESTS_TRUST_COVERAGE_H_

#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "lowering/plan.h"

namespace weft::trust {

class Coverage {
 public:
  struct Cell {
    std::string routine;  // "matmul", "convolution2d", "depthwise2d", "transposed1d", ...
    DType dtype = DType::kF32;
    std::string epilogue;  // The name of an op, "bias", or "none".
    // Dims of the operand against those of the result: B, M, N of a matmul, N, C, S of a
    // convolution, where `1` stands for a dim that broadcasts and a small letter for dims of which
    // some do; "-" for ops without an operand.
    std::string broadcast;
    std::string layout;     // Of the first operand: "rows", "last" (channels last), "strided".
    bool constant = false;  // The weights are a constant.

    auto Key() const { return std::tie(routine, dtype, epilogue, broadcast, layout, constant); }
    bool operator<(const Cell& other) const { return Key() < other.Key(); }
    bool is_product() const { return routine == "matmul" || routine == "linear"; }
    // The sizes of an operand that broadcasts against a result of these sizes as `broadcast` says.
    std::vector<int64_t> MaskedDims(std::vector<int64_t> dims) const;
  };

  void Add(const Plan& plan);
  void Merge(const Coverage& other);
  int64_t count(const Cell& cell) const;
  int64_t size() const { return static_cast<int64_t>(cells_.size()); }

  // A row for each routine, dtype and epilogue op, a column for each broadcast: how many of the
  // layouts and kinds of weights were reached, of all. `.` stands for what the target does not
  // claim.
  std::string Table() const;
  // Cells that the target claims and no program reached, a line each.
  std::string Unreached() const;

 private:
  std::map<Cell, int64_t> cells_;
};

// The cells that the target claims, in the order of the table.
const std::vector<Coverage::Cell>& ClaimedCells();

}  // namespace weft::trust

#endif  // WEFT_TESTS_TRUST_COVERAGE_H_
