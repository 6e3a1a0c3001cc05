// Traces made by hand, with every kind of event.
#ifndef WEFT_TESTS_PROFILER_SAMPLE_TRACE_H_
#define WEFT_TESTS_PROFILER_SAMPLE_TRACE_H_

#include "profiler/trace.h"

namespace weft::profiler {

// Two threads; a step with a convolution that has a reshape within, memory that comes and goes, a
// counter, a flow from one thread to the other. 10 us long.
Trace SampleTrace();

// Names that files and tables must survive: quotes, line breaks, bytes that are no UTF-8.
Trace HostileTrace();

}  // namespace weft::profiler

#endif  // WEFT_TESTS_PROFILER_SAMPLE_TRACE_H_
