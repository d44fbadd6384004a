#include "weight_loader.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <new>
#include <utility>
#include <vector>

#include "chunk_walk.h"
#include "load_trace.h"
#include "synps/checked.h"
#include "synps/error.h"
#include "synps/load_memory.h"

namespace synps {
namespace {

Error no_memory(const ArtifactReader& file, const StoredWeight& weight, std::uint64_t bytes) {
  return Error({.code = ErrorCode::limit,
                .file = file.path(),
                .what = "no memory for a weight that is to be on the heap",
                .field = weight.weight.path,
                .found = fmt::format("{} bytes", bytes)});
}

HeapBytes allocate(const ArtifactReader& file, const StoredWeight& weight, std::uint64_t bytes) {
  try {
    return allocate_bytes(bytes);
  } catch (const std::bad_alloc&) {
    throw no_memory(file, weight, bytes);
  }
}

/// No memory is taken for what frames of these sizes cannot hold.
void check_frame_sizes(const ArtifactReader& file, const StoredWeight& weight) {
  for (const StoredComponent& component : weight.components)
    for (std::uint64_t chunk = 0; component.compressed() && chunk < component.chunks(); ++chunk)
      file.place_of(weight, component, chunk);
}

std::uint64_t chunk_size(const StoredComponent& component, std::uint64_t chunk) {
  return component.chunk_end(chunk) - component.chunk_begin(chunk);
}

}  // namespace

/// One weight on its way.
struct WeightLoader::Job {
  const ArtifactReader& file;
  const StoredWeight& weight;
  const FormDecision& decision;
  const Codec* codec;
  std::vector<std::span<std::byte>> blocks;  ///< of the heap, as heap_blocks() has them
  std::span<std::byte> buffer;               ///< of conversion_buffer_bytes()
  LoadStopwatch inflating;
  LoadStopwatch converting;

  Order stored_order() const { return weight.components.front().order; }
};

HeapBytes WeightLoader::load(std::size_t number, const FormDecision& decision, const Codec* codec,
                             std::span<std::span<const std::byte>> components) {
  const ArtifactReader& file = files_.file_of(number);
  const StoredWeight& weight = files_.index().weights[number];
  check_frame_sizes(file, weight);
  const std::vector<std::uint64_t> sizes = heap_blocks(weight, decision);
  std::uint64_t size = 0;
  for (const std::uint64_t block : sizes) size = saturating_add(size, block);
  HeapBytes heap = allocate(file, weight, size);
  const std::uint64_t buffer_size = conversion_buffer_bytes(weight, decision);
  const HeapBytes buffer = buffer_size == 0 ? nullptr : allocate(file, weight, buffer_size);

  Job job{file,
          weight,
          decision,
          codec,
          {},
          {buffer.get(), buffer_size},
          LoadStopwatch(trace_ != nullptr),
          LoadStopwatch(trace_ != nullptr)};
  std::byte* next = heap.get();
  for (const std::uint64_t block : sizes) {
    job.blocks.emplace_back(next, block);
    next += block;
  }
  source_.read_from(file);
  if (!decision.inflates) source_.release();
  if (decision.dequantizes) {
    dequantize(job);
    components[0] = job.blocks[0].first(weight.weight.shape.elements() * sizeof(float));
  } else {
    for (std::size_t c = 0; c < sizes.size(); ++c) {
      decision.relays ? relay(job, c) : keep(job, c);
      components[c] = job.blocks[c].first(weight.components[c].component.bytes);
    }
  }
  if (trace_ != nullptr) tell(job);
  return heap;
}

void WeightLoader::read_chunk(Job& job, std::size_t c, std::uint64_t chunk,
                              std::span<std::byte> out) {
  const StoredComponent& component = job.weight.components[c];
  const auto read = [&] { source_.read(job.weight, component, chunk, out); };
  if (component.compressed())
    job.inflating.time(read);
  else
    read();
}

void WeightLoader::keep(Job& job, std::size_t c) {
  const StoredComponent& component = job.weight.components[c];
  for (std::uint64_t chunk = 0; chunk < component.chunks(); ++chunk)
    read_chunk(job, c, chunk,
               job.blocks[c].subspan(component.chunk_begin(chunk), chunk_size(component, chunk)));
}

void WeightLoader::relay(Job& job, std::size_t c) {
  const StoredComponent& component = job.weight.components[c];
  const RowBlocks whole = checked_rows(*job.codec, job.weight, c);
  for (std::uint64_t chunk = 0; chunk < component.chunks(); ++chunk) {
    const auto read = job.buffer.first(chunk_size(component, chunk));
    read_chunk(job, c, chunk, read);
    const RowSlab slab = slab_of_chunk(job.file.path(), job.weight, c, whole, chunk, read);
    const auto to = job.blocks[c].subspan(component.chunk_begin(chunk), slab.bytes.size());
    job.converting.time([&] {
      if (!moves_blocks(slab.shape))
        std::memcpy(to.data(), slab.bytes.data(), to.size());
      else if (job.decision.form.order == Order::rows8)
        rows8_from_rows1(slab.shape, slab.bytes, to);
      else
        rows1_from_rows8(slab.shape, slab.bytes, to);
    });
  }
}

void WeightLoader::dequantize(Job& job) {
  const std::uint64_t columns = job.weight.weight.shape.columns();
  auto* const values = reinterpret_cast<float*>(job.blocks[0].data());
  ChunkWalk walk(job.file.path(), job.weight, *job.codec, job.buffer,
                 [&](std::size_t c, std::uint64_t chunk, std::span<std::byte> out) {
                   read_chunk(job, c, chunk, out);
                 });
  while (walk.next())
    job.converting.time([&] {
      decode_rows(*job.codec, job.weight, job.stored_order(), walk.slabs(), walk.first(),
                  walk.count(), {values + walk.first() * columns, walk.count() * columns});
    });
}

void WeightLoader::tell(const Job& job) const {
  const StoredWeight& weight = job.weight;
  const Order order = job.stored_order();
  const std::uint64_t bytes = true_bytes(weight);
  const std::string plain = form_text(weight, order, Compression::none);
  if (job.decision.inflates)
    tell_conversion(*trace_, weight, "inflate",
                    {form_text(weight, order, Compression::zstd), stored_bytes(weight)},
                    {plain, bytes}, job.inflating);
  if (job.decision.relays)
    tell_conversion(*trace_, weight, "relayout", {plain, bytes},
                    {form_text(weight, job.decision.form.order, Compression::none), bytes},
                    job.converting);
  if (job.decision.dequantizes)
    tell_conversion(*trace_, weight, "dequantize", {plain, bytes},
                    {"f32", weight.weight.shape.elements() * sizeof(float)}, job.converting);
}

}  // namespace synps
