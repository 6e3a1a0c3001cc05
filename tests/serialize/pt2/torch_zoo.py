#!/usr/bin/env python3
"""Checks Weft on networks of torchvision and transformers, small and random.

    python3 tests/serialize/pt2/torch_zoo.py DIR [GLOB]

Exports those that the installed packages have into DIR and runs tools/
torch_check.py's comparison. An optional script, as torch_sweep.py is.
"""
import fnmatch
import logging
import os
import sys
import traceback
import warnings

import torch

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__)))))
sys.path.insert(0, os.path.join(ROOT, 'tools'))
import torch_check  # noqa: E402


class Only(torch.nn.Module):
    """The first tensor output of a network of transformers."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, **kwargs):
        out = self.model(**kwargs, return_dict=False)
        return tuple(x for x in out if isinstance(x, torch.Tensor))


def vision():
    import torchvision.models as tv
    x = (torch.randn(1, 3, 64, 64),)
    names = ('resnet18', 'mobilenet_v2', 'mobilenet_v3_small',
             'efficientnet_b0', 'shufflenet_v2_x0_5', 'squeezenet1_0',
             'mnasnet0_5', 'regnet_y_400mf', 'densenet121', 'googlenet')
    for name in names:
        args = {'init_weights': False} if name == 'googlenet' else {}
        yield name, lambda name=name, args=args: dict(
            model=getattr(tv, name)(num_classes=7, **args).eval(), inputs=x)
    yield 'alexnet', lambda: dict(model=tv.alexnet(num_classes=7).eval(),
                                  inputs=(torch.randn(1, 3, 64, 64),))
    yield 'vit', lambda: dict(model=tv.VisionTransformer(
        32, 8, 2, 4, 32, 64, num_classes=5).eval(),
        inputs=(torch.randn(2, 3, 32, 32),))
    for version in ('SwinTransformerBlock', 'SwinTransformerBlockV2'):
        def swin(version=version):
            from torchvision.models import swin_transformer as m
            args = dict(block=getattr(m, version))
            if version.endswith('V2'):
                args['downsample_layer'] = m.PatchMergingV2
            return dict(model=m.SwinTransformer(
                [4, 4], 16, [2, 2], [2, 4], [4, 4], num_classes=5,
                **args).eval(), inputs=(torch.randn(1, 3, 48, 48),))
        yield version, swin

    def maxvit():
        return dict(model=tv.MaxVit(
            (64, 64), 8, 8, (8, 16), (1, 1), 4, 0.0, num_classes=3).eval(),
            inputs=(torch.randn(1, 3, 64, 64),))
    yield 'maxvit', maxvit

    def convnext():
        from torchvision.models.convnext import CNBlockConfig, ConvNeXt
        return dict(model=ConvNeXt([CNBlockConfig(8, 16, 2),
                                    CNBlockConfig(16, None, 2)],
                                   num_classes=4).eval(), inputs=x)
    yield 'convnext', convnext

    def segmentation():
        return dict(model=tv.segmentation.lraspp_mobilenet_v3_large(
            weights=None, weights_backbone=None, num_classes=4).eval(),
            inputs=x)
    yield 'lraspp', segmentation

    def resnet_train():
        return dict(model=tv.resnet18(num_classes=7).train(),
                    inputs=(torch.randn(2, 3, 64, 64),))
    yield 'resnet18_train', resnet_train

    def raft():
        return dict(model=tv.video.r3d_18(num_classes=3).eval(),
                    inputs=(torch.randn(1, 3, 4, 32, 32),))
    yield 'r3d_18', raft


SMALL = dict(vocab_size=64, hidden_size=32, num_hidden_layers=2,
             num_attention_heads=4, intermediate_size=48,
             max_position_embeddings=64)


def language():
    import transformers as t
    ids = torch.randint(3, 60, (2, 9))
    mask = torch.ones(2, 9, dtype=torch.int64)
    mask[1, 6:] = 0

    def make(model, config, inputs, more=None, **sizes):
        def build():
            torch.manual_seed(0)
            c = getattr(t, config)(**{**SMALL, **sizes})
            c._attn_implementation = (more or {}).get('attention', 'sdpa')
            m = getattr(t, model)(c).eval()
            return dict(model=Only(m), inputs=(), kwargs=inputs)
        return build
    text = dict(input_ids=ids, attention_mask=mask)
    gen = dict(input_ids=ids, attention_mask=mask, use_cache=False)
    for name in ('Bert', 'Roberta', 'Electra', 'MPNet', 'XLMRoberta', 'RoFormer',
                 'ConvBert', 'Albert', 'SqueezeBert', 'Nystromformer',
                 'DebertaV2', 'Deberta', 'MegatronBert', 'RemBert', 'Ernie',
                 'ModernBert', 'LayoutLM', 'IBert', 'FNet', 'Splinter'):
        yield name, make(name + 'Model', name + 'Config',
                         dict(input_ids=ids) if name == 'FNet' else text)
    yield 'DistilBert', make('DistilBertModel', 'DistilBertConfig', text,
                             dim=32, n_heads=4, n_layers=2, hidden_dim=48)
    for name in ('Llama', 'Mistral', 'Qwen2', 'Qwen3', 'Gemma', 'Gemma2', 'Phi',
                 'Phi3', 'StableLm', 'Starcoder2', 'Olmo', 'Olmo2', 'Cohere',
                 'Granite', 'GPTNeoX', 'Persimmon', 'Glm', 'Helium', 'Nemotron',
                 'Mixtral', 'Qwen2Moe', 'OlmoE', 'Gemma3Text', 'SmolLM3',
                 'GPTNeoXJapanese', 'Bitnet', 'GptOss', 'DeepseekV3',
                 'Qwen3Moe'):
        model = name.replace('Gemma3Text', 'Gemma3') + 'ForCausalLM'
        config = {'OlmoE': 'OlmoeConfig'}.get(name, name + 'Config')
        model = {'OlmoE': 'OlmoeForCausalLM', 'BitnetForCausalLM':
                 'BitNetForCausalLM'}.get(name, model)
        more = dict(num_key_value_heads=2)
        if name in ('Gemma', 'Gemma2', 'Gemma3Text', 'Qwen3', 'Helium', 'Glm',
                    'GptOss', 'Qwen3Moe'):
            more['head_dim'] = 8
        if name in ('Mixtral', 'Qwen2Moe', 'OlmoE', 'GptOss', 'Qwen3Moe'):
            more.update(num_local_experts=4, num_experts=4,
                        num_experts_per_tok=2, moe_intermediate_size=24,
                        shared_expert_intermediate_size=24)
        if name == 'DeepseekV3':
            more.update(n_routed_experts=4, n_group=2, topk_group=1,
                        num_experts_per_tok=2, q_lora_rank=8, kv_lora_rank=8,
                        qk_rope_head_dim=4, qk_nope_head_dim=4, v_head_dim=8,
                        moe_intermediate_size=16, first_k_dense_replace=1)
        more['pad_token_id'] = 0
        yield name, make(model, config, gen, **more)
    small_gpt = dict(n_embd=32, n_layer=2, n_head=4, n_positions=64)
    yield 'GPT2', make('GPT2LMHeadModel', 'GPT2Config', gen, **small_gpt)
    yield 'GPTJ', make('GPTJForCausalLM', 'GPTJConfig', gen, rotary_dim=4,
                       **small_gpt)
    yield 'GPTNeo', make('GPTNeoForCausalLM', 'GPTNeoConfig', gen,
                         num_layers=2, num_heads=4,
                         attention_types=[[['global', 'local'], 1]],
                         dict_=None)
    yield 'OPT', make('OPTForCausalLM', 'OPTConfig', gen, ffn_dim=48,
                      word_embed_proj_dim=32)
    yield 'Bloom', make('BloomForCausalLM', 'BloomConfig', gen, n_layer=2,
                        n_head=4)
    yield 'Falcon', make('FalconForCausalLM', 'FalconConfig', gen)
    yield 'Mpt', make('MptForCausalLM', 'MptConfig', gen, d_model=32,
                      n_heads=4, n_layers=2)
    yield 'Mamba', make('MambaForCausalLM', 'MambaConfig',
                        dict(input_ids=ids, use_cache=False), state_size=4)
    yield 'Xglm', make('XGLMForCausalLM', 'XGLMConfig', gen, d_model=32,
                       num_layers=2, attention_heads=4, ffn_dim=48)
    seq = dict(input_ids=ids, decoder_input_ids=ids[:, :5], use_cache=False)
    yield 'T5', make('T5ForConditionalGeneration', 'T5Config', seq, d_model=32,
                     d_kv=8, d_ff=48, num_layers=2, num_heads=4)
    both = dict(d_model=32, encoder_layers=2, decoder_layers=2,
                encoder_attention_heads=4, decoder_attention_heads=4,
                encoder_ffn_dim=48, decoder_ffn_dim=48, pad_token_id=1,
                decoder_start_token_id=2)
    for name in ('Bart', 'MBart', 'Marian', 'Pegasus', 'Blenderbot', 'M2M100'):
        model = ('MarianMTModel' if name == 'Marian' else
                 name + 'ForConditionalGeneration')
        yield name, make(model, name + 'Config', seq, **both)
    yield 'Whisper', make(
        'WhisperForConditionalGeneration', 'WhisperConfig',
        dict(input_features=torch.randn(1, 8, 40),
             decoder_input_ids=ids[:1, :4], use_cache=False),
        num_mel_bins=8, max_source_positions=20, max_target_positions=20,
        **both)
    audio = dict(conv_dim=(8, 8), conv_stride=(4, 2), conv_kernel=(6, 3),
                 num_conv_pos_embeddings=8, num_conv_pos_embedding_groups=2)
    wave = dict(input_values=torch.randn(1, 400))
    for name in ('Wav2Vec2', 'Hubert', 'WavLM'):
        yield name, make(name + 'Model', name + 'Config', wave, **audio)
    image = dict(pixel_values=torch.randn(1, 3, 32, 32))
    sizes = dict(image_size=32, patch_size=8)
    for name in ('ViT', 'DeiT', 'Beit', 'Dinov2', 'ViTMSN', 'Data2VecVision',
                 'Dinov2WithRegisters'):
        yield name, make(name + 'Model', name + 'Config', image, **sizes)
    yield 'ConvNext', make('ConvNextModel', 'ConvNextConfig', image,
                           hidden_sizes=[8, 16], depths=[1, 1], num_stages=2)
    yield 'Segformer', make(
        'SegformerForSemanticSegmentation', 'SegformerConfig',
        dict(pixel_values=torch.randn(1, 3, 64, 64)), depths=[1, 1, 1, 1],
        hidden_sizes=[8, 16, 16, 32], num_attention_heads=[1, 2, 2, 4],
        decoder_hidden_size=16)
    yield 'Swinv2', make('Swinv2Model', 'Swinv2Config', image, image_size=32,
                         patch_size=2, embed_dim=8, depths=[1, 1],
                         num_heads=[2, 2], window_size=4)
    yield 'Poolformer', make('PoolFormerModel', 'PoolFormerConfig',
                             dict(pixel_values=torch.randn(1, 3, 64, 64)),
                             hidden_sizes=[8, 8, 8, 8], depths=[1, 1, 1, 1])

    def clip():
        torch.manual_seed(0)
        part = dict(hidden_size=32, num_hidden_layers=2, num_attention_heads=4,
                    intermediate_size=48)
        c = t.CLIPConfig(text_config=dict(vocab_size=64, eos_token_id=2,
                                          max_position_embeddings=16, **part),
                         vision_config=dict(image_size=32, patch_size=8,
                                            **part), projection_dim=16)
        return dict(model=Only(t.CLIPModel(c).eval()), inputs=(), kwargs=dict(
            input_ids=ids, pixel_values=torch.randn(2, 3, 32, 32),
            attention_mask=mask))
    yield 'CLIP', clip


def main():
    folder = sys.argv[1]
    pattern = sys.argv[2] if len(sys.argv) > 2 else '*'
    warnings.simplefilter('ignore')
    torch.manual_seed(0)
    zoo = []
    for source in (vision, language):
        try:
            zoo += source()
        except (ImportError, RuntimeError) as e:
            print(f'{source.__name__}: {e}')
    logging.disable(logging.ERROR)
    for name, make in zoo:
        if not fnmatch.fnmatch(name, pattern):
            continue
        if os.path.exists(os.path.join(folder, name, 'meta.json')):
            continue
        try:
            torch_check.write_program(torch_check.Program(name, **make()),
                                      os.path.join(folder, name))
        except Exception as e:
            why = traceback.format_exception_only(e)[-1].strip().splitlines()
            print(f'{name}: not exported: {why[0][:200]}', flush=True)
    good = torch_check.check(folder, torch_check.weft_command(), False)
    return 0 if good else 1


if __name__ == '__main__':
    sys.exit(main())
