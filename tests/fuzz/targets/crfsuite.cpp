// Model files of CRFsuite, used where they lie: any bytes are refused or looked up in, and labels are ones of the
// model.
#include "choices.hpp"
#include "tagging/batch.hpp"
#include "tagging/crfsuite_file.hpp"
#include "tagging/sequence_scores.hpp"

using namespace dualfield::tagging;

namespace {

// Everything that a tagger asks of a model.
void use(const CrfsuiteFile& file) {
    const std::size_t K = file.transitions().labels;
    std::vector<double> scores(4 * K);
    std::vector<std::string> names{"", "a", "w:the", "bias", std::string(40, 'x')};
    for (std::size_t i = 0; i < std::min<std::size_t>(file.attributes(), 20); ++i)
        names.emplace_back(file.attribute(i));
    names.insert(names.end(), {std::string(5000, 'y'), "b", names.back()});
    Batch batch(file, scores);
    for (std::size_t i = 0; i < names.size(); ++i)
        batch.attribute(names[i].c_str(), names[i].size(), 0.5 + static_cast<double>(i), i % 4 * K);
    batch.finish();
    Viterbi viterbi;
    const auto& path = viterbi.decode(file.transitions(), scores);
    fuzz::claim(path.size() == 4, "every position has a label");
    for (const std::uint32_t label : path) fuzz::claim(label < K, "a label is one of the model");
    Marginals marginals;
    marginals.compute(file.transitions(), scores);
    fuzz::claim(marginals.probabilities().size() == 4 * K, "every label has a probability");
    score_of(file.transitions(), scores, path.data());
    for (std::size_t i = 0; i < K; ++i) file.label(i);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    std::vector<char> content(data, data + size);
    if (size >= 24) {
        // The size is compared first; what comes after it is more interesting. Labels are few: K x K takes time.
        for (std::size_t i = 0; i < 4; ++i) content[4 + i] = static_cast<char>(size >> (8 * i));
        content[21] = content[22] = content[23] = 0;
    }
    try {
        use(CrfsuiteFile(content.data(), content.size()));
    } catch (const Damage&) {
    } catch (const std::domain_error&) {
    }
    return 0;
}
