#include "src/pieces/kept_part.hpp"

namespace gpujoin::pieces {

std::shared_ptr<const execute::KeptBuild> KeptPart::get(const Output& output, const Make& make) {
  std::lock_guard const lock(mutex_);
  std::optional<execute::KeptBuild::Next> next;
  if (made_for_ == output && kept_ != nullptr && !kept_->is_good()) {
    next = kept_->next();
    made_for_.reset();
    kept_ = nullptr;
  }
  if (!made_for_) {
    kept_ = make(next ? &*next : nullptr);
    made_for_ = output;
  }
  return *made_for_ == output ? kept_ : nullptr;
}

void KeptPart::let_go() {
  std::lock_guard const lock(mutex_);
  made_for_.reset();
  kept_ = nullptr;
}

bool KeptPart::has_unique_keys() {
  std::lock_guard const lock(mutex_);
  return kept_ != nullptr && kept_->built().has_unique_keys();
}

}  // namespace gpujoin::pieces
