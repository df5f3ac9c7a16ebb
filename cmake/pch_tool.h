// The precompiled header of the command.
#pragma once
#include <nlohmann/json.hpp>

#include "pch.h"
