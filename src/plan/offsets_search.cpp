#include "plan/offsets_search.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <tuple>

#include "plan/offsets_floors.h"
#include "plan/offsets_join.h"
#include "plan/split_mix.h"

namespace cleave::plan {
namespace {

// Long-lived buffers come first: equal ones by size, or all by a lifetime that is multiplied or
// divided by up to e.
enum class Rank { large_first, small_first, random };
// Of the valleys' sections: of the lowest floor, or of the fewest cases a failure.
enum class Pick { lowest, failures };

struct Turn {
  Rank rank;
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
      : p_(p), turn_(turn), work_(work), floors_(p, capacity), at_(p.size(), -1), rank_(p.size()) {
    rank_buffers();
  }
  SearchEnd run() {
    Piece all;
    all.buffers.resize(p_.size());
    std::iota(all.buffers.begin(), all.buffers.end(), 0u);
    all.end = p_.sections();
    if (work_left() < 0) return SearchEnd::out_of_work;
    return floors_.start() ? solve_pieces(all) : SearchEnd::none;
  }
  const Placement& at() const { return at_; }
  int64_t work_left() const { return work_ - floors_.work; }

 private:
  void rank_buffers() {
    SplitMix random(turn_.seed);
    std::vector<std::tuple<double, int64_t, uint32_t>> keyed;
    for (uint32_t i = 0; i < p_.size(); ++i) {
      const OffsetProblem::Buffer& b = p_.buffers[i];
      auto time = static_cast<double>(b.time);
      if (turn_.rank == Rank::random) {
        const double factor = 1 + 1.7 * random.uniform();
        time = random.below(2) == 0 ? time * factor : time / factor;
      }
      keyed.emplace_back(-time, turn_.rank == Rank::small_first ? b.size : -b.size, i);
    }
    std::sort(keyed.begin(), keyed.end());
    for (uint32_t k = 0; k < keyed.size(); ++k) rank_[std::get<2>(keyed[k])] = k;
  }

  // Solves all pieces of the given one, the smallest first: it is refuted soonest.
  SearchEnd solve_pieces(const Piece& whole) {
    std::vector<Piece> pieces;
    for (int32_t begin = whole.begin, s = begin; s < whole.end; ++s) {
      if (s + 1 < whole.end && floors_.alive().crossing(s) > 0) continue;
      Piece piece{{}, begin, s + 1};
      begin = s + 1;
      for (uint32_t i : whole.buffers) {
        const int32_t first = p_.buffers[i].first;
        if (!floors_.alive().placed(i) && piece.begin <= first && first < piece.end)
          piece.buffers.push_back(i);
      }
      if (!piece.buffers.empty()) pieces.push_back(std::move(piece));
    }
    std::sort(pieces.begin(), pieces.end(), [](const Piece& a, const Piece& b) {
      return std::pair(a.buffers.size(), a.begin) < std::pair(b.buffers.size(), b.begin);
    });
    for (const Piece& piece : pieces) {
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

  // Sections without unplaced buffers are walls.
  int64_t wall_or_floor(const Piece& piece, int32_t s) const {
    const bool wall = s < piece.begin || s >= piece.end || floors_.rest(s) == 0;
    return wall ? infinite : floors_.floor(s);
  }

  // Returns -1 if all buffers are placed.
  int32_t pick_section(const Piece& piece) {
    int32_t best = -1;
    Key best_key{};
    int64_t left = infinite;
    for (int32_t s = piece.begin, end = s; s < piece.end; s = end) {
      const int64_t floor = wall_or_floor(piece, s);
      while (end < piece.end && wall_or_floor(piece, end) == floor) ++end;
      const bool valley = floor < left && floor < wall_or_floor(piece, end);
      left = floor;
      for (int32_t t = s; valley && t < end; ++t) {
        const Key key = key_of(t);
        if (best < 0 || key < best_key) best_key = key, best = t;
      }
    }
    work_ -= 4 * (piece.end - piece.begin);
    return best;
  }
  using Key = std::tuple<double, int64_t, int64_t>;
  Key key_of(int32_t s) {
    const int64_t floor = floors_.floor(s), slack = floors_.slack(s);
    const AliveLists::List unplaced = floors_.alive().unplaced(s);
    work_ -= std::ssize(unplaced);
    const auto begin_here = std::count_if(unplaced.begin(), unplaced.end(),
                                          [&](uint32_t i) { return floors_.lowest(i) == floor; });
    const int64_t cases = begin_here + (slack > 0);
    if (turn_.pick == Pick::lowest) return {static_cast<double>(floor), cases, slack};
    return {static_cast<double>(cases - 1) / static_cast<double>(1 + floors_.failures(s)), floor,
            slack};
  }

  SearchEnd try_buffers(const Piece& piece, int32_t s) {
    const int64_t floor = floors_.floor(s);
    std::vector<uint32_t> tried;
    for (uint32_t i : floors_.alive().unplaced(s))
      if (floors_.lowest(i) == floor) tried.push_back(i);
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
        for (int32_t t = b.first; t + 1 < b.last; ++t) splits |= floors_.alive().crossing(t) == 0;
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
    const AliveLists::List beside = floors_.alive().placed_in(p_.buffers[i].first);
    return std::any_of(beside.begin(), beside.end(), [&](uint32_t j) {
      return rank_[j] > rank_[i] && same_lifetime(i, j) &&
             at_[j] + p_.buffers[j].size == floors_.lowest(i);
    });
  }

  static constexpr int64_t infinite = std::numeric_limits<int64_t>::max();

  const OffsetProblem& p_;
  const Turn turn_;
  int64_t work_;
  Floors floors_;
  Placement at_;
  std::vector<uint32_t> rank_;
};

Turn turn_of(uint64_t n) {
  // Each of the first four solves some of MiniMalloc's problems A to K in 10 ms that others miss.
  const Rank ranks[] = {Rank::large_first, Rank::large_first, Rank::small_first, Rank::small_first};
  if (n < 4) return {ranks[n], n % 2 == 0 ? Pick::lowest : Pick::failures, n};
  return {Rank::random, n % 4 == 0 ? Pick::lowest : Pick::failures, n};
}

}  // namespace

SearchResult search_placement(const OffsetProblem& p, int64_t capacity, int64_t& work) {
  if (p.bound > capacity) return {SearchEnd::none, {}};
  const JoinedProblem joined = join_buffers(p, capacity);
  constexpr int64_t first_turn = 20'000'000;
  int64_t given = first_turn;
  for (uint64_t n = 0; work > 0; ++n) {
    const int64_t share = std::min(given, work);
    Search search(joined.problem, capacity / joined.problem.unit, turn_of(n), share);
    const SearchEnd end = search.run();
    work -= share - search.work_left();
    if (end == SearchEnd::found) return {end, joined.spread(search.at())};
    if (end == SearchEnd::none) return {end, {}};
    if (n % 4 == 3) given *= 2;
  }
  return {};
}

}  // namespace cleave::plan
