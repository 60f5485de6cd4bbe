/* SPDX-License-Identifier: Apache-2.0 */
#ifndef CAMERA_CPU_H
#define CAMERA_CPU_H

#include <stdbool.h>

#include "base/fail.h"

struct bpf_program;

/*
 * The source of on-cpu samples: one perf event per CPU that calls a BPF program F times a second of
 * CPU time. Hardware cycles where the machine has them (they also see code that runs with interrupts
 * off), else the kernel's CPU clock.
 */
struct cpu_source;

struct cpu_options {
	unsigned int frequency;	 /* samples per second, 1 to 10,000 */
	bool no_kernel, no_user; /* do not sample while in that mode */
};

/* Opens the events and attaches the program; they do not fire yet. */
int cpu_source_new(const struct cpu_options *options, struct bpf_program *program,
		   struct cpu_source **source, struct fail *why);
int cpu_source_start(struct cpu_source *source, struct fail *why);
void cpu_source_free(struct cpu_source *source);

/* "cycles" or "cpu-clock" */
const char *cpu_source_name(const struct cpu_source *source);

#endif
