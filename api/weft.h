// All headers for loading, compiling, running and writing models (docs/running.md). Programs with
// ops, passes or devices of their own also include extensions.h and what it names.
#ifndef WEFT_API_WEFT_H_
#define WEFT_API_WEFT_H_

#include "api/backends.h"
#include "api/compiled_file.h"
#include "api/compiled_program.h"
#include "api/compiler.h"
#include "api/extensions.h"
#include "api/model_io.h"
#include "api/program.h"
#include "api/session.h"
#include "api/version.h"
#include "base/status_macros.h"
#include "graph/ir/builder.h"
#include "graph/ir/graph.h"
#include "graph/ir/module.h"
#include "graph/ops/ops.h"
#include "graph/tensor/tensor.h"
#include "graph/text/text.h"

#endif  // WEFT_API_WEFT_H_
