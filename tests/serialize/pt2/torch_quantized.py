#!/usr/bin/env python3
"""Compares quantized programs of torchao with eager PyTorch.

    python3 tests/serialize/pt2/torch_quantized.py make DIR [--filter=GLOB]
    python3 tests/serialize/pt2/torch_quantized.py run DIR [--columns=cpu]

`make` quantizes the networks of torch_quantized_nets.py by recipes of torchao
(PT2E with its quantizers, static, dynamic and trained; quantize_ with weights
only and with activations), with fixed and with dynamic sizes, exports them and
writes archives with what eager PyTorch answers, in the layout of `conformance
--suite=pt2`. `run` has Weft run them and prints a table.

Where a number lies within rounding of the middle between two steps, another
order of a sum's terms gives the other step, and outputs differ by more than a
tolerance for rounding admits. Inputs are therefore drawn again until eager
outputs stay within that tolerance when sums and transcendental functions are
off by about two units in the last place; no tolerance is widened.

An optional script: it needs torch (2.13.0), torchao (0.18.0) and numpy, and no
test of the tree runs it.
"""
import argparse
import copy
import fnmatch
import logging
import os
import re
import shutil
import sys
import traceback
import warnings

logging.disable(logging.WARNING)
warnings.simplefilter('ignore')

import torch  # noqa: E402
from torchao import quantization as ao  # noqa: E402
from torchao.prototype.quantization import gguf, int4  # noqa: E402
from torchao.quantization import pt2e  # noqa: E402
from torchao.quantization.pt2e import quantize_pt2e  # noqa: E402
from torchao.quantization.pt2e.quantizer import (  # noqa: E402
    arm_inductor_quantizer as arm, embedding_quantizer,
    x86_inductor_quantizer as x86)
from torchao.utils import unwrap_tensor_subclass  # noqa: E402

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.dirname(
    os.path.abspath(__file__)))))
sys.path[:0] = [os.path.join(ROOT, 'tools'), os.path.dirname(__file__)]
import torch_check  # noqa: E402
import torch_quantized_nets as nets  # noqa: E402

from torch.utils import _pytree as pytree  # noqa: E402
from torch.utils._python_dispatch import TorchDispatchMode  # noqa: E402

DRAWS = 40  # Of inputs, until results are settled.


class Skipped(Exception):
    pass


# --- Inputs whose results do not hang on rounding.

# Operators whose results depend on the order of a sum, or on an approximation.
ROUNDING = re.compile(r'mm|conv|linear|attention|softmax|norm|sum|mean|avg_pool|'
                      r'gelu|silu|sigmoid|tanh|exp|erf|lstm|rsqrt|dot')


class Disturbed(TorchDispatchMode):
    """Moves such results of f32 by about two units in the last place."""
    supports_higher_order_operators = True

    def __init__(self, seed):
        super().__init__()
        self.generator = torch.Generator().manual_seed(seed)

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        out = func(*args, **(kwargs or {}))
        if not isinstance(func, torch._ops.OpOverload) or any(
                r.alias_info is not None for r in func._schema.returns):
            return out  # A view or a write.
        if not ROUNDING.search(func._opname):
            return out
        return pytree.tree_map_only(torch.Tensor, self.disturb, out)

    def disturb(self, x):
        if x.dtype != torch.float32 or x.numel() == 0:
            return x
        finite = x.nan_to_num(0, 0, 0)
        size = finite.abs() + finite.square().mean().sqrt()
        noise = torch.rand(x.shape, generator=self.generator) - 0.5
        return x + noise * size * 2.0 ** -21


def is_settled(model, args):
    """Whether outputs agree, by the rule of the suite, in spite of disturbance."""
    def outputs():
        return [x for x in pytree.tree_leaves(model(*torch_check.clone_inputs(
            args))) if isinstance(x, torch.Tensor)]
    with torch.no_grad():
        plain = outputs()
        for seed in range(3):
            with Disturbed(seed):
                moved = outputs()
            for x, y in zip(plain, moved):
                if x.dtype == torch.float32 and not torch.allclose(
                        x, y, rtol=1e-4,
                        atol=1e-5 * max(1.0, float(x.abs().max()))):
                    return False
    return True


def settled(model, args):
    """`args`, or others like them."""
    for _ in range(DRAWS):
        if is_settled(model, args):
            return args
        args = like(args)
    raise Skipped(f'results hang on rounding in {DRAWS} draws of inputs')


def like(args):
    """Other values of the same sizes."""
    return tuple(torch.randn_like(x) if x.is_floating_point()
                 else torch.randint_like(x, 0, 40) for x in args)


# --- PT2E: a quantizer annotates an exported graph.

