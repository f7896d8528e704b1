// A model file of CRFsuite, used where it lies: opening reads the header, the labels and the transitions, and each
// look-up of an attribute goes through the file's own hash table.
//
// All numbers are little-endian, offsets of 32 bits:
//
//     header      lCRF, size, FOMC, version 100, numbers of features (zero in practice), labels and attributes, and
//                 where FEAT, the labels, the attributes, LFRF and AFRF are
//     FEAT        tag, size, count, and features of 20 bytes: type, source, destination, weight
//     CQDB        tag, size, flag, byte order, count, where the backward list is; then 256 tables (offset, buckets);
//                 records (number, length, string, NUL); buckets (hash, offset of the record or zero); the backward
//                 list: the offset of each number's record. Offsets are from the beginning of the CQDB.
//     LFRF, AFRF  tag, size, count, then for each label or attribute the offset of (count, numbers of its features)
//
// A string of hash h is in table h mod 256, at bucket (h / 256) mod its size or, where that is taken, at the next
// free one.
//
// Nothing of the file is trusted: every offset and number is compared with the bounds when it is used, and read once,
// so that a file that changes while it is mapped can give wrong labels but not lead out of its memory.
#pragma once

#include <array>
#include <memory>
#include <string_view>

#include "base/compiler.hpp"
#include "tagging/attribute_model.hpp"
#include "tagging/lookup3.hpp"

namespace dualfield::tagging {

static_assert(sizeof(std::size_t) >= 8, "sums of offsets of 32 bits must not overflow");

// Some bytes, and numbers from wherever one asks.
class Bytes {
   public:
    Bytes(const char* begin, std::size_t size) : begin_(begin), size_(size) {}

    std::size_t size() const { return size_; }

    // `count` bytes from a place on.
    const char* at(std::size_t place, std::size_t count, const char* what) const {
        if (place > size_ || count > size_ - place)
            throw Damage(std::string(what) + " would end at byte " + std::to_string(place + count) + " of " +
                         std::to_string(size_));
        return begin_ + place;
    }

    std::uint32_t number(std::size_t place, const char* what) const { return little_endian(at(place, 4, what)); }

    // The bytes from a place on, with a tag of four letters at their beginning.
    Bytes tagged(std::size_t place, std::string_view tag) const {
        if (std::string_view(at(place, 4, tag.data()), 4) != tag)
            throw Damage("there is no " + std::string(tag) + " at byte " + std::to_string(place));
        return {begin_ + place, size_ - place};
    }

   private:
    const char* begin_;
    std::size_t size_;
};

// Strings by number and numbers by string.
class Cqdb {
   public:
    static constexpr std::size_t kNotFound = static_cast<std::size_t>(-1);

    Cqdb(const Bytes& file, std::size_t place, std::size_t count, const char* what) : what_(what), count_(count) {
        const Bytes rest = file.tagged(place, "CQDB");
        const std::size_t size = rest.number(4, what);
        if (rest.number(12, what) != kByteOrder)
            throw Damage("its " + std::string(what) +
                         "s are of another byte order; only little-endian models are read");
        if (size < kTables + 256 * 8 || size > rest.size())
            throw Damage("its " + std::string(what) + "s would have " + std::to_string(size) + " bytes of " +
                         std::to_string(rest.size()));
        bytes_ = {rest.at(0, size, what), size};
        backward_ = rest.number(20, what);
        if (count > 0) bytes_.at(backward_, 4 * count, "the list of names");
        for (std::size_t t = 0; t < 256; ++t) {
            tables_[t] = {bytes_.number(kTables + 8 * t, what), bytes_.number(kTables + 8 * t + 4, what)};
            if (tables_[t].offset == 0) tables_[t].buckets = 0;
            bytes_.at(tables_[t].offset, std::size_t{8} * tables_[t].buckets, "a table of names");
        }
    }

    // The hash of a string, which a zero byte follows. Asks for its bucket ahead.
    std::uint32_t expect(const char* name, std::size_t length) const {
        const std::uint32_t hash = lookup3(name, length + 1);
        const auto [offset, buckets] = tables_[hash % 256];
        if (buckets > 0) prefetch_line(bytes_.at(offset + std::size_t{8} * ((hash >> 8) % buckets), 8, what_));
        return hash;
    }

    // Where the first record of this hash is, which is asked for ahead, or kNotFound. Most often it is the string's.
    std::size_t record_of(std::uint32_t hash) const {
        std::size_t record = kNotFound;
        each_record(hash, [&](std::size_t found) {
            record = found;
            prefetch_line(bytes_.at(found, 8, what_));
            return true;
        });
        return record;
    }

