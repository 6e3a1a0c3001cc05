// Programs that tests of several executors run.
#ifndef WEFT_TESTS_SUPPORT_PROGRAMS_H_
#define WEFT_TESTS_SUPPORT_PROGRAMS_H_

namespace weft {

// A branch between kernels: x + x or -x, of the exponential of x.
inline constexpr char kBranchProgram[] = R"(
    func @main(%p: bool[], %x: f32[s0, 4]) -> (f32[s0, 4]) where 1 <= s0 {
      %0 = exp(%x)
      %1 = cond(%p, %0) {
        then_graph(%a: f32[s0, 4]) {
          %b = add(%a, %a)
          return %b
        }
        else_graph(%a: f32[s0, 4]) {
          %b = neg(%a)
          return %b
        }
      }
      %3 = sin(%1)
      return %3
    })";

}  // namespace weft

#endif  // WEFT_TESTS_SUPPORT_PROGRAMS_H_
