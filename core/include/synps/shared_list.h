#pragma once

#include <cstddef>
#include <initializer_list>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

namespace synps {

/// A list that its copies share: thousands of weights have the same. It is assigned as a whole, and
/// read from any number of threads.
template <typename Row>
class SharedList {
 public:
  SharedList() = default;
  SharedList(std::vector<Row> rows)  // implicit, as a vector is what most lists are made from
      : rows_(rows.empty() ? nullptr : std::make_shared<const std::vector<Row>>(std::move(rows))) {}
  SharedList(std::initializer_list<Row> rows) : SharedList(std::vector<Row>(rows)) {}

  bool empty() const noexcept { return rows_ == nullptr; }
  std::size_t size() const noexcept { return empty() ? 0 : rows_->size(); }
  const Row* begin() const noexcept { return empty() ? nullptr : rows_->data(); }
  const Row* end() const noexcept { return begin() + size(); }
  const Row& operator[](std::size_t i) const noexcept { return (*rows_)[i]; }
  const Row& back() const noexcept { return rows_->back(); }
  /// Throws std::out_of_range.
  const Row& at(std::size_t i) const {
    if (i >= size()) throw std::out_of_range("SharedList::at");
    return (*rows_)[i];
  }

  bool operator==(const SharedList& other) const {
    if (rows_ == other.rows_) return true;
    return !empty() && !other.empty() && *rows_ == *other.rows_;
  }

 private:
  std::shared_ptr<const std::vector<Row>> rows_;  // null: no rows
};

}  // namespace synps
