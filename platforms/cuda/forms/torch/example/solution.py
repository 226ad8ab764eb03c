import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

cuda_source = """
#include <torch/extension.h>
#include <c10/cuda/CUDAStream.h>

// A row for each block: y goes into out while the largest |y| is found, and is
// divided while the row is still in the L1 cache.
__global__ void scale_row(const float *x, const float *gain,
                          const float *shift, float *out, int features)
{
    __shared__ float part[32];
    const float *from = x + (int64_t)blockIdx.x * features;
    float *to = out + (int64_t)blockIdx.x * features;
    float most = 0;

    for (int i = threadIdx.x; i < features; i += blockDim.x) {
        float y = from[i] * gain[i] + shift[i];
        to[i] = y;
        most = fmaxf(most, fabsf(y));
    }
    for (int step = 16; step; step /= 2)
        most = fmaxf(most, __shfl_xor_sync(~0u, most, step));
    if (threadIdx.x % 32 == 0)
        part[threadIdx.x / 32] = most;
    __syncthreads();
    most = threadIdx.x % 32 < blockDim.x / 32 ? part[threadIdx.x % 32] : 0;
    for (int step = 16; step; step /= 2)
        most = fmaxf(most, __shfl_xor_sync(~0u, most, step));
    for (int i = threadIdx.x; i < features; i += blockDim.x)
        to[i] /= most + 1e-6f;
}

torch::Tensor scale_rows(torch::Tensor x, torch::Tensor gain,
                         torch::Tensor shift)
{
    auto out = torch::empty_like(x);

    scale_row<<<x.size(0), 256, 0, c10::cuda::getCurrentCUDAStream()>>>(
        x.data_ptr<float>(), gain.data_ptr<float>(), shift.data_ptr<float>(),
        out.data_ptr<float>(), x.size(1));
    return out;
}
"""
cpp_source = """
torch::Tensor scale_rows(torch::Tensor x, torch::Tensor gain,
                         torch::Tensor shift);
"""
extension = load_inline(name="scale_rows", cpp_sources=cpp_source,
                        cuda_sources=cuda_source, functions=["scale_rows"])


class ModelNew(nn.Module):
    def __init__(self, features):
        super().__init__()
        self.gain = nn.Parameter(torch.rand(features) + 0.5)
        self.shift = nn.Parameter(torch.randn(features))

    def forward(self, x):
        return extension.scale_rows(x.contiguous(), self.gain, self.shift)
