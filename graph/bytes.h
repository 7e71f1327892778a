// Bytes: the elements of a tensor known at compile time. They are its own, or part of something
// larger that it keeps alive: a mapping of a file, so that a model of many gigabytes is read where
// it is used, and not before.
//
//   Bytes own(64);                    own.data()[0] = ...
//   Bytes part(view, mapping);        // std::span of what `mapping`, a shared_ptr, owns; read only
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "support/error.h"

namespace polyte::graph {

class Bytes {
 public:
  Bytes() = default;
  explicit Bytes(std::size_t size) : Bytes(std::vector<std::byte>(size)) {}
  explicit Bytes(std::vector<std::byte> own) : own_(std::move(own)), view_(own_) {}
  template <class Iterator>
  Bytes(Iterator first, Iterator last) : Bytes(std::vector<std::byte>(first, last)) {}
  Bytes(std::span<const std::byte> view, std::shared_ptr<const void> owner)
      : owner_(std::move(owner)), view_(view) {}
  // A vector keeps its memory when it is moved, so that the view stays right; a copy would need one
  // of its own.
  Bytes(Bytes&& other) noexcept = default;
  Bytes& operator=(Bytes&& other) noexcept = default;
  Bytes(const Bytes&) = delete;
  Bytes& operator=(const Bytes&) = delete;
  ~Bytes() = default;

  const std::byte* data() const { return view_.data(); }
  std::size_t size() const { return view_.size(); }
  bool empty() const { return view_.empty(); }
  const std::byte* begin() const { return view_.data(); }
  const std::byte* end() const { return view_.data() + view_.size(); }
  std::byte* data() { return writable().data(); }
  std::byte* begin() { return writable().data(); }
  std::byte* end() { return writable().data() + own_.size(); }

  std::vector<std::byte> copy() const { return {begin(), end()}; }
  friend bool operator==(const Bytes& a, const Bytes& b) {
    return std::ranges::equal(a.view_, b.view_);
  }

 private:
  std::vector<std::byte> own_;
  std::shared_ptr<const void> owner_;  // set: the bytes are not our own
  std::span<const std::byte> view_;

  std::vector<std::byte>& writable() {
    POLYTE_CHECK(owner_ == nullptr, "bytes that belong to something else are read only");
    return own_;
  }
};

}  // namespace polyte::graph
