// SPDX-License-Identifier: Apache-2.0
/*
 * Calls functions that begin with different instructions, and prints how long each call takes.
 *
 *	call_cost FUNCTION BATCHES CPU [empty]
 *
 * Prints the ns of a call in each batch. empty: with a pair of probes at the function that run a program
 * which does nothing, for comparison.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <linux/bpf.h>

#define CALLS 1000

/* Built without position independence: an address less this is the offset in the file. */
extern const char __executable_start[];

#define FUNCTION(name, code)                               \
	asm(".pushsection .text\n"                         \
	    ".globl starts_" name "\n"                     \
	    ".type starts_" name ", @function\n"           \
	    ".balign 64\n"                                 \
	    "starts_" name ":\n" code "\n"                 \
	    "ret\n"                                        \
	    ".size starts_" name ", . - starts_" name "\n" \
	    ".popsection\n")

FUNCTION("push", "push %rbp\nmov %rsp, %rbp\npop %rbp");
FUNCTION("endbr", "endbr64\npush %rbp\nmov %rsp, %rbp\npop %rbp");
FUNCTION("sub", "sub $8, %rsp\nadd $8, %rsp");
FUNCTION("mov", "mov %rdi, %rax");
/* as compilers make them: what is to be done is tested first */
FUNCTION("mov_branch", "mov %rdi, %rax\ntest %rdi, %rdi\nje 1f\ninc %rax\n1:");
FUNCTION("sub_branch", "sub $8, %rsp\ntest %rdi, %rdi\nje 1f\ninc %rax\n1: add $8, %rsp");

void starts_push(void);
void starts_endbr(void);
void starts_sub(void);
void starts_mov(void);
void starts_mov_branch(void);
void starts_sub_branch(void);

static const struct {
	const char *name;
	void (*function)(void);
} functions[] = {
	{"push", starts_push}, {"endbr", starts_endbr},		  {"sub", starts_sub},
	{"mov", starts_mov},   {"mov_branch", starts_mov_branch}, {"sub_branch", starts_sub_branch},
};

static const struct bpf_insn return_0[] = {
	{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0, .imm = 0},
	{.code = BPF_JMP | BPF_EXIT},
};

/* BPF_LINK_CREATE for uprobes, as linux/bpf.h has it since 6.6. */
struct uprobe_link {
	uint32_t program, target, attach_type, flags;
	uint64_t path, offsets, reference_counters, cookies;
	uint32_t count, uprobe_flags, pid, unused;
};

static void probe(void (*function)(void), uint32_t flags)
{
	LIBBPF_OPTS(bpf_prog_load_opts, options, .expected_attach_type = 48);
	int program = bpf_prog_load(BPF_PROG_TYPE_KPROBE, "empty", "GPL", return_0,
				    sizeof(return_0) / sizeof(return_0[0]), &options);
	uint64_t offset = (uintptr_t)function - (uintptr_t)__executable_start;
	struct uprobe_link link = {
		.program = (uint32_t)program,
		.attach_type = 48,
		.path = (uintptr_t) "/proc/self/exe",
		.offsets = (uintptr_t)&offset,
		.count = 1,
		.uprobe_flags = flags,
	};

	if (program < 0 || syscall(SYS_bpf, BPF_LINK_CREATE, &link, sizeof(link)) < 0) {
		fprintf(stderr, "call_cost: cannot attach an empty probe: %s\n", strerror(errno));
		exit(1);
	}
}

static double now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

int main(int argc, char **argv)
{
	void (*function)(void) = NULL;
	cpu_set_t cpus;
	double begin;

	CPU_ZERO(&cpus);
	for (size_t i = 0; argc > 3 && i < sizeof(functions) / sizeof(functions[0]); i++)
		if (!strcmp(argv[1], functions[i].name))
			function = functions[i].function;
	if (!function)
		return 2;
	CPU_SET(atoi(argv[3]), &cpus);
	sched_setaffinity(0, sizeof(cpus), &cpus);
	if (argc > 4) {
		probe(function, 0);
		probe(function, 1);
	}
	for (int batch = 0; batch < atoi(argv[2]); batch++) {
		begin = now_ns();
		for (int i = 0; i < CALLS; i++)
			function();
		printf("%.1f\n", (now_ns() - begin) / CALLS);
	}
	return 0;
}
