// The functions of tiles in one table; compiled once for each instruction set.
#include "backends/cpu/kernels/tile_ops_internal.h"

namespace weft::cpu {
namespace WEFT_CPU_ISA {

const TileTable kTable = {FindCompute,      FindConvert, FindRound,     FindBroadcast,
                          FindLoad,         FindStore,   FindGather,    FindScatter,
                          FindTerm,         FindIota,    FindReduceRow, FindArgRow,
                          FindReduceColumn, FindStart,   FindFinishRow};

}  // namespace WEFT_CPU_ISA

#if defined(__AVX512F__)
const TileTable* Avx512TileTable() { return &avx512::kTable; }
#else
const TileTable* Avx2TileTable() { return &avx2::kTable; }
#endif

}  // namespace weft::cpu
