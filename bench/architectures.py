"""Architectures of torchvision, timm and transformers at small sizes with random weights, for the benches and sweeps of the
backend of torch.compile: {name: f() -> (model, (input, classes))}.

A model gives logits [n, classes] for F.cross_entropy. They are in training mode, without dropout, so that backends can be
compared. available(name) says whether the library of one is installed.
"""
import copy
import importlib.util


def available(name):
    return importlib.util.find_spec(name.split("/")[0] if "/" in name else "torch") is not None


def torchvision_models():
    """torchvision.models, also beside a PyTorch that its operators (of detection) weren't built for."""
    import torch

    try:
        import torchvision
    except RuntimeError as e:
        if "torchvision::" not in str(e):
            raise
        torchvision_models.operators = torch.library.Library("torchvision", "DEF")
        for name in ("nms", "qnms"):
            torchvision_models.operators.define(f"{name}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
        import torchvision
    return torchvision.models


def without_dropout(model):
    for m in model.modules():
        kind = type(m).__name__
        if kind.startswith("Dropout") or kind == "StochasticDepth":
            m.p = 0.0
        elif kind == "DropPath":
            m.drop_prob = 0.0
    return model


def in_float64(model):
    """A copy, whose products of experts are separate: torch._grouped_mm has no float64."""
    model = copy.deepcopy(model).double()
    for m in model.modules():
        if hasattr(m, "set_experts_implementation"):
            m.set_experts_implementation("eager")
    return model


def of_images(size, images=4):
    import torch

    return torch.randn(images, 3, size, size), torch.randint(0, 10, (images,))


def of_torchvision(make_of, size=64):
    """make_of: the name of a function of torchvision.models, or a function of that module."""
    def make():
        models = torchvision_models()
        model = make_of(models) if callable(make_of) else getattr(models, make_of)(num_classes=10)
        return without_dropout(model), of_images(size)
    return make


def of_timm(make_of, size=64, **arguments):
    """make_of: the name of one of timm's models, or a function of the module timm.models."""
    def make():
        torchvision_models()
        import timm

        model = make_of(timm.models) if callable(make_of) else timm.create_model(make_of, num_classes=10, **arguments)
        return without_dropout(model), of_images(size)
    return make


def of_transformers(config, model, inputs="tokens", **sizes):
    """inputs: tokens, pairs (of an encoder and a decoder), or images."""
    def make():
        import torch

        if available("torchvision/"):  # transformers imports it
            torchvision_models()
        import transformers

        class Logits(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.net = without_dropout(getattr(transformers, model)(getattr(transformers, config)(**sizes))).train()

            def forward(self, x):
                y = self.net(x, decoder_input_ids=x) if inputs == "pairs" else self.net(x)
                return y.logits.flatten(0, -2)

        if inputs == "images":
            sizes["num_labels"] = 10
            return Logits(), of_images(sizes["image_size"])
        tokens, classes = (torch.randint(4, sizes["vocab_size"], shape) for shape in ((2, 64), (128,)))
        return Logits(), (tokens, classes)
    return make


LAYERS = dict(hidden_size=128, num_hidden_layers=2, num_attention_heads=4, intermediate_size=256)
SMALL = dict(vocab_size=512, **LAYERS)
NO_DROP = dict(hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
BERT = {**SMALL, **NO_DROP}
GROUPED = dict(**SMALL, num_key_value_heads=2)

TORCHVISION = {
    "resnet18": of_torchvision("resnet18"),
    "resnext": of_torchvision(lambda m: m.ResNet(m.resnet.Bottleneck, [1, 1, 1, 1], 10, groups=8, width_per_group=8)),
    "densenet": of_torchvision(lambda m: m.DenseNet(16, (2, 2, 2, 2), 32, num_classes=10)),
    "mobilenet_v2": of_torchvision(lambda m: m.MobileNetV2(10, 0.5, [[1, 16, 1, 1], [6, 24, 2, 2], [6, 32, 2, 2]])),
    "mobilenet_v3_small": of_torchvision("mobilenet_v3_small"),
    "efficientnet_v2": of_torchvision(lambda m: m.EfficientNet(
        [m.efficientnet.FusedMBConvConfig(1, 3, 1, 16, 16, 1), m.efficientnet.FusedMBConvConfig(4, 3, 2, 16, 32, 1),
         m.efficientnet.MBConvConfig(4, 3, 2, 32, 48, 2)], 0.0, num_classes=10)),
    "convnext": of_torchvision(lambda m: m.ConvNeXt(
        [m.convnext.CNBlockConfig(w, 2 * w, 1) for w in (32, 64)] + [m.convnext.CNBlockConfig(128, None, 2)], num_classes=10)),
    "vision_transformer": of_torchvision(lambda m: m.VisionTransformer(64, 16, 2, 4, 128, 256, num_classes=10)),
    "swin": of_torchvision(lambda m: m.SwinTransformer([4, 4], 32, [2, 2], [2, 4], [4, 4], num_classes=10)),
    "swin_v2": of_torchvision(lambda m: m.SwinTransformer(
        [4, 4], 32, [2, 2], [2, 4], [4, 4], num_classes=10, block=m.swin_transformer.SwinTransformerBlockV2,
        downsample_layer=m.swin_transformer.PatchMergingV2)),
    "maxvit": of_torchvision(lambda m: m.MaxVit((64, 64), 16, 4, [16, 32], [1, 1], 8, 0.0, num_classes=10)),
    "regnet_y_400mf": of_torchvision("regnet_y_400mf"),
    "shufflenet_v2": of_torchvision(lambda m: m.ShuffleNetV2([2, 2, 2], [24, 48, 96, 192, 256], 10)),
    "mnasnet0_5": of_torchvision("mnasnet0_5"),
    "squeezenet1_1": of_torchvision("squeezenet1_1"),
    "googlenet": of_torchvision(lambda m: m.GoogLeNet(10, False, init_weights=False)),
}
TIMM = {
    "vit_tiny": of_timm("vit_tiny_patch16_224", img_size=64, depth=4),
    "beit": of_timm("beit_base_patch16_224", img_size=64, embed_dim=128, depth=2, num_heads=4),
    "deit_distilled": of_timm("deit_tiny_distilled_patch16_224", img_size=64, depth=2),
    "eva02": of_timm("eva02_tiny_patch14_224", img_size=56, size=56, depth=2),
    "mixer": of_timm(lambda m: m.MlpMixer(10, 64, patch_size=8, num_blocks=2, embed_dim=128)),
    "gmlp": of_timm(lambda m: m.MlpMixer(10, 64, 3, 8, 2, 128, 4, m.mlp_mixer.SpatialGatingBlock, m.mlp_mixer.GatedMlp)),
    "cait": of_timm("cait_xxs24_224", img_size=64, depth=2),
    "coat": of_timm("coat_tiny", img_size=64, serial_depths=(1, 1, 1, 1), parallel_depth=1),
    "levit": of_timm("levit_128s", size=224, depth=(1, 1, 1)),
    "xcit": of_timm("xcit_nano_12_p16_224", img_size=64, depth=2),
    "convit": of_timm("convit_tiny", img_size=64, depth=2, local_up_to_layer=1),
    "poolformer": of_timm(lambda m: m.MetaFormer(3, 10, "avg", (1, 1, 1, 1), (32, 64, 96, 128),
                                               norm_layers=m.metaformer.GroupNorm1, layer_scale_init_values=1e-5)),
    "efficientformer": of_timm("efficientformer_l1", size=224, depths=(1, 1, 1, 2)),
    "edgenext": of_timm("edgenext_xx_small", depths=(1, 1, 2, 1)),
    "mobilevit": of_timm("mobilevit_xxs"),
    "pvt_v2": of_timm("pvt_v2_b0", depths=(1, 1, 1, 1)),
    "twins": of_timm("twins_svt_small", img_size=64, depths=(1, 1, 2, 1)),
    "nfnet": of_timm("nf_regnet_b0"),
    "res2net": of_timm("res2net50_14w_8s", layers=(1, 1, 1, 1)),
    "resnest": of_timm("resnest14d"),
    "repvgg": of_timm("repvgg_a0"),
    "focalnet": of_timm(lambda m: m.FocalNet(3, 10, "avg", 32, (1, 1, 2, 1), drop_path_rate=0.0)),
    "sequencer2d": of_timm("sequencer2d_s", layers=(1, 1, 1, 1)),
    "efficientnet_b0": of_timm("efficientnet_b0"),
    "ghostnet": of_timm("ghostnet_100", drop_rate=0.0),
    "hrnet": of_timm("hrnet_w18_small"),
}
TRANSFORMERS = {
    "gpt2": of_transformers("GPT2Config", "GPT2LMHeadModel", vocab_size=512, n_embd=128, n_layer=2, n_head=4,
                            resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0),
    "bert": of_transformers("BertConfig", "BertForMaskedLM", **BERT),
    "roberta": of_transformers("RobertaConfig", "RobertaForMaskedLM", **BERT),
    "distilbert": of_transformers("DistilBertConfig", "DistilBertForMaskedLM", vocab_size=512, dim=128, n_layers=2,
                                  n_heads=4, hidden_dim=256, dropout=0.0, attention_dropout=0.0),
    "albert": of_transformers("AlbertConfig", "AlbertForMaskedLM", **BERT, embedding_size=64),
    "electra": of_transformers("ElectraConfig", "ElectraForMaskedLM", **BERT, embedding_size=64),
    "deberta_v2": of_transformers("DebertaV2Config", "DebertaV2ForMaskedLM", **BERT, relative_attention=True,
                                  position_buckets=32, pos_att_type=["c2p", "p2c"], norm_rel_ebd="layer_norm"),
    "mpnet": of_transformers("MPNetConfig", "MPNetForMaskedLM", **BERT),
    "longformer": of_transformers("LongformerConfig", "LongformerForMaskedLM", **BERT, attention_window=16,
                                  max_position_embeddings=128),
    "t5": of_transformers("T5Config", "T5ForConditionalGeneration", "pairs", vocab_size=512, d_model=128, d_kv=32, d_ff=256,
                          num_layers=2, num_heads=4, dropout_rate=0.0),
    "bart": of_transformers("BartConfig", "BartForConditionalGeneration", "pairs", vocab_size=512, d_model=128,
                            encoder_layers=2, decoder_layers=2, encoder_attention_heads=4, decoder_attention_heads=4,
                            encoder_ffn_dim=256, decoder_ffn_dim=256, dropout=0.0, max_position_embeddings=128),
    "opt": of_transformers("OPTConfig", "OPTForCausalLM", vocab_size=512, hidden_size=128, num_hidden_layers=2,
                           num_attention_heads=4, ffn_dim=256, dropout=0.0, word_embed_proj_dim=128),
    "bloom": of_transformers("BloomConfig", "BloomForCausalLM", vocab_size=512, hidden_size=128, n_layer=2, n_head=4,
                             hidden_dropout=0.0, attention_dropout=0.0),
    "llama": of_transformers("LlamaConfig", "LlamaForCausalLM", **SMALL),
    "mistral": of_transformers("MistralConfig", "MistralForCausalLM", **GROUPED, sliding_window=16),
    "qwen3": of_transformers("Qwen3Config", "Qwen3ForCausalLM", **GROUPED, head_dim=32),
    "gemma2": of_transformers("Gemma2Config", "Gemma2ForCausalLM", **GROUPED, head_dim=32),
    "phi": of_transformers("PhiConfig", "PhiForCausalLM", **SMALL),
    "mixtral": of_transformers("MixtralConfig", "MixtralForCausalLM", **GROUPED, num_local_experts=4),
    "qwen3_moe": of_transformers("Qwen3MoeConfig", "Qwen3MoeForCausalLM", **GROUPED, head_dim=32, num_experts=4,
                                 num_experts_per_tok=2, moe_intermediate_size=128),
    "mamba": of_transformers("MambaConfig", "MambaForCausalLM", vocab_size=512, hidden_size=64, num_hidden_layers=2,
                             state_size=8),
    "vit": of_transformers("ViTConfig", "ViTForImageClassification", "images", **LAYERS, **NO_DROP, image_size=64),
    "swin": of_transformers("SwinConfig", "SwinForImageClassification", "images", image_size=64, patch_size=4, embed_dim=32,
                            depths=[2, 2], num_heads=[2, 4], window_size=4, **NO_DROP, drop_path_rate=0.0),
    "convnext": of_transformers("ConvNextConfig", "ConvNextForImageClassification", "images", image_size=64,
                                hidden_sizes=[16, 32, 64, 128], depths=[1, 1, 1, 1]),
}
ARCHITECTURES = {f"{library}/{name}": make for library, table in
                 (("torchvision", TORCHVISION), ("timm", TIMM), ("transformers", TRANSFORMERS)) for name, make in table.items()}
