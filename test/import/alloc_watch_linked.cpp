// Links the functions that replace malloc, as the command does, so that tests count all
// allocations.
#include "tool/alloc_watch.cpp"
