// IdlePool: what a run needs for itself, kept for the next run. As many are made as were ever in
// flight at once; taking one that is there, and giving it back, allocates nothing.
//
//   const auto lease = pool.take([&] { return std::make_unique<Context>(); });
//   lease->arena                               // given back at the end of `lease`
#pragma once

#include <memory>
#include <mutex>
#include <utility>
#include <vector>

namespace polyte::runtime {

template <class T>
class IdlePool {
 public:
  class Lease {
   public:
    Lease(IdlePool& pool, std::unique_ptr<T> content) : pool_(pool), content_(std::move(content)) {}
    ~Lease() { pool_.give_back(std::move(content_)); }
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
    T& operator*() const { return *content_; }
    T* operator->() const { return content_.get(); }

   private:
    IdlePool& pool_;
    std::unique_ptr<T> content_;
  };

  template <class Make>
  Lease take(Make make) {
    std::unique_ptr<T> content = idle();
    return {*this, content ? std::move(content) : make()};
  }
  // Nobody takes or gives one back meanwhile.
  template <class F>
  void for_each_idle(F f) {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (const std::unique_ptr<T>& content : idle_) f(*content);
  }

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<T>> idle_;  // guarded by mutex_
  std::size_t made_ = 0;                  // guarded by mutex_

  std::unique_ptr<T> idle() {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (idle_.empty()) {
      idle_.reserve(++made_);  // so that giving back never allocates
      return nullptr;
    }
    std::unique_ptr<T> content = std::move(idle_.back());
    idle_.pop_back();
    return content;
  }
  void give_back(std::unique_ptr<T> content) {
    const std::lock_guard<std::mutex> lock(mutex_);
    idle_.push_back(std::move(content));
  }
};

}  // namespace polyte::runtime
