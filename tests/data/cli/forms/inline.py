import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

source = """
#include <torch/extension.h>

torch::Tensor scale_shift(torch::Tensor x, torch::Tensor scale,
                          torch::Tensor shift) {
    auto out = torch::empty_like(x);
    const float *p = x.data_ptr<float>();
    const float *s = scale.data_ptr<float>(), *b = shift.data_ptr<float>();
    float *q = out.data_ptr<float>();
    int64_t rows = x.size(0), columns = x.size(1);

    for (int64_t i = 0; i < rows; i++)
        for (int64_t k = 0; k < columns; k++) {
            float y = p[i * columns + k] * s[k] + b[k];
            q[i * columns + k] = y > 0 ? y : 0;
        }
    return out;
}
"""

scale_shift = load_inline(
    name="scale_shift",
    cpp_sources=source,
    functions=["scale_shift"],
    extra_cflags=["-O1"],
    verbose=False,
)


class ModelNew(nn.Module):
    def __init__(self, columns):
        super().__init__()
        self.scale = nn.Parameter(torch.rand(columns) + 0.5)
        self.shift = nn.Parameter(torch.randn(columns))

    def forward(self, x):
        return scale_shift.scale_shift(x, self.scale, self.shift)
