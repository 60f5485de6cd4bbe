/* SPDX-License-Identifier: GPL-2.0 OR BSD-2-Clause */
#ifndef BPF_OFF_CPU_LIST_H
#define BPF_OFF_CPU_LIST_H

/*
 * Threads that wait already when the recording begins, or still when a film ends: the list of
 * tasks.
 */

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct capture_handover);
} off_cpu_from SEC(".maps");

/* The most bytes that are written of a thread. */
#define LISTED_MAX                                                         \
	(sizeof(struct capture_handover) + sizeof(struct capture_record) + \
	 CAPTURE_KERNEL_FRAMES_MAX * sizeof(__u64) + sizeof(struct off_cpu_wait))

struct off_cpu_piece {
	__u8 bytes[LISTED_MAX];
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, struct off_cpu_piece);
} off_cpu_piece SEC(".maps");

/* enum off_cpu_listing: what the list is for. Set before each reading of it. */
__u32 off_cpu_listing;

/* filter_current() for another thread than the current one. */
static __always_inline enum filter_answer filter_other(struct task_struct *task)
{
	__u32 key = filter_by_thread ? task->pid : task->tgid;
	__u8 *answer;

	if (filter_everything)
		return FILTER_YES;
	answer = bpf_map_lookup_elem(&filter_wanted, &key);
	if (answer)
		return *answer == FILTER_YES ? FILTER_YES : FILTER_NO;
	return filter_ask || filter_cgroup_count ? FILTER_ASK : FILTER_NO;
}

/* It waits since before anything was seen: as if it had just begun. */
static __always_inline void begin_waiting(struct task_struct *task, __u64 now)
{
	struct task_struct___off_cpu *more = (void *)task;
	enum filter_answer answer = filter_other(task);
	struct off_cpu_thread *thread;

	if (answer == FILTER_NO)
		return;
	thread = bpf_task_storage_get(&off_cpu_threads, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!thread)
		capture_count_loss(CAPTURE_SOURCE_OFF_CPU, CAPTURE_LOSS_WAIT_NO_MEMORY);
	if (!thread || thread->out || thread->asked)
		return;
	thread->answer = answer;
	thread->state = more->__state;
	__sync_val_compare_and_swap(&thread->out, 0, now);
}

/*
 * The time that is over of a wait that goes on, which from then on begins now. False: it is none.
 */
static __always_inline bool split_wait(struct off_cpu_wait *wait, struct task_struct *task,
				       struct off_cpu_thread *thread, __u64 now)
{
	__u64 out = thread->out, woken = thread->woken;
	__u32 state = ((struct task_struct___off_cpu *)task)->__state;

	if (!out || out >= now || __sync_val_compare_and_swap(&thread->out, out, now) != out)
		return false;
	wait->out = out;
	wait->in = now;
	wait->state = thread->state;
	if (wait->state && state && state != OFF_CPU_STATE_WAKING)
		wait->woken = now;
	else
		wait->woken = wait->state && woken > out && woken < now ? woken : out;
	return true;
}

/*
 * Writes what OFF_CPU_STILL has. The thread's memory is not this one's: user space walks its stack,
 * from the registers that follow.
 */
static __always_inline void list_thread(struct seq_file *seq, struct capture_scratch *scratch,
					struct task_struct *task, struct off_cpu_wait *wait,
					bool undecided, __u64 now)
{
	struct capture_record *record = &scratch->record;
	struct capture_identity *identity = &record->identity;
	struct capture_handover *from;
	__u32 frames, size, zero = 0;
	long bytes = 0;

	from = bpf_map_lookup_elem(&off_cpu_from, &zero);
	if (!from)
		return;

	capture_blank(record, OFF_CPU_STILL, task);
	record->head.time = now;
	identity->pid = task->tgid;
	identity->tid = task->pid;
	identity->undecided = undecided;
	bpf_probe_read_kernel(identity->comm, sizeof(identity->comm), task->comm);
	if (wait->in && !(task->flags & PF_KTHREAD) && task->mm &&
	    capture_registers(scratch, task) && want_user) {
		record->has_user = record->handed_over = 1;
		record->end = UNWIND_END_LATER;
	}
	take_evidence(wait, scratch, task);
	if (wait->in && want_kernel)
		bytes = bpf_get_task_stack(
			task, scratch->frames,
			(CAPTURE_KERNEL_FRAMES_MAX - OFF_CPU_WAIT_WORDS) * sizeof(__u64), 0);
	if (bytes > 0)
		record->kernel_frames = bytes / sizeof(__u64);
	frames = record->kernel_frames;
	UNWIND_OPAQUE(frames);
	frames &= CAPTURE_KERNEL_FRAMES_MAX; /* one less than a power of two */
	__builtin_memcpy(&scratch->frames[frames], wait, sizeof(*wait));
	size = sizeof(*record) + (frames + OFF_CPU_WAIT_WORDS) * sizeof(__u64);
	record->head.size = size;
	from->head.kind = CAPTURE_HANDOVER;
	from->head.size = sizeof(*from);
	from->head.time = now;
	from->tid = identity->tid;
	capture_walk_begin(&scratch->walk, task);
	capture_tell_walk(from, &scratch->walk);
	bpf_seq_write(seq, from, sizeof(*from));
	bpf_seq_write(seq, record, size);
}

/*
 * What a reading of the list has no room for is asked for again. That must be known before anything
 * is changed: a piece that is too large by itself says so.
 */
static __always_inline bool has_room(struct seq_file *seq)
{
	struct seq_file___off_cpu *more = (void *)seq;
	__u32 zero = 0;
	void *piece;

	if (more->count + LISTED_MAX <= more->size)
		return true;
	piece = bpf_map_lookup_elem(&off_cpu_piece, &zero);
	if (piece)
		bpf_seq_write(seq, piece, LISTED_MAX);
	return false;
}

static __always_inline void list_waiting(struct seq_file *seq, struct task_struct *task, __u64 now)
{
	struct off_cpu_thread *thread = bpf_task_storage_get(&off_cpu_threads, task, 0, 0);
	struct capture_scratch *scratch;
	struct off_cpu_wait wait = {};

	if (!thread || !has_room(seq))
		return;
	/* before anything is taken from the thread that could not be told of */
	scratch = capture_begin(CAPTURE_SOURCE_OFF_CPU);
	if (!scratch)
		return;
	wait.short_waited = __sync_lock_test_and_set(&thread->short_waited, 0);
	wait.short_ready = __sync_lock_test_and_set(&thread->short_ready, 0);
	wait.short_waits = __sync_lock_test_and_set(&thread->short_waits, 0);
	wait.short_readies = __sync_lock_test_and_set(&thread->short_readies, 0);
	if (split_wait(&wait, task, thread, now) || wait.short_waited || wait.short_ready)
		list_thread(seq, scratch, task, &wait, thread->answer == FILTER_ASK, now);
	capture_end(scratch);
}

SEC("iter/task")
int off_cpu_tasks(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;
	struct task_struct___off_cpu *more = (void *)task;
	__u64 now = bpf_ktime_get_ns();

	if (!task || !task->pid)
		return 0;
	if (off_cpu_listing == OFF_CPU_LIST_WAITING)
		list_waiting(ctx->meta->seq, task, now);
	else if (!more->on_cpu)
		begin_waiting(task, now);
	return 0;
}

#endif
