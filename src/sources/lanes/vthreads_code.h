/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SOURCES_LANES_VTHREADS_CODE_H
#define SOURCES_LANES_VTHREADS_CODE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/vec.h"
#include "attach/breakpoints.h"
#include "sources/probed_files.h"
#include "resolve/samples.h"

/*
 * The code that JVMs make to run virtual threads, in the processes that run them: there are
 * breakpoints of the CPU in it. Zero is empty, as long as it is not asked to look.
 */
struct vthreads_code {
	struct bpf_program *program; /* of the breakpoints, loaded */
	int processes;		     /* the map of struct vthreads_process */
	struct probed_refused *refused;
	struct breakpoints breakpoints;
	vec(struct vthreads_running {
		pid_t pid;
		uint32_t object; /* of its file */
		bool is_over; /* its probes are all set, or it was refused; else it is looked at */
	}) running;
};

/* refused: where processes are counted that cannot be followed. */
void vthreads_code_begin(struct vthreads_code *code, struct bpf_program *program, int processes,
			 struct probed_refused *refused);
/* Takes the breakpoints away. */
void vthreads_code_detach(struct vthreads_code *code);
void vthreads_code_free(struct vthreads_code *code);

/* A process runs a JVM. object: as of struct hotspot_vthreads. */
void vthreads_code_runs(struct vthreads_code *code, pid_t pid, uint32_t object);
/* It has ended, or runs another program. */
void vthreads_code_gone(struct vthreads_code *code, pid_t pid);

/* Sets what is missing for processes that have run a virtual thread meanwhile. */
void vthreads_code_look(struct vthreads_code *code, struct samples *samples);

#endif
