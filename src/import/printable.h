// Names of files from outside, safe to print.
#pragma once
#include "base/printable.h"
