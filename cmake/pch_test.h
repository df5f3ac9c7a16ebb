// The precompiled header of every test.
#pragma once
#include <gtest/gtest.h>

#include "ir/text.h"
#include "op/registry.h"
#include "pch.h"
