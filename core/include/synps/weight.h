#pragma once

#include <string>

#include "synps/dtype.h"
#include "synps/shape.h"

namespace synps {

/// One logical tensor. Says nothing about how its bytes are stored.
struct Weight {
  std::string path{};  ///< graph path: dotted, UTF-8; the checkpoint's tensor name
  Shape shape{};
  DType dtype = DType::f32;  ///< logical element type: what the source stores

  bool operator==(const Weight&) const = default;
};

}  // namespace synps
