#include "output_window.h"

namespace synps {

void OutputWindow::start(WeightWriter& writer, std::size_t weight, std::size_t component,
                         const StoredComponent& stored, std::uint64_t begin, std::uint64_t end,
                         std::span<std::byte> memory) {
  writer_ = &writer;
  weight_ = weight;
  component_ = component;
  memory_ = memory;
  at_ = begin;
  end_ = end;
  filled_ = 0;
  digests_.start(writer, weight, component, stored, begin);
}

std::span<std::byte> OutputWindow::take(std::uint64_t size) {
  if (size > memory_.size() - filled_) flush();
  const std::span<std::byte> room = memory_.subspan(filled_, static_cast<std::size_t>(size));
  filled_ += room.size();
  return room;
}

void OutputWindow::flush() {
  if (filled_ == 0) return;
  const std::span<const std::byte> bytes = memory_.first(filled_);
  digests_.update(bytes);
  writer_->write(weight_, component_, at_, bytes);
  at_ += filled_;
  filled_ = 0;
}

}  // namespace synps
