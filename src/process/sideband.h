/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROCESS_SIDEBAND_H
#define PROCESS_SIDEBAND_H

#include "base/fail.h"
#include "process/targets.h"

/*
 * The kernel's own announcements of fork, exec, exit, names and executable mmaps: one dummy perf
 * event per CPU (PERF_COUNT_SW_DUMMY with mmap, mmap2, comm, comm_exec, task), machine-wide, with
 * CLOCK_MONOTONIC time. They cost nothing while nothing happens and need no probe on system calls.
 */
struct sideband;

/* cpu list: all online CPUs. ring_pages: data pages per CPU, a power of two. */
int sideband_open(unsigned int ring_pages, struct sideband **sideband, struct fail *why);
void sideband_close(struct sideband *sideband);

/*
 * Reads what the rings hold at the time of the call, sorts it by time over all CPUs and calls
 * emit() for each event. Events that carry a time later than `until` stay for the next call, so
 * that a caller can merge with another source of records. path and all in the event live until
 * emit() returns.
 *
 * A CPU may still be writing an event of some microseconds ago while another's later one is read.
 * Order over calls therefore holds when `until` lies some milliseconds back; UINT64_MAX takes all
 * there is. -EIO: a ring held something that is not a record; it was skipped, and what it hid
 * counts as one lost.
 */
int sideband_read(struct sideband *sideband, uint64_t until,
		  void (*emit)(void *context, const struct target_event *event), void *context,
		  struct fail *why);

/*
 * Moves what the rings hold into memory, where sideband_read() finds it: there is room for events
 * again while the thread that reads is busy. The memory has a limit; what does not fit stays in the
 * rings. Of any thread; all other functions are for the one that reads.
 */
void sideband_relieve(struct sideband *sideband);

/* Events that the kernel could not put into a full ring, as known when rings were last emptied. */
uint64_t sideband_lost(struct sideband *sideband);

/*
 * A descriptor for poll(2) that becomes readable when some ring is a quarter full. Fewer events
 * wait in silence: read from time to time too.
 */
int sideband_poll_fd(const struct sideband *sideband);

#endif
