/* Runs a model that was compiled to source, with two sizes of its batch:
 *
 *   run_net FILE.weftb
 *
 * net.h is that of the model of examples/running. */
#include <inttypes.h>
#include <stdio.h>

#include "net.h"

static int Fail(void) {
  fprintf(stderr, "run_net: %s\n", net_error());
  return 1;
}

int main(int argc, char** argv) {
  const float x[6] = {1, 1, 1, 1, 1, 1};
  int64_t calls = 0;
  const net_inputs inputs = {x, &calls};
  net* model = net_create(argc > 1 ? argv[1] : NULL, NULL);
  if (model == NULL) return Fail();
  for (int64_t batch = 1; batch <= 2; ++batch) {
    const net_sizes sizes = {batch};
    net_outputs outputs;
    if (net_run(model, &sizes, &inputs, &outputs) != 0) return Fail();
    printf("y: [%" PRId64 ", %" PRId64 "]: %g %g\n", outputs.y_dims[0], outputs.y_dims[1],
           outputs.y[0], outputs.y[1]);
  }
  printf("calls: %" PRId64 "\n", calls);
  net_destroy(model);
  return 0;
}