    // The number of a string, or kNotFound; `record` is what record_of gave.
    std::size_t number_of(const char* name, std::size_t length, std::uint32_t hash, std::size_t record) const {
        if (record == kNotFound) return kNotFound;
        if (is_name(record, name, length)) return number_at(record);
        std::size_t number = kNotFound;
        each_record(hash, [&](std::size_t found) {
            if (!is_name(found, name, length)) return false;
            number = number_at(found);
            return true;
        });
        return number;
    }

    std::string_view name(std::size_t number) const {
        if (number >= count_) throw Damage(std::string("the number of a ") + what_ + " is too large");
        const std::size_t record = bytes_.number(backward_ + 4 * number, what_);
        const std::size_t size = bytes_.number(record + 4, what_);
        if (record == 0 || size == 0) throw Damage(std::string("a ") + what_ + " has no record");
        const char* found = bytes_.at(record + 8, size, what_);
        if (found[size - 1] != 0) throw Damage(std::string("a ") + what_ + " does not end in NUL");
        return {found, std::strlen(found)};
    }

   private:
    static constexpr std::uint32_t kByteOrder = 0x62445371;
    static constexpr std::size_t kTables = 24;

    struct Table {
        std::uint32_t offset, buckets;
    };

    // Visits the records of a hash until one is accepted.
    template <class Accept>
    void each_record(std::uint32_t hash, Accept accept) const {
        const auto [offset, buckets] = tables_[hash % 256];
        if (buckets == 0) return;
        const char* table = bytes_.at(offset, 8 * std::size_t{buckets}, what_);
        std::uint32_t bucket = (hash >> 8) % buckets;
        for (std::uint32_t probes = 0; probes < buckets; ++probes) {
            const char* entry = table + 8 * std::size_t{bucket};
            const std::uint32_t record = little_endian(entry + 4);
            if (record == 0 || (little_endian(entry) == hash && accept(std::size_t{record}))) return;
            if (++bucket == buckets) bucket = 0;
        }
    }

    bool is_name(std::size_t record, const char* name, std::size_t length) const {
        return bytes_.number(record + 4, what_) == length + 1 &&
               std::memcmp(bytes_.at(record + 8, length + 1, what_), name, length + 1) == 0;
    }

    std::size_t number_at(std::size_t record) const {
        const std::uint32_t number = bytes_.number(record, what_);
        if (number >= count_) throw Damage(std::string("the number of a ") + what_ + " is too large");
        return number;
    }

    const char* what_;
    std::size_t count_, backward_ = 0;
    Bytes bytes_{nullptr, 0};
    std::array<Table, 256> tables_;
};

class CrfsuiteFile final : public AttributeModel {
   public:
    // A K x K table is made: more labels than this are the sign of a damaged file, and would take gigabytes.
    static constexpr std::size_t kMostLabels = 4096;

    struct Header {
        std::array<char, 4> magic, type;
        std::uint32_t size, version, features, labels, attributes;
        std::array<std::uint32_t, 5> places;  // of FEAT, labels, attributes, LFRF, AFRF
    };

    struct Feature {
        std::uint32_t type, source, destination;
        double weight;
    };

    // Needs the bytes as long as it lives.
    CrfsuiteFile(const char* begin, std::size_t size) : CrfsuiteFile(Bytes(begin, size), header_of({begin, size})) {}

    const Header& header() const { return header_; }
    std::size_t attributes() const override { return header_.attributes; }
    std::string_view label(std::size_t number) const { return label_names_.name(number); }
    std::string_view attribute(std::size_t number) const { return attribute_names_.name(number); }

    std::uint32_t expect(const char* name, std::size_t length) const override {
        return attribute_names_.expect(name, length);
    }

    void add(std::span<Wanted> wanted, double* scores) const override {
        for (Wanted& one : wanted) one.place = attribute_names_.record_of(one.hash);
        const std::size_t references = header_.places[4];
        for (Wanted& one : wanted) {
            const std::size_t number = attribute_names_.number_of(one.name, one.length, one.hash, one.place);
            one.place = number == Cqdb::kNotFound ? kNowhere : reference(references, number);
            if (one.place != kNowhere) prefetch_line(file_.at(one.place, 4, "a reference"));
        }
        for (Wanted& one : wanted) {
            if (one.place == kNowhere) continue;
            one.place = file_.number(one.place, "a reference");
            prefetch_line(file_.at(one.place, 4, "a list of references"));
        }
        for (const Wanted& one : wanted) {
            if (one.place != kNowhere) ask_for_features(one.place);
        }
        for (const Wanted& one : wanted) {
            if (one.place == kNowhere) continue;
            each_listed(one.place, [&](const Feature& feature) {
                if (!std::isfinite(feature.weight)) throw Damage("the weight of a feature is not finite");
                scores[one.row + feature.destination] += feature.weight * one.value;
            });
        }
    }

