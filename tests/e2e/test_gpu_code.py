# SPDX-License-Identifier: Apache-2.0
"""Lines, inlined functions and mnemonics of code for GPUs against NVIDIA's own disassembler; bench/gpu-sass has 500,000 instructions."""

import pytest

import gpu_code


def printer(request):
    return request.config.getoption("--build") + "/tests/unit/symbol/print_cubin"


@pytest.mark.parametrize("architecture", (75, 80, 90))
def test_against_nvdisasm(request, lab, tmp_path, architecture):
    tools = gpu_code.toolkit(lab.suites)
    text = gpu_code.kernels(architecture, 1, 4, 100)
    cubin = gpu_code.compile_ptx(tools, text, architecture, tmp_path / "a.cubin", "-lineinfo")
    theirs = gpu_code.disassembled(tools, cubin)
    ours, functions, names = gpu_code.read(printer(request), cubin)
    mnemonics, places = gpu_code.differences(theirs, ours)
    assert len(theirs) == len(ours) > 1000
    assert not mnemonics and not places, (mnemonics, places.most_common(3))
    # a kernel, a function of two inlined ones, and what has none
    assert {len(place) for _, place in theirs.values()} >= {0, 1, 2, 3}
    assert names == set(gpu_code.INLINED)
    assert functions["kernel_3"] >= {"kernel_3", "_Z6helper0f", "__cuda_sm20_sqrt_rn_f32_slowpath"}
