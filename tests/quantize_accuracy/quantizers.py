"""The quantizers that accuracy.py compares: Weft's, ONNX Runtime's, torchao's.

Each method is a function of a Job that gives the logits of the test inputs.
"""
import copy
import dataclasses
import os
import subprocess

import numpy as np
import onnxruntime
import torch

OBSERVERS = ('min_max', 'histogram', 'mse', 'percentile', 'entropy')


EXACT_REFUSED = 'refused with x64quantprecision; '


class Refused(Exception):
    """The quantizer or the runtime does not take the model."""


@dataclasses.dataclass
class Job:
    network: object  # networks.Network
    float_path: str
    folder: str  # For files of this network.
    bin: str  # Where Weft's programs are.
    saturate: bool  # ONNX Runtime may saturate sums of products.
    note: str = ''  # What a method has to say beside its figures.

    def path(self, name):
        return os.path.join(self.folder, name)


def run_onnx(job, path, inputs):
    """What ONNX Runtime gives; notes where it refuses exact kernels."""
    tried = [{}] if job.saturate else [{'session.x64quantprecision': '1'}, {}]
    for entries in tried:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.log_severity_level = 4
        for key, value in entries.items():
            options.add_session_config_entry(key, value)
        try:
            session = onnxruntime.InferenceSession(
                path, options, providers=['CPUExecutionProvider'])
            return session.run(None, {session.get_inputs()[0].name: inputs})[0]
        except Exception as e:  # It has many classes.
            if entries is tried[-1]:
                text = str(e).splitlines()[0]
                raise Refused(f'ONNX Runtime: {text[:160]}') from e
            if EXACT_REFUSED not in job.note:
                job.note += EXACT_REFUSED


def integer_kernels(job, path):
    """The operators of integers that ONNX Runtime runs, with their count."""
    import onnx
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    options.optimized_model_filepath = path + '.optimized'
    onnxruntime.InferenceSession(path, options,
                                 providers=['CPUExecutionProvider'])
    counts = {}
    for node in onnx.load(path + '.optimized').graph.node:
        name = node.op_type
        if 'QLinear' in name or name in ('QGemm', 'MatMulNBits',
                                         'MatMulIntegerToFloat',
                                         'DynamicQuantizeMatMul',
                                         'MatMulInteger', 'ConvInteger'):
            counts[name] = counts.get(name, 0) + 1
    return ' '.join(f'{n}x{c}' for n, c in sorted(counts.items()))


# --- Weft.

def weft_run(job, path, inputs, target):
    """What Weft's own program gives."""
    given, out = job.path('weft_x.npy'), job.path('weft_out')
    np.save(given, inputs)
    command = [os.path.join(job.bin, 'run'), f'--target={target}',
               f'--input=x={given}', '-o', out, path]
    done = subprocess.run(command, text=True, capture_output=True)
    if done.returncode:
        raise Refused(f'run: {(done.stderr or done.stdout).strip()[:200]}')
    files = sorted(f for f in os.listdir(out) if f.endswith('.npy'))
    return np.load(os.path.join(out, files[0]))


def weft(policy, *flags, peer=True):
    """Quantizes, and runs the file in ONNX Runtime where it has kernels."""
    def method(job):
        data = job.path('calibration')
        os.makedirs(data, exist_ok=True)
        for i, batch in enumerate(job.network.data.calibration):
            np.save(os.path.join(data, f'{i}.npy'), batch)
        name = ''.join(c if c.isalnum() else '_' for c in
                       policy + ''.join(flags))
        path = job.path(f'weft_{name}.onnx')
        command = [os.path.join(job.bin, 'quantize'), f'--policy={policy}',
                   f'--calibration={data}', *flags, '-o', path, job.float_path]
        done = subprocess.run(command, text=True, capture_output=True)
        if done.returncode:
            raise Refused(f'quantize: {(done.stderr or done.stdout)[:300]}')
        if not peer:
            return weft_run(job, path, job.network.data.test[0], 'cpu')
        compare_with_weft(job, path)
        job.note += integer_kernels(job, path)
        return run_onnx(job, path, job.network.data.test[0])
    return method


# Logits may differ by a few steps where a rounding falls on the other side.
MOST_RATIO = 30.0  # dB


