// SPDX-License-Identifier: Apache-2.0
#include "attach/kernel_loads.h"

#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/btf.h>

bool kernel_loads_try(const struct btf *types)
{
	int cast = types ? btf__find_by_name_kind(types, "bpf_rdonly_cast", BTF_KIND_FUNC) : -1;
	/* loads from what an address is said to point to: memory without a type */
	const struct bpf_insn insns[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_1},
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_2},
		{.code = BPF_JMP | BPF_CALL, .src_reg = BPF_PSEUDO_KFUNC_CALL, .imm = cast},
		{.code = BPF_LDX | BPF_MEM | BPF_DW, .dst_reg = BPF_REG_0, .src_reg = BPF_REG_0},
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0},
		{.code = BPF_JMP | BPF_EXIT},
	};
	int program;

	if (cast < 0)
		return false;
	program = bpf_prog_load(BPF_PROG_TYPE_RAW_TRACEPOINT, "stackcam_try", "GPL", insns,
				sizeof(insns) / sizeof(insns[0]), NULL);
	if (program < 0)
		return false;
	close(program);
	return true;
}
