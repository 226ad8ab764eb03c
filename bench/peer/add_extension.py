"""The same program as kernels.cu, in the form that KernelBench's evaluator takes:
an extension of PyTorch, compiled while it is loaded."""

import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

CUDA = """
#include <torch/extension.h>

__global__ void add(const float *a, const float *b, float *out, long long n)
{
	long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;

	if (i < n)
		out[i] = a[i] + b[i];
}

torch::Tensor add_of(torch::Tensor a, torch::Tensor b)
{
	auto out = torch::empty_like(a);
	long long n = a.numel();

	add<<<(n + 127) / 128, 128>>>(a.data_ptr<float>(), b.data_ptr<float>(),
				      out.data_ptr<float>(), n);
	return out;
}
"""

module = load_inline(
    name="kforge_peer_add", cpp_sources="torch::Tensor add_of(torch::Tensor a, "
    "torch::Tensor b);", cuda_sources=CUDA, functions=["add_of"])


class ModelNew(nn.Module):
    def forward(self, a, b):
        return module.add_of(a, b)
