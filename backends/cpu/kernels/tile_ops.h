// Operations of the kernel interpreter on one tile: functions over arrays, compiled once for each
// instruction set from one source (tile_ops.cc).
//
// A tile holds values of a compute dtype: bool (a byte, 0 or 1), integers of 8 to 64 bits, f32,
// f64. Half and 8-bit floats exist only in memory. Arrays need no alignment. A result may be the
// same array as an operand of the same size; arrays must not overlap otherwise.
//
// Included by files that are compiled for a newer instruction set: no inline functions here, and
// none that other files there would share.
#ifndef WEFT_BACKENDS_CPU_KERNELS_TILE_OPS_H_
#define WEFT_BACKENDS_CPU_KERNELS_TILE_OPS_H_

#include <cstdint>

#include "graph/tensor/dtype.h"
#include "lowering/kernel.h"

namespace weft::cpu {

// dst[i] = f(a[i], b[i], c[i]) for i < n; a uniform operand is one element.
using TileFn = void (*)(void* dst, const void* a, const void* b, const void* c, int64_t n);
// Loads: dst[i] = src[i * stride]. Stores: dst[i * stride] = src[i]. Strides count
// elements of the memory's dtype.
using MoveFn = void (*)(void* dst, const void* src, int64_t stride, int64_t n);
// Loads: dst[i] = memory[offsets[i]]. Stores: memory[offsets[i]] = src[i].
using GatherFn = void (*)(void* tile, void* memory, const int64_t* offsets, int64_t n);
// offsets[i] += stride * index[i]; a negative index counts from `bound`. False if an index is out
// of bounds; its offset is then that of index 0.
using TermFn = bool (*)(int64_t* offsets, const void* index, int64_t stride, int64_t bound,
                        int64_t n);
// dst[i] = start + i * step
using IotaFn = void (*)(void* dst, int64_t start, int64_t step, int64_t n);
// Accumulates n values into n accumulators (columns), or, for kArgMax and kArgMin, also into one
// (rows). Value i has position pos + i * step among those reduced; `at` is the position of the best
// value so far, initially -1.
using ReduceFn = void (*)(void* acc, int64_t* at, const void* values, int64_t n, int64_t pos,
                          int64_t step);

// Accumulates n values into lanes * copies accumulators, in the order of kernel_schedule.h (rows).
using RowFn = void (*)(void* acc, const void* values, int64_t n, int64_t lanes, int64_t copies);
// Combines those accumulators into the result; overwrites them.
using RowEndFn = void (*)(void* result, void* acc, int64_t lanes, int64_t copies);

struct TileTable {
  // Null if there is no variant for these uniform operands (bit i: operand i), but there always is
  // one for `uniform` 0; null for ops without that dtype. `operand` is the dtype of the operands
  // (of a select: of the last two).
  TileFn (*compute)(ScalarOp op, DType dtype, DType operand, unsigned uniform);
  TileFn (*convert)(DType to, DType from);
  TileFn (*round)(DType dtype, DType via);
  TileFn (*broadcast)(DType dtype);  // Copies one element to n.
  MoveFn (*load)(DType memory);
  MoveFn (*store)(DType memory);
  GatherFn (*gather)(DType memory);
  GatherFn (*scatter)(DType memory);
  TermFn (*term)(DType index);
  IotaFn (*iota)(DType dtype);
  RowFn (*reduce_row)(ReduceOp op, DType dtype);
  ReduceFn (*arg_row)(ReduceOp op, DType dtype);
  ReduceFn (*reduce_column)(ReduceOp op, DType dtype);
  // Writes the start value of the reduction to n accumulators.
  TileFn (*start)(ReduceOp op, DType dtype);
  RowEndFn (*finish_row)(ReduceOp op, DType dtype);
};

const TileTable* Avx2TileTable();
const TileTable* Avx512TileTable();

// The dtype that elements have in a tile: f32 for narrower floats.
DType ComputeDType(DType memory);

// The dtype as which elements are copied bit by bit, whose kernels copies need: narrow floats,
// which are f32 in tiles, as integers of their size, and complex numbers as one or two of 64 bits.
// Requires 8 bits or more.
DType CopyDType(DType dtype);

}  // namespace weft::cpu

#endif  // WEFT_BACKENDS_CPU_KERNELS_TILE_OPS_H_
