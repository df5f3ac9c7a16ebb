// The precompiled header of the operators' entries: what nearly each of them starts from.
#pragma once
#include "op/cost.h"
#include "op/dims.h"
#include "op/entry.h"
#include "op/sample_sets.h"
#include "pch.h"
