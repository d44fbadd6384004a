#include "load_trace.h"

#include <utility>

namespace synps {

std::string form_text(const StoredWeight& weight, Order order, Compression compression) {
  return stored_form_text(weight.codec.is_keep() ? weight.source : weight.codec.id(), order,
                          compression);
}

std::uint64_t stored_bytes(const StoredWeight& weight) noexcept {
  std::uint64_t bytes = 0;
  for (const StoredComponent& component : weight.components) bytes += component.stored_bytes;
  return bytes;
}

std::uint64_t true_bytes(const StoredWeight& weight) noexcept {
  std::uint64_t bytes = 0;
  for (const StoredComponent& component : weight.components) bytes += component.component.bytes;
  return bytes;
}

void tell_conversion(TraceSink& sink, const StoredWeight& weight, std::string_view kind,
                     FormOfBytes from, FormOfBytes to, const LoadStopwatch& time) {
  ConversionEvent event;
  event.weight = weight.weight.path;
  event.kind = kind;
  event.from = std::move(from.text);
  event.to = std::move(to.text);
  event.bytes_before = from.bytes;
  event.bytes_after = to.bytes;
  event.begin = time.begin;
  event.end = time.end;
  event.busy = time.busy;
  sink.conversion(event);
}

}  // namespace synps
