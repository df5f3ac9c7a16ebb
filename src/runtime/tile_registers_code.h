// The tile registers of AMX; included behind amx_begin.h.

// What was written is in memory: g++'s intrinsics don't say that they read it.
inline void memory_is_read() { __asm__ volatile("" ::: "memory"); }

// All tile registers have 16 rows of 64 bytes while it lives.
class TileRegisters {
 public:
  TileRegisters() {
    alignas(64) struct {
      uint8_t palette = 1, start_row = 0, reserved[14] = {};
      uint16_t row_bytes[16] = {};
      uint8_t rows[16] = {};
    } all;
    for (int i = 0; i < 8; ++i) all.row_bytes[i] = 64, all.rows[i] = 16;
    static_assert(sizeof all == 64);
    const void* const address = &all;
    __asm__ volatile("" ::"r"(address) : "memory");
    _tile_loadconfig(address);
  }
  ~TileRegisters() { _tile_release(); }
  TileRegisters(const TileRegisters&) = delete;
  TileRegisters& operator=(const TileRegisters&) = delete;
};