def x86_quantizer(matmul=False, **config):
    quantizer = x86.X86InductorQuantizer()
    config = x86.get_default_x86_inductor_quantization_config(**config)
    quantizer.set_global(config)
    if matmul:
        quantizer.set_function_type_qconfig(torch.matmul, config)
    return quantizer


def arm_quantizer(**config):
    return arm.ArmInductorQuantizer().set_global(
        arm.get_default_arm_inductor_quantization_config(**config))


def xnnpack_quantizer(**config):
    try:
        from executorch.backends.xnnpack.quantizer import xnnpack_quantizer as m
    except ImportError:
        try:  # torchao's tests have a copy.
            from torchao.testing.pt2e import _xnnpack_quantizer as m
        except ImportError as e:
            raise Skipped(f'no XNNPACKQuantizer: {e}')
    return m.XNNPACKQuantizer().set_global(
        m.get_symmetric_quantization_config(**config))


def embeddings_quantizer():
    return embedding_quantizer.EmbeddingQuantizer()


def train(model, calls):
    """A few steps, so that scales and statistics are not those of one batch."""
    rate = torch.optim.SGD(model.parameters(), lr=1e-2)
    for _ in range(3):
        for args in calls:
            if args[0].shape[0] == 1:
                continue
            rate.zero_grad()
            model(*args).square().mean().backward()
            rate.step()


def by_pt2e(make_quantizer, qat=False, **convert):
    def quantize(model, calls, shapes):
        exported = torch.export.export(
            model.train() if qat else model, calls[0], dynamic_shapes=shapes)
        prepare = (quantize_pt2e.prepare_qat_pt2e if qat
                   else quantize_pt2e.prepare_pt2e)
        prepared = prepare(exported.module(check_guards=False),
                           make_quantizer())
        if qat:
            pt2e.move_exported_model_to_train(prepared)
            train(prepared, calls)
            pt2e.move_exported_model_to_eval(prepared)
        for args in calls:
            prepared(*args)
        converted = quantize_pt2e.convert_pt2e(prepared, **convert)
        pt2e.move_exported_model_to_eval(converted)
        pt2e.allow_exported_model_train_eval(converted)
        return converted
    return quantize


# --- quantize_: weights become tensor subclasses, unwrapped for the export.

def by_config(make_config, filter_fn=None, dtype=torch.float32):
    def quantize(model, calls, shapes):
        model = model.to(dtype)
        more = {} if filter_fn is None else {'filter_fn': filter_fn}
        ao.quantize_(model, make_config(), **more)
        return unwrap_tensor_subclass(model)
    quantize.dtype = dtype
    return quantize


def by_qat_config(make_config, step):
    def quantize(model, calls, shapes):
        from torchao.quantization.qat import QATConfig
        ao.quantize_(model, QATConfig(make_config(), step='prepare'))
        train(model.train(), calls)
        if step == 'convert':
            ao.quantize_(model, QATConfig(make_config(), step='convert'))
        return unwrap_tensor_subclass(model.eval())
    return quantize


def is_embedding(module, name):
    return isinstance(module, torch.nn.Embedding)


def groups(size=32):
    return ao.PerGroup(size)


def intx(dtype, granularity, **more):
    return ao.IntxWeightOnlyConfig(weight_dtype=dtype, granularity=granularity,
                                   **more)


