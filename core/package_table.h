#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "package_call.h"
#include "synps/codec_abi.h"
#include "synps/dtype.h"

namespace synps {

/// The codecs of a package, once everything that its tables claim has been checked: versions,
/// sizes, names, counts, numbers and function pointers. `table` is what the entry function of the
/// shared object `file` returned; `name` is what the user calls the package. Throws Error(package).
std::vector<PackageCodecTable> read_package_tables(const synps_codec_package* table,
                                                   const std::string& name,
                                                   const std::string& file);

/// [a-z0-9_]+, and short enough for a name of the interface.
bool is_package_name(std::string_view name) noexcept;

/// The dtype of a SYNPS_DTYPE_ number, or nothing.
std::optional<DType> dtype_of_abi(std::uint32_t number) noexcept;
std::uint32_t abi_of_dtype(DType dtype) noexcept;

}  // namespace synps
