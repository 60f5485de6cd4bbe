// SPDX-License-Identifier: Apache-2.0
#include "sources/sched/threads_locks.h"

/* What is behind the frames of a stack; null: it waited for no futex, or the record is damaged. */
static const struct threads_lock *lock_behind(const struct capture_record *record)
{
	size_t frames = (size_t)record->user_frames + record->kernel_frames;
	const struct threads_lock *lock =
		(const struct threads_lock *)((const uint64_t *)(record + 1) + frames);

	return record->head.size == sizeof(*record) + frames * sizeof(uint64_t) + sizeof(*lock)
		       ? lock
		       : NULL;
}

struct lives_lock threads_lock_from(const struct film_lock *row, bool released)
{
	if (!row)
		return (struct lives_lock){0};
	return (struct lives_lock){
		.address = row->address,
		.holder = row->holder,
		.place = row->place,
		.kind = row->kind,
		.sure = row->sure,
		.is_released = released,
		.is_unreleased = !released,
	};
}

bool threads_lock_of_stack(struct lock_book *book, const struct capture_record *record,
			   struct film_lock *lock, bool *released)
{
	const struct threads_lock *behind = lock_behind(record);

	if (!behind)
		return false;
	lock_meet(book, (pid_t)record->identity.pid);
	*released = behind->released ==
		    (behind->evidence.of_file ? LOCK_RELEASED_FILE : LOCK_RELEASED_FUTEX);
	return lock_read(book, record, &behind->evidence, behind->began, lock);
}

/* The other end of a pipe, as if it were a lock that the process there has. */
static struct lives_lock find_pipe_end(struct lock_book *book, struct pipe_ends *ends,
				       const struct capture_record *record,
				       const struct off_cpu_wait *wait)
{
	pid_t pid = pipe_ends_find(ends, (pid_t)record->identity.pid, wait);
	uint32_t holder = pid ? lock_process(book, pid, record->head.time) : 0;

	return (struct lives_lock){
		.holder = holder,
		.sure = holder ? FILM_HOLDER_OWNER : FILM_HOLDER_NONE,
	};
}

struct lives_lock threads_lock_of_list(struct lock_book *book, struct pipe_ends *ends,
				       const struct capture_record *record,
				       const struct off_cpu_wait *wait)
{
	struct lock_evidence evidence;
	struct film_lock row = {0};
	struct lives_lock lock;

	if (ends && wait->descriptor == OFF_CPU_FD_PIPE)
		return find_pipe_end(book, ends, record, wait);
	if (!lock_look((pid_t)record->identity.pid, wait, true, &evidence))
		return (struct lives_lock){0};
	lock_meet(book, (pid_t)record->identity.pid);
	/* a time at which the holder was there */
	if (!lock_read(book, record, &evidence, record->head.time, &row))
		return (struct lives_lock){0};
	lock = threads_lock_from(&row, false);
	lock.is_unreleased = false;
	return lock;
}

/* A half that waits for the switch of its thread has no time and no value of its own. */
enum {
	KEPT_SURE = 8,
	KEPT_RELEASED = 16,
	KEPT_UNRELEASED = 17,
};

void threads_lock_keep(struct waiting_half *half, const struct lives_lock *lock)
{
	half->time = lock->address;
	half->value = (uint64_t)lock->place << 32 | lock->holder;
	half->event = lock->kind | (uint32_t)lock->sure << KEPT_SURE |
		      (uint32_t)lock->is_released << KEPT_RELEASED |
		      (uint32_t)lock->is_unreleased << KEPT_UNRELEASED;
}

struct lives_lock threads_lock_kept(const struct waiting_half *half)
{
	return (struct lives_lock){
		.address = half->time,
		.holder = (uint32_t)half->value,
		.place = (uint32_t)(half->value >> 32),
		.kind = (uint8_t)half->event,
		.sure = (uint8_t)(half->event >> KEPT_SURE),
		.is_released = half->event >> KEPT_RELEASED & 1,
		.is_unreleased = half->event >> KEPT_UNRELEASED & 1,
	};
}
