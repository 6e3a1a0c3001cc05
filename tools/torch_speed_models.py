"""Programs for torch_speed.py whose ops are slow where an executor has no routine for them."""
import torch
import torch.nn.functional as F
from torch import nn

_MODELS = []


def models():
    return _MODELS


def _model(function):
    _MODELS.append((function.__name__, function))
    return function


class _Function(nn.Module):
    """A function as a module."""

    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *args):
        return self.function(*args)


# --- Recurrent layers.

@_model
def lstm_64x8():
    return nn.LSTM(256, 256), torch.randn(64, 8, 256)


@_model
def lstm_batch_1():
    return nn.LSTM(128, 128), torch.randn(100, 1, 128)


@_model
def lstm_bidirectional_2_layers():
    return (nn.LSTM(80, 192, num_layers=2, bidirectional=True, batch_first=True),
            torch.randn(4, 50, 80))


@_model
def lstm_batch_64():
    return nn.LSTM(128, 256, batch_first=True), torch.randn(64, 32, 128)


@_model
def gru_64x8():
    return nn.GRU(256, 256), torch.randn(64, 8, 256)


@_model
def gru_bidirectional():
    return nn.GRU(80, 100, bidirectional=True, batch_first=True), torch.randn(3, 60, 80)


@_model
def rnn_64x8():
    return nn.RNN(256, 256), torch.randn(64, 8, 256)


@_model
def lstm_tagger():
    class Tagger(nn.Module):
        def __init__(self):
            super().__init__()
            self.words = nn.Embedding(1000, 128)
            self.layer = nn.LSTM(128, 128, bidirectional=True, batch_first=True)
            self.tags = nn.Linear(256, 20)

        def forward(self, x):
            return self.tags(self.layer(self.words(x))[0]).log_softmax(-1)

    return Tagger(), torch.randint(0, 1000, (8, 40))


# --- Fourier transforms.

@_model
def stft_istft():
    window = torch.hann_window(400)

    def f(x):
        s = torch.stft(x, 512, 160, 400, window, return_complex=True)
        return torch.istft(s, 512, 160, 400, window)

    return _Function(f), torch.randn(2, 16000)


@_model
def mel_spectrogram():
    window = torch.hann_window(400)
    bank = torch.rand(201, 80)

    def f(x):
        s = torch.stft(x, 400, 160, 400, window, return_complex=True).abs().square()
        return (s.transpose(1, 2) @ bank).clamp(min=1e-5).log()

    return _Function(f), torch.randn(1, 48000)


@_model
def fft_1d():
    return _Function(lambda x: torch.view_as_real(torch.fft.fft(x))), torch.randn(64, 1024)


@_model
def fft_2d_shift():
    return (_Function(lambda x: torch.fft.fftshift(torch.fft.fft2(x)).abs()),
            torch.randn(4, 128, 128))


@_model
def rfft_odd():
    return _Function(lambda x: torch.fft.irfft(torch.fft.rfft(x) * 2, 675)), torch.randn(64, 675)


@_model
def fftshift():
    return _Function(torch.fft.fftshift), torch.randn(16, 256, 256)


@_model
def fnet_mixing():
    class Mixing(nn.Module):
        def __init__(self):
            super().__init__()
            self.norm = nn.LayerNorm(256)
            self.up = nn.Linear(256, 1024)
            self.down = nn.Linear(1024, 256)

        def forward(self, x):
            x = self.norm(x + torch.fft.fft2(x).real)
            return self.norm(x + self.down(F.gelu(self.up(x))))

    return Mixing(), torch.randn(2, 128, 256)


# --- Images.

@_model
def conv_transpose_2d():
    return nn.ConvTranspose2d(64, 32, 4, stride=2, padding=1), torch.randn(1, 64, 32, 32)


@_model
def conv_transpose_2d_stride_1():
    return nn.ConvTranspose2d(64, 64, 3, padding=1), torch.randn(1, 64, 28, 28)


@_model
def conv_transpose_1d():
    return nn.ConvTranspose1d(128, 64, 16, stride=8, padding=4), torch.randn(1, 128, 200)


@_model
def conv_transpose_grouped():
    return nn.ConvTranspose2d(64, 64, 4, stride=2, padding=1, groups=8), torch.randn(1, 64, 32, 32)


@_model
def unfold():
    return _Function(lambda x: F.unfold(x, 3, padding=1)), torch.randn(1, 64, 56, 56)


@_model
def fold():
    return (_Function(lambda x: F.fold(x, (56, 56), 3, padding=1)),
            torch.randn(1, 576, 3136))


@_model
def grid_sample():
    return (_Function(lambda x, g: F.grid_sample(x, g, align_corners=False)),
            torch.randn(1, 32, 64, 64), torch.rand(1, 64, 64, 2) * 2 - 1)


@_model
def grid_sample_many_points():
    return (_Function(lambda x, g: F.grid_sample(x, g, align_corners=False)),
            torch.randn(8, 32, 32, 32), torch.rand(8, 300, 4, 2) * 2 - 1)


@_model
def interpolate_bilinear():
    return (_Function(lambda x: F.interpolate(x, scale_factor=2, mode='bilinear',
                                              align_corners=False)),
            torch.randn(1, 64, 56, 56))


@_model
def cumsum_long():
    return _Function(lambda x: torch.cumsum(x, 1)), torch.randn(1, 1000000)


@_model
def cumsum_planes():
    return _Function(lambda x: torch.cumsum(x, 1)), torch.randn(64, 128, 512)


@_model
def cumsum_bf16():
    return _Function(lambda x: torch.cumsum(x, 1)), torch.randn(64, 16384).bfloat16()


@_model
def cummax_long():
    return _Function(lambda x: tuple(torch.cummax(x, 1))), torch.randn(8, 100000)


@_model
def cummin_planes():
    return _Function(lambda x: tuple(torch.cummin(x, 1))), torch.randn(16, 128, 512)


@_model
def nonzero_mask():
    return _Function(lambda x: torch.nonzero(x > 1)), torch.randn(512, 1000)


@_model
def sort_long():
    return _Function(lambda x: tuple(torch.sort(x, stable=True))), torch.randn(1, 1000000)


@_model
def sort_rows():
    return _Function(lambda x: tuple(torch.sort(x, stable=True))), torch.randn(512, 1000)


@_model
def topk_of_a_vocabulary():
    return _Function(lambda x: tuple(torch.topk(x, 50))), torch.randn(64, 50257)


@_model
def scatter_add():
    return (_Function(lambda x, i, u: torch.scatter_add(x, 0, i, u)),
            torch.randn(1000000), torch.randint(0, 1000000, (100000,)), torch.randn(100000))


@_model
def scatter_add_bf16():
    return (_Function(lambda x, i, u: torch.scatter_add(x, 0, i, u)),
            torch.randn(2000, 64).bfloat16(), torch.randint(0, 2000, (5000, 64)),
            torch.randn(5000, 64).bfloat16())


@_model
def index_put_rows():
    return (_Function(lambda x, i, j, u: torch.index_put(x, (i, j), u)),
            torch.randn(16, 2048, 64), torch.arange(8), torch.arange(8) * 7, torch.randn(8, 64))
