// The tests see every allocation: the functions that replace malloc, as the command links them.
#include "tool/alloc_watch.cpp"
