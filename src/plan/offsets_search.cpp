#include "plan/offsets_search.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <tuple>

#include "plan/offsets_floors.h"
#include "plan/split_mix.h"

namespace cleave::plan {
namespace {

constexpr int64_t infinite = std::numeric_limits<int64_t>::max();

// Long-lived buffers always come first; this breaks ties.
enum class Ties { large_first, small_first, random };
// Which of the lowest sections: where fewest buffers can begin, or nearest the piece's middle.
enum class Pick { fewest, middle };

struct Turn {
  Ties ties;
  Pick pick;
  uint64_t seed;
};

// A run of sections whose unplaced buffers overlap no others; `buffers` may include placed ones.
struct Piece {
  std::vector<uint32_t> buffers;
  int32_t begin = 0, end = 0;
};

class Search {
 public:
  Search(const OffsetProblem& p, int64_t capacity, const Turn& turn, int64_t work)
      : p_(p), turn_(turn), work_(work), floors_(p, capacity), at_(p.size(), -1), rank_(p.size()),
        begins_(p.total.size() + 1) {
    rank_buffers();
  }
  SearchEnd run() {
    Piece all;
    all.buffers.resize(p_.size());
    std::iota(all.buffers.begin(), all.buffers.end(), 0u);
    all.end = p_.sections();
    return floors_.start() ? solve_pieces(all) : SearchEnd::none;
  }
  const Placement& at() const { return at_; }
  int64_t work_left() const { return work_ - floors_.work; }

 private:
  void rank_buffers() {
    SplitMix random(turn_.seed);
    using Key = std::tuple<int64_t, int64_t, uint64_t>;
    std::vector<std::pair<Key, uint32_t>> keyed;
    for (uint32_t i = 0; i < p_.size(); ++i) {
      const OffsetProblem::Buffer& b = p_.buffers[i];
      const int64_t size = turn_.ties == Ties::random        ? 0
                           : turn_.ties == Ties::large_first ? -b.size
                                                             : b.size;
      keyed.push_back({{-b.time, size, turn_.ties == Ties::random ? random.next() : 0}, i});
    }
    std::sort(keyed.begin(), keyed.end());
    for (uint32_t k = 0; k < keyed.size(); ++k) rank_[keyed[k].second] = k;
  }

  // Solves all pieces of the given one, in order.
  SearchEnd solve_pieces(const Piece& whole) {
    for (int32_t begin = whole.begin, s = begin; s < whole.end; ++s) {
      if (s + 1 < whole.end && floors_.crossing(s) > 0) continue;
      Piece piece{{}, begin, s + 1};
      begin = s + 1;
      for (uint32_t i : whole.buffers) {
        const int32_t first = p_.buffers[i].first;
        if (!floors_.placed(i) && piece.begin <= first && first < piece.end)
          piece.buffers.push_back(i);
      }
      if (piece.buffers.empty()) continue;
      const SearchEnd end = solve(piece);
      if (end != SearchEnd::found) return end;
    }
    return SearchEnd::found;
  }

  // Restores the floors before it returns.
  SearchEnd solve(const Piece& piece) {
    const size_t changes = floors_.changes();
    SearchEnd end = SearchEnd::none;
    while (true) {
      if (work_left() < 0) {
        end = SearchEnd::out_of_work;
        break;
      }
      const int32_t s = pick_section(piece);
      if (s < 0) {
        end = SearchEnd::found;
        break;
      }
      end = try_buffers(piece, s);
      if (end != SearchEnd::none || !floors_.lift(s)) break;
    }
    floors_.undo_to(changes);
    return end;
  }

