// Attributes of a sequence on their way to a model, which looks some of them up together.
#pragma once

#include <cstring>
#include <vector>

#include "tagging/attribute_model.hpp"

namespace dualfield::tagging {

// Names are copied into memory of the batch's own, so the caller may use its memory again at once. Scores may move
// while attributes wait: rows are kept as numbers.
class Batch {
   public:
    Batch(const AttributeModel& model, std::vector<double>& scores) : model_(model), scores_(scores) {}
    Batch(const Batch&) = delete;
    Batch& operator=(const Batch&) = delete;

    // A zero byte follows the name.
    void attribute(const char* name, std::size_t length, double value, std::size_t row) {
        if (waiting_ == kMost || length >= sizeof names_ - used_) finish();
        const std::uint32_t hash = model_.expect(name, length);
        const bool kept = length < sizeof names_;
        if (kept) name = static_cast<const char*>(std::memcpy(names_ + used_, name, length + 1));
        wanted_[waiting_++] = {name, length, value, row, hash, AttributeModel::kNowhere};
        used_ += kept ? length + 1 : 0;
        if (!kept) finish();
    }

    // Adds the weights of all attributes that wait.
    void finish() {
        if (waiting_ > 0) model_.add({wanted_, waiting_}, scores_.data());
        waiting_ = used_ = 0;
    }

   private:
    static constexpr std::size_t kMost = 64;

    const AttributeModel& model_;
    std::vector<double>& scores_;
    std::size_t waiting_ = 0, used_ = 0;
    Wanted wanted_[kMost];
    char names_[4096];
};

}  // namespace dualfield::tagging
