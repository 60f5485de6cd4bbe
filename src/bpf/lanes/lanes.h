/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef BPF_LANES_LANES_H
#define BPF_LANES_LANES_H

/* Turns of what runs on threads by turns, as the kernel's side has them. */

#include "bpf/capture/maps.h"
#include "bpf/lanes/lanes_abi.h"

/* From that many bytes on in a ring, user space is woken by some of the records. */
#define LANE_RING_FULL	(1 << 16)
#define LANE_WAKES_EACH 64

static __always_inline __u64 read_word(__u64 at)
{
	__u64 word = 0;

	return bpf_probe_read_user(&word, sizeof(word), (void *)at) ? 0 : word;
}

static __always_inline struct lane_key lane_key_of(__u64 at)
{
	struct task_struct *task = bpf_get_current_task_btf();

	return (struct lane_key){at, task->tgid, (__u32)task->self_exec_id};
}

/* It runs here: since then, as far as that is known. */
static __always_inline void lane_runs(struct lane_turn *turn, __u64 since)
{
	turn->since = since;
	turn->thread = (__u32)bpf_get_current_pid_tgid();
	turn->cpu = bpf_get_smp_processor_id();
}

/* Another turn begins: it runs from now on. */
static __always_inline void lane_begin(struct lane_turn *turn, __u64 now)
{
	lane_runs(turn, now);
	turn->out = turn->woken = turn->readier = 0;
	turn->readier_thread = 0;
	turn->flags = turn->reason = 0;
}

/* It could run on, but does not. */
static __always_inline void lane_yield(struct lane_turn *turn, __u64 now)
{
	turn->out = turn->woken = now;
	turn->flags |= LANE_GAVE_WAY;
}

/* It runs, or ends, though nothing has told that it stopped: what it did since is not known. */
static __always_inline void lane_lost(struct lane_turn *turn, __u64 now)
{
	turn->since = 0;
	lane_yield(turn, now);
}

/* One runs again, whose turn is over, or ends: what its record is to say. */
static __always_inline void lane_fill(struct lane_record *record, __u32 kind, __u32 size,
				      const struct lane_key *key, const struct lane_turn *turn,
				      __u64 now, __u8 flags)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct capture_identity *identity = &record->identity;

	record->head.kind = kind;
	record->head.size = size;
	record->head.time = record->in = now;
	identity->pid = key->pid;
	identity->tid = (__u32)bpf_get_current_pid_tgid();
	identity->thread_start = task->start_time;
	identity->exec_id = key->exec_id;
	identity->undecided = turn->undecided;
	bpf_get_current_comm(identity->comm, sizeof(identity->comm));
	record->turn = *turn;
	if (!turn->out)
		record->turn.out = now;
	if (!turn->woken) {
		record->turn.woken = now;
		flags |= flags & LANE_ENDS ? 0 : LANE_UNWOKEN;
	}
	record->turn.flags = LANE_TURN | turn->flags | flags;
}

/*
 * sent: how many records the source has sent, about; wake: BPF_RB_FORCE_WAKEUP, BPF_RB_NO_WAKEUP.
 */
static __always_inline void lane_output(enum capture_source source, __u32 *sent, void *record,
					__u32 size, __u64 wake)
{
	void *ring = capture_ring();

	if (!ring) {
		capture_count_loss(source, CAPTURE_LOSS_NO_RING);
		return;
	}
	if (!((*sent)++ % LANE_WAKES_EACH) &&
	    bpf_ringbuf_query(ring, BPF_RB_AVAIL_DATA) > LANE_RING_FULL)
		wake = BPF_RB_FORCE_WAKEUP;
	if (capture_output(ring, source, record, size, wake))
		capture_count_loss(source, CAPTURE_LOSS_RING_FULL);
}

#endif
