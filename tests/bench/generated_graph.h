// Graphs of any size for benchmarks.
#ifndef WEFT_TESTS_BENCH_GENERATED_GRAPH_H_
#define WEFT_TESTS_BENCH_GENERATED_GRAPH_H_

#include <cstdint>
#include <memory>

namespace weft {

class Module;

// A function `main` of about `nodes` nodes over f32[64, 64]; the same every
// time. `busy`: full of equal expressions, x + 0, x * 1, pairs of transposes and
// dead values; else without any of it.
std::unique_ptr<Module> MakeModule(int64_t nodes, bool busy);

}  // namespace weft

#endif  // WEFT_TESTS_BENCH_GENERATED_GRAPH_H_
