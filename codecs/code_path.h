#pragma once

namespace synps {

/// Which code a codec runs. Both give the same bytes, values and findings for the same arguments.
enum class CodePath {
  fast,       ///< SIMD kernels for the bulk, as far as this machine has them
  reference,  ///< scalar code alone: what defines the bytes
};

}  // namespace synps
