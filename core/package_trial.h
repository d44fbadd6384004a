#pragma once

#include "synps/codec.h"

namespace synps {

/// Lets a package's codec describe, encode and decode some small weights, one that is passed on in
/// three parts, and values of the dtypes that it claims to store exactly, so that a broken package
/// is found when it is loaded. Throws Error(package). A codec that supports none of them is not
/// tried.
void try_package_codec(const Codec& codec);

}  // namespace synps
