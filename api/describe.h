// Weft's own inventory, for people.
#ifndef WEFT_API_DESCRIBE_H_
#define WEFT_API_DESCRIBE_H_

#include <string>

namespace weft {

// Every op: schema, documentation, whether it is a composite.
std::string DescribeOps();

}  // namespace weft

#endif  // WEFT_API_DESCRIBE_H_
