// Calls that are made as well on tensors whose channels are the last dim:
//
//   pointwise, expand, cat, slice, constant_pad_nd      dims in another place
//   sum, mean, amax, amin                               dims in another place
//   max_pool2d, avg_pool2d, _adaptive_avg_pool2d        as pools over [h,w,c] with a window of 1 in
//     and their backwards                               c: [n,h,w,c] is an image of n channels
//
// Random calls aren't: their bits follow the number of an element.
#pragma once
#include "pass/decomposed/turned_values.h"

namespace cleave {

// The operands and results that lie in one order, that of the call; empty: there is only the
// call's own.
Values images_of(const Graph& g, NodeId n);

// Makes the call before it, on images with their channels last, in the place of a call with
// images, and erases it.
Status turn_call(Builder& b, NodeId n, TurnedValues& values);

// Puts the results of `n`, one each (none: the call has no such result), into its place.
Status put_results(Builder& b, NodeId n, const Values& last, TurnedValues& values);

}  // namespace cleave
