// The precompiled header of the rooms that hold graphs.
#pragma once
#include "ir/builder.h"
#include "ir/graph.h"
#include "pch.h"