def compare_with_weft(job, path):
    """Notes where ONNX Runtime and Weft's reference differ."""
    few = np.ascontiguousarray(job.network.data.test[0][:16])
    mine = weft_run(job, path, few, 'reference')
    ratio = sqnr(mine, run_onnx(job, path, few))
    if ratio < MOST_RATIO:
        job.note += f'ONNX Runtime differs from reference ({ratio:.1f} dB) '
    cpu = sqnr(mine, weft_run(job, path, few, 'cpu'))
    if cpu < MOST_RATIO:
        job.note += f'cpu differs from reference ({cpu:.1f} dB) '


def sqnr(exact, other):
    noise = np.linalg.norm(np.float64(exact) - other)
    if noise == 0:
        return np.inf
    return 20 * np.log10(np.linalg.norm(np.float64(exact)) / noise)


# --- ONNX Runtime.

class Reader:
    """The batches, as ONNX Runtime's calibration asks for them."""

    def __init__(self, batches):
        self.rest = iter(batches)

    def get_next(self):
        batch = next(self.rest, None)
        return None if batch is None else {'x': batch}


def ort_static(calibration, signed=False, only=None):
    def method(job):
        from onnxruntime import quantization as q
        from onnxruntime.quantization.shape_inference import quant_pre_process
        prepared = job.path('ort_prepared.onnx')
        quant_pre_process(job.float_path, prepared)
        path = job.path(f'ort_{calibration}_{signed}_{len(only or [])}.onnx')
        act = q.QuantType.QInt8 if signed else q.QuantType.QUInt8
        q.quantize_static(
            prepared, path, Reader(job.network.data.calibration),
            quant_format=q.QuantFormat.QDQ, per_channel=True,
            activation_type=act, weight_type=q.QuantType.QInt8,
            op_types_to_quantize=only,
            calibrate_method=getattr(q.CalibrationMethod, calibration),
            extra_options={'ActivationSymmetric': signed})
        job.note += integer_kernels(job, path)
        return run_onnx(job, path, job.network.data.test[0])
    return method


def ort_dynamic(job):
    from onnxruntime import quantization as q
    path = job.path('ort_dynamic.onnx')
    q.quantize_dynamic(job.float_path, path, per_channel=True,
                       weight_type=q.QuantType.QInt8,
                       op_types_to_quantize=['MatMul', 'Gemm'])
    job.note += integer_kernels(job, path)
    return run_onnx(job, path, job.network.data.test[0])


def ort_nbits(bits):
    def method(job):
        import onnx
        from onnxruntime.quantization.matmul_nbits_quantizer import (
            MatMulNBitsQuantizer)
        quantizer = MatMulNBitsQuantizer(onnx.load(job.float_path), bits, 32,
                                         is_symmetric=True)
        quantizer.process()
        path = job.path(f'ort_nbits{bits}.onnx')
        quantizer.model.save_model_to_file(path)
        job.note += integer_kernels(job, path)
        if 'NBits' not in job.note:
            raise Refused('no MatMul with a constant matrix')
        return run_onnx(job, path, job.network.data.test[0])
    return method


# --- torchao.

def torchao_x86(dynamic):
    def method(job):
        from torchao.quantization.pt2e import quantize_pt2e
        from torchao.quantization.pt2e.quantizer import (
            x86_inductor_quantizer as x86)
        batches = [torch.from_numpy(b) for b in job.network.data.calibration]
        shapes = {'x': {0: torch.export.Dim('batch')}}
        module = torch.export.export(copy.deepcopy(job.network.model),
                                     (batches[0],),
                                     dynamic_shapes=shapes).module()
        quantizer = x86.X86InductorQuantizer().set_global(
            x86.get_default_x86_inductor_quantization_config(
                is_dynamic=dynamic))
        module = quantize_pt2e.prepare_pt2e(module, quantizer)
        with torch.no_grad():
            for batch in batches:
                module(batch)
            module = quantize_pt2e.convert_pt2e(module)
            if not any('quantize_per' in str(n.target)
                       for n in module.graph.nodes):
                raise Refused('nothing was quantized')
            return module(torch.from_numpy(job.network.data.test[0])).numpy()
    return method