    // The features of a label: its transitions; of an attribute: its weights with labels.
    template <class Visitor>
    void each_transition(std::size_t label, Visitor visit) const {
        each_feature(header_.places[3], label, visit);
    }
    template <class Visitor>
    void each_state(std::size_t attribute, Visitor visit) const {
        each_feature(header_.places[4], attribute, visit);
    }

   private:
    static constexpr std::size_t kChunkHead = 12, kFeatureSize = 20;

    CrfsuiteFile(Bytes file, const Header& header)
        : AttributeModel(header.labels),
          file_(file),
          header_(header),
          label_names_(file, header.places[1], header.labels, "label"),
          attribute_names_(file, header.places[2], header.attributes, "attribute") {
        const Bytes features = file.tagged(header.places[0], "FEAT");
        n_features_ = features.number(8, "the number of features");
        features_ = features.at(kChunkHead, kFeatureSize * n_features_, "the last feature");
        for (const auto& [place, count, tag] : {std::tuple{header.places[3], header.labels, "LFRF"},
                                                std::tuple{header.places[4], header.attributes, "AFRF"}})
            file.tagged(place, tag).at(kChunkHead, 4 * std::size_t{count}, tag);
        for (std::size_t from = 0; from < header.labels; ++from)
            each_transition(from, [&](const Feature& feature) {
                if (!std::isfinite(feature.weight)) throw Damage("the weight of a transition is not finite");
                transitions_.weights[from * header.labels + feature.destination] = feature.weight;
            });
        transitions_.finish();
    }

    static Header header_of(const Bytes& file) {
        const char* begin = file.at(0, std::min<std::size_t>(4, file.size()), "the header");
        if (file.size() < 4 || std::string_view(begin, 4) != "lCRF")
            throw Damage("it does not begin with the letters lCRF of CRFsuite's models");
        if (file.size() < 48)
            throw Damage("its header is incomplete: it has " + std::to_string(file.size()) + " bytes of 48");
        Header header;
        std::memcpy(header.magic.data(), begin, 4);
        std::memcpy(header.type.data(), begin + 8, 4);
        header.size = little_endian(begin + 4);
        header.version = little_endian(begin + 12);
        header.features = little_endian(begin + 16);
        header.labels = little_endian(begin + 20);
        header.attributes = little_endian(begin + 24);
        for (std::size_t i = 0; i < 5; ++i) header.places[i] = little_endian(begin + 28 + 4 * i);
        if (header.size != file.size())
            throw Damage("its header says " + std::to_string(header.size) + " bytes but it has " +
                         std::to_string(file.size()) + "; it is cut off or not whole");
        if (std::string_view(header.type.data(), 4) != "FOMC" || header.version != 100)
            throw Damage("it is not a first-order model (FOMC) of version 100");
        if (header.labels == 0 || header.labels > kMostLabels)
            throw Damage("it has " + std::to_string(header.labels) + " labels; there may be 1 to " +
                         std::to_string(kMostLabels));
        return header;
    }

    // Where the place of a list of features stands.
    static std::size_t reference(std::size_t references, std::size_t owner) {
        return references + kChunkHead + 4 * owner;
    }

    template <class Visitor>
    void each_feature(std::size_t references, std::size_t owner, Visitor visit) const {
        each_listed(file_.number(reference(references, owner), "a reference"), visit);
    }

    // The features of one attribute mostly lie behind each other: the first and the last lines of memory are asked for.
    void ask_for_features(std::size_t place) const {
        const std::size_t count = file_.number(place, "a list of references");
        if (count == 0) return;
        const char* numbers = file_.at(place + 4, 4 * count, "a list of references");
        for (const std::size_t i : {std::size_t{0}, count - 1}) {
            const std::size_t number = little_endian(numbers + 4 * i);
            if (number < n_features_) prefetch_line(features_ + kFeatureSize * number);
        }
    }

    template <class Visitor>
    void each_listed(std::size_t place, Visitor visit) const {
        const std::size_t count = file_.number(place, "a list of references");
        const char* numbers = file_.at(place + 4, 4 * count, "a list of references");
        for (std::size_t i = 0; i < count; ++i) {
            const std::size_t number = little_endian(numbers + 4 * i);
            if (number >= n_features_) throw Damage("a reference leads to a feature that is not there");
            const char* found = features_ + kFeatureSize * number;
            Feature feature{little_endian(found), little_endian(found + 4), little_endian(found + 8), 0.0};
            const std::uint64_t bits = little_endian(found + 12) | std::uint64_t{little_endian(found + 16)} << 32;
            feature.weight = std::bit_cast<double>(bits);
            if (feature.destination >= header_.labels) throw Damage("a feature speaks of a label that is not there");
            visit(feature);
        }
    }

    Bytes file_;
    Header header_;
    Cqdb label_names_, attribute_names_;
    const char* features_ = nullptr;
    std::size_t n_features_ = 0;
};

}  // namespace dualfield::tagging