  // Returns -1 if all buffers are placed.
  int32_t pick_section(const Piece& piece) {
    int64_t lowest = infinite;
    for (int32_t s = piece.begin; s < piece.end; ++s)
      if (floors_.rest(s) > 0) lowest = std::min(lowest, floors_.floor(s));
    if (lowest == infinite) return -1;
    for (uint32_t i : piece.buffers)
      if (!floors_.placed(i) && floors_.lowest(i) == lowest) {
        ++begins_[static_cast<size_t>(p_.buffers[i].first)];
        --begins_[static_cast<size_t>(p_.buffers[i].last)];
      }
    work_ -= static_cast<int64_t>(3 * piece.buffers.size()) + 4 * (piece.end - piece.begin);
    int32_t count = 0, best = -1;
    std::tuple<int64_t, int64_t> best_key{infinite, 0};
    for (int32_t s = piece.begin; s <= piece.end; ++s) {
      count += std::exchange(begins_[static_cast<size_t>(s)], 0);
      if (s == piece.end || floors_.rest(s) == 0 || floors_.floor(s) != lowest) continue;
      std::tuple<int64_t, int64_t> key{count, -floors_.rest(s)};
      if (turn_.pick == Pick::middle) key = {std::abs(2 * s - piece.begin - piece.end), 0};
      if (key < best_key) best_key = key, best = s;
    }
    return best;
  }

  SearchEnd try_buffers(const Piece& piece, int32_t s) {
    const int64_t floor = floors_.floor(s);
    std::vector<uint32_t> tried;
    for (uint32_t i : floors_.alive(s))
      if (!floors_.placed(i) && floors_.lowest(i) == floor) tried.push_back(i);
    std::sort(tried.begin(), tried.end(),
              [&](uint32_t a, uint32_t b) { return rank_[a] < rank_[b]; });
    for (size_t k = 0; k < tried.size(); ++k) {
      const uint32_t i = tried[k];
      if (is_twin(tried, k) || lies_on_worse_twin(i)) continue;
      const OffsetProblem::Buffer& b = p_.buffers[i];
      const size_t changes = floors_.changes();
      at_[i] = floor;
      SearchEnd end = SearchEnd::none;
      if (floors_.place(i)) {
        bool splits = false;
        for (int32_t t = b.first; t + 1 < b.last; ++t) splits |= floors_.crossing(t) == 0;
        end = splits ? solve_pieces(piece) : solve(piece);
      }
      floors_.undo_to(changes);
      floors_.take_back(i);
      if (end != SearchEnd::none) return end;
    }
    return SearchEnd::none;
  }
  bool same_lifetime(uint32_t i, uint32_t j) const {
    const OffsetProblem::Buffer &a = p_.buffers[i], &b = p_.buffers[j];
    return a.first == b.first && a.last == b.last;
  }
  bool is_twin(const std::vector<uint32_t>& tried, size_t k) const {
    return std::any_of(tried.begin(), tried.begin() + static_cast<int64_t>(k), [&](uint32_t j) {
      return same_lifetime(tried[k], j) && p_.buffers[tried[k]].size == p_.buffers[j].size;
    });
  }
  bool lies_on_worse_twin(uint32_t i) const {
    const std::vector<uint32_t>& beside = floors_.alive(p_.buffers[i].first);
    return std::any_of(beside.begin(), beside.end(), [&](uint32_t j) {
      return floors_.placed(j) && rank_[j] > rank_[i] && same_lifetime(i, j) &&
             at_[j] + p_.buffers[j].size == floors_.lowest(i);
    });
  }

  const OffsetProblem& p_;
  const Turn turn_;
  int64_t work_;
  Floors floors_;
  Placement at_;
  std::vector<uint32_t> rank_;
  std::vector<int32_t> begins_;  // by section: how many can begin, minus how many end
};

}  // namespace

SearchResult search_placement(const OffsetProblem& p, int64_t capacity, int64_t& work) {
  if (p.bound > capacity) return {SearchEnd::none, {}};
  // Each of the first four solves some of MiniMalloc's problems A to K in 10 ms that others miss.
  constexpr int64_t first_turn = 20'000'000;
  int64_t given = first_turn;
  for (uint64_t n = 0; work > 0; ++n) {
    const Ties ties = n / 2 == 0   ? Ties::large_first
                      : n / 2 == 1 ? Ties::small_first
                                   : Ties::random;
    const Turn turn{ties, n % 2 == 0 ? Pick::fewest : Pick::middle, n};
    const int64_t share = std::min(given, work);
    Search search(p, capacity, turn, share);
    const SearchEnd end = search.run();
    work -= share - search.work_left();
    if (end != SearchEnd::out_of_work) return {end, search.at()};
    if (n % 4 == 3) given *= 2;
  }
  return {};
}

}  // namespace cleave::plan
