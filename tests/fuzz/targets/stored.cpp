// Our own model files, used where they lie: arrays that fit find every name; arrays that lie are refused, at opening or
// at the look-up, or lose names, and never lead outside of them.
#include <memory>

#include "choices.hpp"
#include "tagging/batch.hpp"
#include "tagging/sequence_scores.hpp"
#include "tagging/stored_chain.hpp"

using namespace dualfield::tagging;

namespace {

// Arrays of exactly their size, so that reading beyond them is seen.
template <class Number>
class Exact {
   public:
    explicit Exact(const std::vector<Number>& from) : size_(from.size()), numbers_(new Number[from.size()]) {
        std::copy(from.begin(), from.end(), numbers_.get());
    }
    std::span<const Number> view() const { return {numbers_.get(), size_}; }

    // Some other numbers in some places.
    void damage(fuzz::Choices& choices) {
        for (std::size_t n = size_ > 0 ? choices.size(3) : 0; n > 0; --n) {
            Number& one = numbers_[choices.size(size_ - 1)];
            const std::uint8_t how = choices.byte();
            if (how < 64)
                one = static_cast<Number>(choices.size(300));
            else if (how < 128)
                one = numbers_[choices.size(size_ - 1)];
            else
                one = static_cast<Number>(
                    choices.number(std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()));
        }
    }

   private:
    std::size_t size_;
    std::unique_ptr<Number[]> numbers_;
};

// What a model says of each name, K labels a name.
std::vector<double> scores_of(const StoredChain& model, const std::vector<std::string>& names) {
    const std::size_t K = model.transitions().labels;
    std::vector<double> scores(names.size() * K);
    Batch batch(model, scores);
    for (std::size_t i = 0; i < names.size(); ++i) batch.attribute(names[i].c_str(), names[i].size(), 1.0, i * K);
    batch.finish();
    return scores;
}

void decode(const StoredChain& model, const std::vector<double>& scores) {
    Viterbi viterbi;
    for (const std::uint32_t label : viterbi.decode(model.transitions(), scores))
        fuzz::claim(label < model.transitions().labels, "a label is one of the model");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    fuzz::Choices choices(data, size);
    const std::size_t K = 1 + choices.size(4);
    const bool observed = choices.flag(), sound = choices.flag();
    std::vector<std::string> names;
    std::vector<char> text;
    std::vector<std::int64_t> bounds{0}, starts{0};
    std::vector<std::int32_t> labels;
    for (std::size_t n = choices.size(40); n > 0; --n) {
        std::string name = choices.string(30);
        if (std::find(names.begin(), names.end(), name) != names.end()) continue;
        text.insert(text.end(), name.begin(), name.end());
        bounds.push_back(static_cast<std::int64_t>(text.size()));
        for (std::size_t k = 0; k < K; ++k)
            if (choices.flag()) labels.push_back(static_cast<std::int32_t>(k));
        starts.push_back(static_cast<std::int64_t>(labels.size()));
        names.push_back(std::move(name));
    }
    std::vector<std::int32_t> flat;
    for (std::size_t t = 0; t < K * K; ++t)
        if (choices.flag()) flat.push_back(static_cast<std::int32_t>(t));
    std::vector<double> weights;
    for (std::size_t d = (observed ? labels.size() : names.size() * K) + flat.size(); d > 0; --d)
        weights.push_back(sound ? 1.0 + static_cast<double>(d) / 16 : choices.real());

    const Exact<char> text_of(text);
    const Exact<double> weights_of(weights);
    Exact<std::int64_t> bounds_of(bounds), starts_of(starts);
    Exact<std::int32_t> labels_of(labels), flat_of(flat), index_of(name_index({text.data(), text.size()}, bounds));
    if (!sound) {
        bounds_of.damage(choices), starts_of.damage(choices), labels_of.damage(choices), flat_of.damage(choices);
        index_of.damage(choices);
    }
    StoredArrays arrays{};
    arrays.weights = weights_of.view();
    arrays.transitions = flat_of.view();
    arrays.observed = observed;
    if (observed) arrays.row_starts = starts_of.view(), arrays.row_labels = labels_of.view();
    arrays.text = text_of.view();
    arrays.offsets = bounds_of.view();
    arrays.index = index_of.view();
    if (!sound && choices.flag()) arrays.index = arrays.index.first(choices.size(arrays.index.size()));
    std::vector<std::string> asked = names;
    for (std::size_t n = 0; n < 4; ++n) asked.push_back(choices.string(30));
    try {
        arrays.indexed = true;
        const StoredChain model(arrays, K);
        const std::vector<double> scores = scores_of(model, asked);
        if (sound) {
            arrays.indexed = false;
            fuzz::claim(scores == scores_of(StoredChain(arrays, K), asked), "the index says what a hash table says");
            for (std::size_t i = 0; i < names.size(); ++i) {
                const bool any = std::any_of(&scores[i * K], &scores[i * K] + K, [](double s) { return s > 0.0; });
                fuzz::claim(any == (!observed || starts[i] < starts[i + 1]), "every name is found");
            }
        }
        decode(model, scores);
    } catch (const Damage&) {
        fuzz::claim(!sound, "arrays that fit are a model");
    } catch (const std::domain_error&) {
    }
    return 0;
}