BF16 = {'dtype': torch.bfloat16}
CONV_NETS = ('convbn', 'residual', 'depthwise', 'branches')
LINEAR_NETS = ('mlp', 'attention', 'gpt')
# Recipe: (function, networks).
RECIPES = {
    'x86_static': (by_pt2e(x86_quantizer), nets.NETS),
    'x86_static_matmul': (by_pt2e(lambda: x86_quantizer(matmul=True)),
                          ('matmulattention',)),
    'x86_static_narrow': (by_pt2e(lambda: x86_quantizer(reduce_range=True)),
                          ('residual', 'mlp')),
    'x86_static_unfolded': (by_pt2e(x86_quantizer, fold_quantize=False),
                            ('convbn', 'mlp')),
    'x86_dynamic': (by_pt2e(lambda: x86_quantizer(is_dynamic=True)),
                    (*LINEAR_NETS, 'lstm')),
    'arm_static': (by_pt2e(arm_quantizer), ('convbn', 'attention')),
    'xnnpack_static': (by_pt2e(xnnpack_quantizer),
                       (*CONV_NETS, 'conv1d', 'mlp', 'gpt', 'lstm')),
    'xnnpack_channels': (
        by_pt2e(lambda: xnnpack_quantizer(is_per_channel=True)),
        (*CONV_NETS, 'attention')),
    'xnnpack_dynamic': (
        by_pt2e(lambda: xnnpack_quantizer(is_per_channel=True,
                                          is_dynamic=True)),
        LINEAR_NETS),
    'xnnpack_integers': (
        by_pt2e(xnnpack_quantizer, use_reference_representation=True),
        ('convbn', 'mlp')),
    'embedding_pt2e': (by_pt2e(embeddings_quantizer), ('embeddings', 'gpt')),
    'int8_weights': (by_config(ao.Int8WeightOnlyConfig), LINEAR_NETS),
    'int8_weights_bf16': (by_config(ao.Int8WeightOnlyConfig, **BF16),
                          ('mlp', 'gpt')),
    'int8_weights_g32': (
        by_config(lambda: ao.Int8WeightOnlyConfig(granularity=groups())),
        ('mlp', 'gpt')),
    'int8_both': (by_config(ao.Int8DynamicActivationInt8WeightConfig),
                  (*LINEAR_NETS, 'lstm')),
    'int8_both_bf16': (
        by_config(ao.Int8DynamicActivationInt8WeightConfig, **BF16),
        ('mlp', 'attention')),
    'int8_both_tensor': (
        by_config(lambda: ao.Int8DynamicActivationInt8WeightConfig(
            granularity=ao.PerTensor())), ('mlp',)),
    'int8_both_asymmetric': (
        by_config(lambda: ao.Int8DynamicActivationInt8WeightConfig(
            act_mapping_type=ao.MappingType.ASYMMETRIC)), ('mlp', 'attention')),
    'int8_both_static': (
        by_config(lambda: ao.Int8StaticActivationInt8WeightConfig(
            act_quant_scale=torch.tensor([[0.03]]),
            granularity=ao.PerTensor())), ('mlp', 'attention')),
    'int8_int4_both': (
        by_config(lambda: ao.Int8DynamicActivationIntxWeightConfig(
            weight_dtype=torch.int4, weight_granularity=groups())),
        LINEAR_NETS),
    'int4_weights_g32': (by_config(lambda: intx(torch.int4, groups())),
                         LINEAR_NETS),
    'int4_weights_g32_bf16': (
        by_config(lambda: intx(torch.int4, groups()), **BF16), ('gpt',)),
    'int4_weights_asymmetric': (
        by_config(lambda: intx(torch.int4, groups(),
                               mapping_type=ao.MappingType.ASYMMETRIC)),
        ('mlp', 'gpt')),
    'int2_weights_rows': (by_config(lambda: intx(torch.int2, ao.PerAxis(0))),
                          ('mlp',)),
    'int6_weights_g16': (by_config(lambda: intx(torch.int6, groups(16))),
                         ('mlp',)),
    'int4_packed': (
        by_config(lambda: ao.Int4WeightOnlyConfig(group_size=32), **BF16),
        ('mlp',)),
    'int4_opaque': (
        by_config(lambda: int4.PrototypeInt4WeightOnlyConfig(group_size=32),
                  **BF16), ('mlp',)),
    'int8_int4_opaque': (
        by_config(lambda: int4.Int8DynamicActivationInt4WeightConfig()),
        ('mlp',)),
    'gguf_weights': (
        by_config(lambda: gguf.GGUFWeightOnlyConfig(
            n_blocks_per_superblock=2)), ('mlp',)),
    'int4_embedding': (
        by_config(lambda: intx(torch.int4, groups()), is_embedding),
        ('embeddings', 'gpt')),
    'int8_embedding': (
        by_config(lambda: intx(torch.int8, ao.PerAxis(0)), is_embedding),
        ('embeddings',)),
    'f8_weights': (by_config(ao.Float8WeightOnlyConfig), LINEAR_NETS),
    'f8_weights_bf16': (by_config(ao.Float8WeightOnlyConfig, **BF16),
                        ('mlp',)),
    'f8_both': (by_config(ao.Float8DynamicActivationFloat8WeightConfig, **BF16),
                ('mlp',)),
    'qat_prepared': (
        by_qat_config(lambda: ao.Int8DynamicActivationIntxWeightConfig(
            weight_dtype=torch.int4, weight_granularity=groups()), 'prepare'),
        ('mlp', 'attention')),
    'qat_converted': (
        by_qat_config(lambda: ao.Int8DynamicActivationIntxWeightConfig(
            weight_dtype=torch.int4, weight_granularity=groups()), 'convert'),
        ('mlp', 'attention')),
    'x86_qat': (by_pt2e(lambda: x86_quantizer(is_qat=True), qat=True),
                ('convbn', 'residual', 'mlp')),
    'xnnpack_qat': (
        by_pt2e(lambda: xnnpack_quantizer(is_per_channel=True, is_qat=True),
                qat=True), ('convbn', 'residual')),
}


