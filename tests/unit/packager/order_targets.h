#pragma once

#include <optional>
#include <string>

#include "synps/codec_registry.h"
#include "synps/kernel.h"
#include "synps/packed_form.h"

namespace synps::testing {

/// A target whose kernels feed on every codec, and want all packed ones in rows8.
inline PackTarget rows8_target(const CodecRegistry& codecs) {
  KernelRegistry kernels;
  for (const Codec* codec : codecs.all())
    for (const Order order : {Order::rows1, Order::rows8}) {
      const bool dense = codec->info().dense;
      if (dense && order == Order::rows8) continue;
      Kernel kernel;
      kernel.key = {KernelOp::matvec, codec->info().id(), order, Target::cpu_portable};
      kernel.dense = dense;
      kernel.wanted = order == Order::rows8;
      kernels.add(kernel);
    }
  return {kernels.capabilities(TargetRequest::cpu_portable), std::nullopt, "test"};
}

}  // namespace synps::testing
