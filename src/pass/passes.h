// The passes by name: each is in the file of its name in its stage's folder, beside its golden.
#pragma once
#include "pass/pass.h"

namespace cleave {

// pre_grad
Pass batch_activation();
Pass batch_arithmetic();
Pass batch_layer_norm();
Pass batch_linear();
Pass batch_linear_lhs();
Pass batch_linear_post_grad();
Pass batch_pointwise_post_grad();
Pass cancel_joins();
Pass drop_identity();
Pass efficient_conv_bn_eval();
Pass fold_binary();
Pass fuse_attention();
Pass fuse_conv_bn();
Pass merge_joins();
Pass merge_pieces();
Pass merge_splits();
Pass move_constructors();
Pass normalize_dims();
Pass normalize_splits();
Pass permute_linear();
Pass pool_to_mean();
Pass sink_cat();
Pass slice_early();
Pass sort_to_topk();

// joint
Pass bmm_to_mm();
Pass cat_mm();
Pass decompose_mm();
Pass drop_attention_weights();
Pass drop_noop();
Pass fold_algebra();
Pass fold_constant();
Pass fold_convert();
Pass fold_cumsum();
Pass fold_mask();
Pass fold_permute();
Pass fold_view();
Pass fuse_addmm();
Pass fuse_attention_joint();
Pass join_mm();
Pass join_softmax_backward();
Pass merge_sizes();
Pass reuse_extremum();
Pass scatter_to_where();
Pass unfuse_addmm();

// freeze
Pass compute_once();
Pass fold_frozen();
Pass hoist_frozen();
Pass pack_weights();
Pass unfuse_frozen();

// post_grad
Pass bucket_all_reduce();
Pass cancel_cat_split();
Pass cancel_split_cat();
Pass fuse_all_gather_mm();
Pass fuse_convolution_pointwise();
Pass fuse_int_mm();
Pass fuse_mm_reduce_scatter();
Pass fuse_uint4x2_mm();
Pass group_linear();
Pass merge_slice_cat();
Pass schedule_collectives();

// decomposed
Pass add_rows();
Pass channels_last();
Pass drop_fold();
Pass fold_strides();
Pass join_pads();
Pass join_statistics();
Pass merge_equal();
Pass move_to_readers();
Pass pool_offsets();
Pass recompute_dropout_masks();
Pass split_folds();
Pass sum_products();
Pass turn_folds();
Pass turn_products();

}  // namespace cleave