# --- Archives.

def program_of(name, recipe, net, dynamic):
    torch.manual_seed(0)
    model = nets.make(net)
    shapes = model.dynamic if dynamic else None
    calls = model.calls()
    dtype = getattr(recipe, 'dtype', torch.float32)
    calls = [tuple(x.to(dtype) if x.is_floating_point() else x for x in args)
             for args in calls]
    if not dynamic:
        calls = [calls[0], *(like(calls[0]) for _ in range(2))]
    quantized = recipe(model, calls, shapes)
    if not is_quantized(quantized):
        raise Skipped('nothing was quantized')
    calls = [settled(quantized, args) for args in calls]
    return torch_check.Program(name, quantized, calls[0], {}, shapes,
                               calls[1:])


def is_quantized(model):
    """It has narrow weights, or nodes that quantize."""
    nodes = model.graph.nodes if isinstance(model, torch.fx.GraphModule) else []
    return (any(x.dtype.itemsize == 1 for x in model.state_dict().values())
            or any('quantize' in str(n.target) for n in nodes)
            or any('Fake' in type(m).__name__ for m in model.modules()))


def jobs(pattern):
    """Each recipe with its first network, then with its second, and so on.

    Sizes are dynamic and fixed in turn; --filter names one program of both.
    """
    most = max(len(names) for _, names in RECIPES.values())
    for i in range(most):
        for recipe, (function, names) in RECIPES.items():
            for net in list(names)[i:i + 1]:
                for dynamic in (True, False):
                    name = f'{recipe}-{net}' + ('-dynamic' if dynamic else '')
                    if fnmatch.fnmatch(name, pattern) and (
                            pattern != '*' or dynamic == (i % 2 == 0)):
                        yield name, function, net, dynamic


def make(args):
    os.makedirs(args.folder, exist_ok=True)
    torch.set_num_threads(1)
    made, left_out = 0, []
    for name, recipe, net, dynamic in jobs(args.filter):
        path = os.path.join(args.folder, name)
        if os.path.exists(path):
            continue
        part = os.path.join(args.folder, '.part')
        shutil.rmtree(part, ignore_errors=True)
        try:
            torch_check.write_program(program_of(name, recipe, net, dynamic),
                                      part)
            os.rename(part, path)
            made += 1
        except Exception as e:
            why = str(e).strip().splitlines() or ['']
            left_out.append(f'{name}: {type(e).__name__}: {why[0]}')
            print(left_out[-1], flush=True)
            if args.verbose:
                traceback.print_exc()
    print(f'{made} programs, {len(left_out)} not made')


# --- Weft.

# By column: flags, and the pipeline unless it is the target's own.
COLUMNS = {
    'reference': (['--target=reference'], 'none'),
    'default': (['--target=reference'], 'default'),
    'cpu': (['--target=cpu'], None),
}


def run(args):
    command = torch_check.weft_command(args.weft)
    rows, messages = {}, []
    for column in args.columns.split(','):
        flags, passes = COLUMNS[column]
        for case, (outcome, message) in sorted(torch_check.run_weft(
                [*command, *flags, f'--filter={args.filter}/*/*'], args.folder,
                passes, args.strict).items()):
            program = case.split('/')[0]
            counts = rows.setdefault(program, {}).setdefault(column, [0, 0])
            counts[0] += outcome == 'passed'
            counts[1] += 1
            if outcome != 'passed':
                messages.append(f'{outcome} {case} ({column}): {message}')
    columns = args.columns.split(',')
    width = max(map(len, rows))
    print('  '.join([' ' * width, *(f'{c:>9}' for c in columns)]))
    for program, cells in sorted(rows.items()):
        shown = ['/'.join(map(str, cells.get(c, (0, 0)))) for c in columns]
        print('  '.join([f'{program:{width}}', *(f'{s:>9}' for s in shown)]))
    print('\n'.join(messages))
    counts = [c for cells in rows.values() for c in cells.values()]
    print(f'{len(rows)} programs, {sum(c[0] for c in counts)} of '
          f'{sum(c[1] for c in counts)} runs agree')
    return 1 if messages else 0


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument('what', choices=['make', 'run'])
    parser.add_argument('folder')
    parser.add_argument('--filter', default='*')
    parser.add_argument('--verbose', action='store_true')
    parser.add_argument('--columns', default=','.join(COLUMNS))
    parser.add_argument('--strict', action='store_true',
                        help='tolerances of torch.testing.assert_close')
    parser.add_argument('--weft', metavar='COMMAND',
                        help='the conformance tool; default: as built by Bazel')
    args = parser.parse_args()
    return make(args) if args.what == 'make' else run(args)


if __name__ == '__main__':
    sys.exit(main())