def torchao_weights(bits, mapping, algorithm='affine'):
    """Weights alone, in groups of 32; of linears, and in eager PyTorch."""
    def method(job):
        from torchao.quantization import IntxWeightOnlyConfig, MappingType, quantize_
        from torchao.quantization.granularity import PerGroup
        from torchao.quantization.quantize_.workflows.intx import (
            intx_choose_qparams_algorithm as choice)
        model = copy.deepcopy(job.network.model)
        if not any(isinstance(m, torch.nn.Linear) and m.in_features % 32 == 0
                   for m in model.modules()):
            raise Refused('no linear of whole groups')
        quantize_(model, IntxWeightOnlyConfig(
            weight_dtype=getattr(torch, f'int{bits}'), granularity=PerGroup(32),
            mapping_type=MappingType[mapping],
            intx_choose_qparams_algorithm=choice.IntxChooseQParamsAlgorithm(algorithm)),
            lambda m, _: isinstance(m, torch.nn.Linear) and m.in_features % 32 == 0)
        with torch.no_grad():
            return model(torch.from_numpy(job.network.data.test[0])).numpy()
    return method


def methods():
    """Of each method the family, name and function."""
    rows = []
    for policy in ('x86', 'symmetric'):
        for observer in OBSERVERS:
            for corrected in ('true', 'false'):
                name = f'weft {policy} {observer}'
                name += '' if corrected == 'true' else ', no bias correction'
                rows.append(('static', name, weft(
                    policy, f'--observer={observer}',
                    f'--bias-correction={corrected}')))
        rows.append(('static', f'weft {policy} histogram, equalized', weft(
            policy, '--observer=histogram', '--equalize')))
        rows.append(('static', f'weft {policy} histogram, equalized alone', weft(
            policy, '--observer=histogram', '--equalize',
            '--bias-correction=false')))
    rows.append(('static', 'weft x86 histogram, smooth', weft(
        'x86', '--observer=histogram', '--smooth')))
    for budget in (20, 38):
        rows.append(('mixed', f'weft x86 histogram, budget {budget}', weft(
            'x86', '--observer=histogram', f'--budget={budget}')))
    products = ['Conv', 'MatMul', 'Gemm']
    for calibration in ('MinMax', 'Entropy', 'Percentile'):
        name = f'ort u8 {calibration}'
        rows.append(('static', name, ort_static(calibration)))
        rows.append(('static', name + ', products only',
                     ort_static(calibration, only=products)))
    rows.append(('static', 'ort i8 symmetric MinMax', ort_static('MinMax', True)))
    rows.append(('static', 'torchao x86', torchao_x86(False)))
    rows.append(('dynamic', 'weft dynamic', weft('dynamic')))
    for flags in (('--smooth',), ('--gptq',), ('--smooth', '--gptq')):
        rows.append(('dynamic', f'weft dynamic {" ".join(flags)}',
                     weft('dynamic', *flags)))
    rows.append(('dynamic', 'ort dynamic', ort_dynamic))
    rows.append(('dynamic', 'torchao x86 dynamic', torchao_x86(True)))
    for policy in ('mxfp4', 'mxfp8'):
        rows.append(('microscaling', f'weft {policy}', weft(policy, peer=False)))
    for bits in (4, 8):
        policy = f'weight_only{{bits={bits},group=32}}'
        family = f'weights {bits}'
        rows.append((family, f'weft {policy}', weft(policy)))
        rows.append((family, f'weft {policy} nbits',
                     weft(policy, '--matmul-nbits')))
        if bits == 4:
            for flags in (('--smooth',), ('--gptq',), ('--smooth', '--gptq')):
                rows.append((family, f'weft {policy} {" ".join(flags)}',
                             weft(policy, *flags)))
            policy = policy.replace('only', 'only_hqq')
            rows.append((family, f'weft {policy}', weft(policy)))
            rows.append((family, f'weft {policy} --gptq',
                         weft(policy, '--gptq')))
        rows.append((family, f'ort MatMulNBits {bits}', ort_nbits(bits)))
        for mapping in ('SYMMETRIC', 'ASYMMETRIC'):
            rows.append((family, f'torchao int{bits} {mapping.lower()}',
                         torchao_weights(bits, mapping)))
        rows.append((family, f'torchao int{bits} hqq',
                     torchao_weights(bits, 'SYMMETRIC', 'hqq_scale_only')))
    return rows
