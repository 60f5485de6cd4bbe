// SPDX-License-Identifier: Apache-2.0
/*
 * Calls a function of two numbers and a text: handle(), or pushes(), which begins with an instruction that the kernel
 * emulates, or silent(), which does and has no result.
 *
 *	inspect_calls BATCHES CPU handle|pushes|silent [empty|begin|beside|begin-beside]
 *
 * Prints the ns of a call in each batch of 1000. empty: with probes that run a program which does nothing, where the
 * function begins and where it returns, for comparison; begin: only where it begins. beside and begin-beside: these
 * probes are at a copy of the function, of which a batch follows each of the function's: two numbers a line.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <sched.h>
#include <stdbool.h>
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
#define RET   0xc3

/* Built without position independence: an address less this is the offset in the file. */
extern const char __executable_start[];

volatile long sink;

#define HANDLE(name_)                                                                              \
	long name_(long id, int kind, const char *name);                                           \
	__attribute__((noinline, noclone, no_icf)) long name_(long id, int kind, const char *name) \
	{                                                                                          \
		sink = kind + name[0];                                                             \
		return id;                                                                         \
	}
HANDLE(handle)
HANDLE(other_handle)

#define PUSHES(name_)                                                                              \
	long name_(long id, int kind, const char *name);                                           \
	__attribute__((noinline, noclone, no_icf)) long name_(long id, int kind, const char *name) \
	{                                                                                          \
		__asm__ volatile("" ::: "rbx");                                                    \
		sink = kind + name[0];                                                             \
		return id;                                                                         \
	}
PUSHES(pushes)
PUSHES(other_pushes)

void silent(long id, int kind, const char *name);

__attribute__((noinline, noclone, no_icf)) void silent(long id, int kind, const char *name)
{
	__asm__ volatile("" ::"r"(id) : "rbx");
	sink = kind + name[0];
}

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

static void probe(const unsigned char *code)
{
	LIBBPF_OPTS(bpf_prog_load_opts, options, .expected_attach_type = 48);
	int program = bpf_prog_load(BPF_PROG_TYPE_KPROBE, "empty", "GPL", return_0,
				    sizeof(return_0) / sizeof(return_0[0]), &options);
	uint64_t offset = (uintptr_t)code - (uintptr_t)__executable_start;
	struct uprobe_link link = {
		.program = (uint32_t)program,
		.attach_type = 48,
		.path = (uintptr_t) "/proc/self/exe",
		.offsets = (uintptr_t)&offset,
		.count = 1,
	};

	if (program < 0 || syscall(SYS_bpf, BPF_LINK_CREATE, &link, sizeof(link)) < 0) {
		fprintf(stderr, "inspect_calls: cannot attach an empty probe: %s\n",
			strerror(errno));
		exit(1);
	}
}

static double now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

typedef long (*called)(long, int, const char *);

/* The ns of a call. */
static double batch_of(called function, long batch)
{
	double begin = now_ns();

	for (long i = 0; i < CALLS; i++)
		function(batch * CALLS + i, (int)i, "a name of some length");
	return (now_ns() - begin) / CALLS;
}

int main(int argc, char **argv)
{
	called function, other;
	const unsigned char *code, *end;
	bool is_beside;
	cpu_set_t cpus;

	if (argc < 4)
		return 2;
	function = strcmp(argv[3], "pushes") ? handle : pushes;
	other = strcmp(argv[3], "pushes") ? other_handle : other_pushes;
	/* what it would return is not looked at */
	if (!strcmp(argv[3], "silent"))
		function = (called)(uintptr_t)silent;
	is_beside = argc > 4 && strstr(argv[4], "beside");
	end = code = (const unsigned char *)(uintptr_t)(is_beside ? other : function);
	CPU_ZERO(&cpus);
	CPU_SET(atoi(argv[2]), &cpus);
	if (sched_setaffinity(0, sizeof(cpus), &cpus))
		return 1;
	while (*end != RET)
		end++;
	if (argc > 4) {
		probe(code);
		if (!strcmp(argv[4], "empty") || !strcmp(argv[4], "beside"))
			probe(end);
	}
	for (long batch = 0; batch < atol(argv[1]); batch++) {
		double ns = batch_of(function, batch);

		if (is_beside)
			printf("%.1f %.1f\n", ns, batch_of(other, batch));
		else
			printf("%.1f\n", ns);
	}
	return 0;
}
