// SPDX-License-Identifier: Apache-2.0
/*
 * loaded: the BPF programs of this machine, each with its type, how many instructions the verifier
 * has walked for it, and how many of its functions have a private stack. Those that only a table of
 * programs holds are no recorder's descriptors, so all are read.
 *
 * Since Linux 6.13 the JIT may give the functions of a program a stack for each CPU, which two
 * threads share if one preempts the other in the program. The kernel takes programs of kprobe type
 * for such that are not preempted, but those of uprobes are.
 *
 * First the same is said of a program of that type that was made for it: whether this kernel has
 * private stacks, and they can be seen. Ends with 0; 1: there is one in a program of kprobe type;
 * 2: the code cannot be read.
 */
#include <errno.h>
#include <linux/bpf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static long bpf(int command, union bpf_attr *attr)
{
	return syscall(SYS_bpf, command, attr, sizeof(*attr));
}

/* `add r9, gs:[offset]`, the address of this CPU's part: arch/x86/net/bpf_jit_comp.c. */
static const unsigned char private_stack[] = {0x65, 0x4c, 0x03, 0x0c, 0x25};

static int private_stacks(const unsigned char *code, size_t size)
{
	int count = 0;

	for (size_t i = 0; i + sizeof(private_stack) <= size; i++)
		count += !memcmp(code + i, private_stack, sizeof(private_stack));
	return count;
}

static int get_info(int fd, struct bpf_prog_info *info)
{
	union bpf_attr attr = {
		.info = {.bpf_fd = fd, .info_len = sizeof(*info), .info = (unsigned long)info}};

	return bpf(BPF_OBJ_GET_INFO_BY_FD, &attr) ? -errno : 0;
}

/* How many functions have one; negative: not known. */
static int look_at(int fd, const char *what)
{
	struct bpf_prog_info info = {0}, wanted = {0};
	unsigned char *code;
	int count = -1;

	if (get_info(fd, &info)) {
		perror("cannot read about a program");
		return -1;
	}
	code = calloc(1, info.jited_prog_len + 1);
	wanted.jited_prog_len = info.jited_prog_len;
	wanted.jited_prog_insns = (unsigned long)code;
	if (code && info.jited_prog_len && !get_info(fd, &wanted) && wanted.jited_prog_insns)
		count = private_stacks(code, info.jited_prog_len);
	printf("%s %s type %u code %u verified %u missed %llu private %d\n", what, info.name,
	       info.type, info.jited_prog_len, info.verified_insns, info.recursion_misses, count);
	free(code);
	return info.type == BPF_PROG_TYPE_KPROBE || count < 0 ? count : 0;
}

/* A program that uses all of its stack. */
static int sample(void)
{
	struct bpf_insn insns[] = {
		{.code = BPF_ST | BPF_MEM | BPF_DW, .dst_reg = BPF_REG_10, .off = -512},
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0},
		{.code = BPF_JMP | BPF_EXIT},
	};
	union bpf_attr attr = {.prog_type = BPF_PROG_TYPE_KPROBE,
			       .insns = (unsigned long)insns,
			       .insn_cnt = sizeof(insns) / sizeof(insns[0]),
			       .license = (unsigned long)"GPL",
			       .prog_name = "sample"};

	return (int)bpf(BPF_PROG_LOAD, &attr);
}

int main(void)
{
	union bpf_attr next = {0};
	int unknown = 0, bad = 0, count = 0, fd = sample();

	if (fd < 0 || look_at(fd, "sample") < 0)
		return 2;
	close(fd);
	while (!bpf(BPF_PROG_GET_NEXT_ID, &next)) {
		union bpf_attr attr = {.prog_id = next.next_id};
		int found;

		next.start_id = next.next_id;
		fd = (int)bpf(BPF_PROG_GET_FD_BY_ID, &attr);
		/* it may be gone */
		if (fd < 0 && errno == ENOENT)
			continue;
		found = fd < 0 ? -1 : look_at(fd, "loaded");
		unknown += found < 0;
		bad += found > 0;
		count++;
		if (fd >= 0)
			close(fd);
	}
	return bad ? 1 : unknown || !count ? 2 : 0;
}
