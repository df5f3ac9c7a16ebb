// The precompiled header of every test.
#pragma once
#include <gtest/gtest.h>

#include "pch.h"
