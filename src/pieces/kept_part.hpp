// kept_part.hpp: what is made ready of a part of the build side once, for all pieces that meet it.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <utility>

#include "src/columns/column.hpp"
#include "src/execute/kept_build.hpp"
#include "src/execute/seen_keys.hpp"

namespace gpujoin::pieces {

class KeptPart {
 public:
  // seen: what is known of keys, which may be the part's.
  explicit KeptPart(std::optional<execute::SeenKeys> seen = std::nullopt)
      : seen_(std::move(seen)) {}

  // What a join puts out of pairs.
  struct Output {
    columns::JoinKind kind;
    bool pairs;
    bool columns;
    bool operator==(const Output&) const = default;
  };
  // next: what follows one that was given up; null: none was.
  using Make = std::function<std::shared_ptr<const execute::KeptBuild>(
      const execute::KeptBuild::Next* next)>;
  // Joins all its rows with those of a probe side; null: they are to be planned and built anew.
  // Made by the first call, of whichever thread, and for what that one asks for; and again by the
  // first after it was given up.
  std::shared_ptr<const execute::KeptBuild> get(const Output& output, const Make& make);
  // Its memory is needed otherwise. It is made again for the next join that asks; those that have
  // it go on.
  void let_go();
  // Whether what is made has no key twice; false: it is not known.
  bool has_unique_keys();
  const execute::SeenKeys* seen() const { return seen_ ? &*seen_ : nullptr; }

 private:
  const std::optional<execute::SeenKeys> seen_;
  std::mutex mutex_;
  std::optional<Output> made_for_;
  std::shared_ptr<const execute::KeptBuild> kept_;
};

}  // namespace gpujoin::pieces
