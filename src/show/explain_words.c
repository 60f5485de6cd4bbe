// SPDX-License-Identifier: Apache-2.0
/* A part of an explanation in words. */
#include <string.h>

#include "film/go_reasons.h"
#include "query/explain/lanes.h"
#include "query/explain/name_servers.h"
#include "show/explain.h"

void explain_thread_words(const struct explainer *e, uint32_t thread, uint32_t beside,
			  struct buf *words)
{
	const struct film *film = e->film;
	const struct film_thread *of = &film->threads[thread];
	const struct film_process *process = &film->processes[of->process];
	char lane[32];

	/* whose name is its number; and the number of a task says nothing */
	snprintf(lane, sizeof(lane), "goroutine %u", of->tid);
	buf_printf(words, "%s", *of->comm ? of->comm : NAME_UNKNOWN);
	if (strcmp(of->comm, lane) && !histories_is_lane(&e->histories, thread))
		buf_printf(words, " (%u)", of->tid);
	if (*process->comm && (!beside || film->threads[beside].process != of->process) &&
	    strcmp(of->comm, process->comm))
		buf_printf(words, " of %s", process->comm);
}

const char *explain_call(const struct explainer *e, const struct slice *slice)
{
	const char *name = wait_call_name(e->film->info.arch, slice->state, slice->call);

	return *name == '?' ? "a system call without a known name"
	       : *name	    ? name
			    : "no system call";
}

static const char *ipc_words(const struct slice *slice)
{
	switch (slice->descriptor) {
	case FILM_FD_PIPE:
		return "a pipe";
	case FILM_FD_EVENT:
		return "an eventfd";
	case FILM_FD_UNIX_SOCKET:
		return "a Unix socket";
	default:
		return "another process";
	}
}

/* A lock of which the film has no more than the system call that waited for it. */
static void put_lock_of_call(const struct explainer *e, const struct slice *slice,
			     struct buf *words)
{
	const char *call = explain_call(e, slice);

	if (!strcmp(call, "flock") || !strcmp(call, "fcntl"))
		buf_printf(words, "the lock of a file (%s)", call);
	else if (explain_is_of_memory(e, slice))
		buf_printf(words, "the kernel's lock on the memory of its process (%s)", call);
	else
		buf_printf(words, "%s 0x%llx",
			   slice_is_for_condition(slice) ? "condition" : "futex lock",
			   (unsigned long long)slice->address);
}

static void put_lock(const struct explainer *e, const struct explain_part *part,
		     const struct slice *slice, struct buf *words)
{
	char lock[320];

	if (part->lock) {
		const struct lock_shown shown = {.address = part->lock->address,
						 .place = part->lock->place,
						 .kind = part->lock->kind};

		lock_words(e->film, &shown, lock, sizeof(lock));
		buf_put_text(words, lock);
	} else {
		put_lock_of_call(e, slice, words);
	}
}

uint32_t explain_peer(const struct explainer *e, const struct explain_part *part)
{
	const struct slice *slice = explain_part_slice(e, part);

	/* what is followed names who ended it */
	return slice && slice_is_wait(slice->kind) && slice->object && !part->is_followed
		       ? e->peers[slice->object]
		       : 0;
}

/* " with psql (412) at its other end", of a connection */
static void peer_words(const struct explainer *e, const struct explain_part *part,
		       struct buf *words)
{
	const struct film_process *process = &e->film->processes[explain_peer(e, part)];

	if (explain_peer(e, part))
		buf_printf(words, " with %s (%u) at its other end",
			   *process->comm ? process->comm : NAME_UNKNOWN, process->pid);
}

/* "/var/lib/wal", "tcp 10.0.0.1:40212 -> 10.0.0.7:5432"; nothing where it is not known */
static void object_words(const struct explainer *e, const struct slice *slice, struct buf *words)
{
	char text[512];

	if (slice_object(e->film, slice, NULL, text, sizeof(text)) == OBJECT_KNOWN)
		buf_put_text(words, text);
}

const char *explain_disk(const struct explainer *e, const struct explain_part *part)
{
	const struct slice *slice = explain_part_slice(e, part);

	return slice && explain_is_of_disk(slice) ? object_disk(e->film, slice->object) : "";
}

void explain_disk_user_words(const struct explainer *e, const struct explain_disk_user *user,
			     struct buf *words)
{
	const struct slice *slice = &e->histories.slices[user->slice];
	size_t before = words->count, named;

	buf_printf(words, "%s of ", explain_call(e, slice));
	named = words->count;
	object_words(e, slice, words);
	if (words->count == named)
		words->count = before;
}

/* "sync.Mutex"; nothing where it waited for none of that package. */
static void sync_words(const struct explainer *e, const struct slice *slice, struct buf *words)
{
	enum wait_class class = slice_wait_class(slice->kind);
	char object[256];

	lane_wait_text(e->film, class, slice->stack, object, sizeof(object));
	if (strcmp(object, wait_class_name(class)))
		buf_put_text(words, object);
}

static const char *endpoint_of(const struct explainer *e, const struct explain_served *served)
{
	const struct film *film = e->film;
	const char *name = film->functions[film->frames[served->endpoint].function].name;

	return *name ? name : NAME_UNKNOWN;
}

void explain_object_words(const struct explainer *e, const struct explain_part *part,
			  struct buf *words)
{
	const struct slice *slice = explain_part_slice(e, part);

	if (part->made)
		buf_put_text(words, part->made->peer);
	else if (part->before)
		buf_put_text(words, endpoint_of(e, part->before));
	else if (slice && slice->state == FILM_WAIT_GOROUTINE && slice_is_wait(slice->kind))
		sync_words(e, slice, words);
	else if (slice && slice->kind == SLICE_WAIT + WAIT_LOCK)
		put_lock(e, part, slice, words);
	else if (slice && slice_is_wait(slice->kind))
		object_words(e, slice, words);
}

/* What a wait waits for: "%s" stands for its system call. */
static const char *const waits[WAIT_CLASSES] = {
	[WAIT_OTHER] = "waiting in %s",
	[WAIT_READY] = "ready but not running",
	[WAIT_STOPPED] = "stopped, or frozen",
	[WAIT_FAULT] = "waiting for a page of memory",
	[WAIT_DISK] = "waiting for a disk (%s)",
	[WAIT_NO_WORK] = "waiting for work",
	[WAIT_IO_URING] = "waiting for io_uring",
	[WAIT_CHILD] = "waiting for a child process (%s)",
	[WAIT_SLEEP] = "sleeping (%s)",
	[WAIT_POLL] = "waiting for new events (%s)",
	[WAIT_ACCEPT] = "waiting for a connection (%s)",
	[WAIT_CONNECT] = "connecting to a peer",
	[WAIT_RECEIVE] = "waiting for data of a peer (%s)",
	[WAIT_SEND] = "waiting until a peer takes data (%s)",
	[WAIT_SIGNAL] = "waiting for a signal (%s)",
	[WAIT_FILE] = "waiting for a file (%s)",
	[WAIT_CHANNEL] = "waiting for a channel",
	[WAIT_SELECT] = "waiting in select",
	[WAIT_SYNC] = "waiting for other goroutines",
	[WAIT_NETWORK] = "waiting for the network",
	[WAIT_GC] = "waiting for the garbage collector",
};

/* The same, where what it is comes behind. */
static const char *const objects[WAIT_CLASSES] = {
	[WAIT_DISK] = "waiting for a disk in %s of ",
	[WAIT_CONNECT] = "connecting (%s) on ",
	[WAIT_RECEIVE] = "waiting for data (%s) on ",
	[WAIT_SEND] = "waiting to send (%s) on ",
	[WAIT_FILE] = "waiting in %s of ",
	[WAIT_POLL] = "waiting for new events (%s) on ",
	[WAIT_ACCEPT] = "waiting for a connection (%s) on ",
};

/* " in parse_order", where that is known */
static void place_words(struct explainer *e, uint32_t stack, struct buf *words)
{
	char name[256];

	explain_stack_name(&e->stacks, explain_stack_own(&e->stacks, stack), name, sizeof(name));
	if (*name)
		buf_printf(words, " in %s", name);
}

/* The thread that stops the others, to collect garbage say, wakes them behind that. */
bool explain_is_safepoint(const struct explainer *e, const struct explain_part *part)
{
	return part->is_followed && !part->lock &&
	       roles_of_thread_has(&e->roles, part->waker, FILM_ROLE_SAFEPOINT);
}

static void lane_words(const struct explainer *e, const struct explain_part *part,
		       const struct slice *slice, struct buf *words)
{
	enum wait_class class = slice_wait_class(part->kind);
	char object[256];

	lane_wait_text(e->film, class, slice->stack, object, sizeof(object));
	if (class == WAIT_SLEEP)
		buf_put_text(words, "sleeping");
	else if (strcmp(object, wait_class_name(class)))
		buf_printf(words, "waiting for %s", object);
	else if (class == WAIT_LOCK)
		buf_put_text(words, "waiting for a mutex");
	else if (slice->call == FILM_GO_PARK + 1)
		buf_put_text(words, "parked");
	else if (slice->call == FILM_GO_TIMED_PARK + 1)
		buf_put_text(words, "parked for a time at most");
	else if (slice->call > FILM_GO_FUTURE)
		buf_printf(words, "waiting for a %s", explain_call(e, slice));
	else
		buf_printf(words, waits[class], explain_call(e, slice));
}

/* Waits for a client, of which the connection is named. */
#define OF_CLIENT (HISTORY_CLIENT_READ | HISTORY_CLIENT_WRITE | HISTORY_UPLOAD)

/*
 * What a wait is by the functions on its stack, or by the request that its thread serves; false:
 * they say no more than its system call.
 */
static bool put_role(const struct explainer *e, const struct explain_part *part,
		     const struct slice *slice, struct buf *words)
{
	if (slice->flags & HISTORY_ROW)
		buf_put_text(words, "waiting for a row lock");
	else if (slice->flags & HISTORY_TABLE)
		buf_put_text(words, "waiting for a table lock");
	else if (slice->flags & HISTORY_SAFEPOINT)
		buf_put_text(words, "waiting until all threads have stopped");
	else if (slice->flags & (HISTORY_FUSE | HISTORY_BY_PROCESS))
		buf_printf(words, "waiting for %s in %s",
			   slice->flags & HISTORY_FUSE ? "the daemon of a FUSE file system"
						       : "the process that serves a file",
			   explain_call(e, slice));
	else if (slice->flags & HISTORY_UPLOAD)
		buf_printf(words,
			   "waiting for the rest of its request (%s), which the client "
			   "sends slowly,",
			   explain_call(e, slice));
	else if (slice->flags & HISTORY_CLIENT_READ)
		buf_put_text(words, part->holds ? "idle in transaction: waiting for the next "
						  "command of its client"
						: "waiting for the next command of its client");
	else if (slice->flags & HISTORY_CLIENT_WRITE)
		buf_put_text(words, "sending to a client that reads slowly");
	else
		return false;
	if (!(slice->flags & (HISTORY_ROW | HISTORY_TABLE)) && slice->object) {
		buf_put_text(words, slice->flags & OF_CLIENT ? " on " : " of ");
		object_words(e, slice, words);
	}
	if (slice->flags & OF_CLIENT)
		peer_words(e, part, words);
	return true;
}

static void wait_part_words(struct explainer *e, const struct explain_part *part,
			    const struct slice *slice, struct buf *words)
{
	enum wait_class class = slice_wait_class(part->kind);

	if (slice->state == FILM_WAIT_GOROUTINE) {
		lane_words(e, part, slice, words);
	} else if (put_role(e, part, slice, words)) {
		/* where in the database, or in the kernel, says no more */
		return;
	} else if (explain_put_works(e, part, words)) {
		place_words(e, part->stack, words);
		return;
	} else if (class == WAIT_LOCK) {
		buf_put_text(words, "waiting");
		place_words(e, part->stack, words);
		buf_put_text(words, " for ");
		if (explain_is_safepoint(e, part))
			buf_put_text(words, "a pause of the Java virtual machine,");
		else
			put_lock(e, part, slice, words);
		if (slice->flags & HISTORY_ACCEPTS)
			buf_put_text(words, ", its turn to wait for the next connection");
		return;
	} else if (slice->flags & HISTORY_NAMES) {
		buf_printf(words, "waiting for the answer of name server %s (%s)",
			   explain_name_server(object_name(e->film, slice->object)),
			   explain_call(e, slice));
		peer_words(e, part, words);
	} else if (class == WAIT_DISK && *object_disk(e->film, slice->object)) {
		buf_printf(words, "waiting for disk %s in %s of ",
			   object_disk(e->film, slice->object), explain_call(e, slice));
		object_words(e, slice, words);
	} else if (slice->object) {
		buf_printf(words, objects[class] ? objects[class] : "waiting in %s for ",
			   explain_call(e, slice));
		object_words(e, slice, words);
		peer_words(e, part, words);
	} else if (class == WAIT_FAULT && slice->flags & FILM_WAIT_IOWAIT) {
		buf_put_text(words, "waiting for a disk, to read a page of memory");
		if (roles_has(&e->roles, slice->stack, FILM_ROLE_SWAP_IN))
			buf_put_text(words, " back from swap");
	} else if (class == WAIT_IPC) {
		buf_printf(words, "waiting for %s (%s)", ipc_words(slice), explain_call(e, slice));
	} else if (wait_is_by_stack(class, explain_call(e, slice))) {
		buf_printf(words, "%s (%s, as its stack says)",
			   class == WAIT_SLEEP ? "sleeping" : waits[class], explain_call(e, slice));
	} else {
		buf_printf(words, waits[class], explain_call(e, slice));
	}
	place_words(e, part->stack, words);
}

/* Whether another thread than the one that ended the wait had the lock when it began. */
static bool has_other_owner(const struct explain_part *part)
{
	const struct slice_lock *lock = part->lock;

	return lock && lock->holder && part->waker && lock->holder != part->waker &&
	       (lock->sure == FILM_HOLDER_OWNER || lock->sure == FILM_HOLDER_LAST);
}

/* How the thread to which a wait that is followed leads has ended it, or lets it last. */
static const char *link_words(const struct explainer *e, const struct explain_part *part)
{
	const struct slice *slice = explain_part_slice(e, part);
	bool is_holder = part->lock && part->lock->holder == part->waker && part->waker;

	if (slice && slice->flags & HISTORY_SAFEPOINT)
		return ", last ";
	if (part->ended == CRITICAL_OPEN && part->kind == SLICE_WAIT + WAIT_CHILD)
		return ", which had not ended by then: ";
	if (part->ended == CRITICAL_OPEN && part->kind == SLICE_WAIT + WAIT_IPC)
		return ", which had not ended by then; its other end is in ";
	if (part->ended == CRITICAL_OPEN || is_holder)
		return ", held by ";
	if (part->is_call)
		return ", served by ";
	return part->kind == SLICE_WAIT + WAIT_LOCK ? " until a wake by " : ", ended by ";
}

/* Of a wait that is followed. */
static void waker_words(const struct explainer *e, const struct explain_part *part,
			struct buf *words)
{
	if (has_other_owner(part)) {
		buf_put_text(words, ", held by ");
		explain_thread_words(e, part->lock->holder, part->thread, words);
		buf_printf(words, " when %s began, and released by ",
			   part->count == 1 ? "it" : "the longest");
	} else {
		buf_put_text(words, link_words(e, part));
	}
	explain_thread_words(e, part->waker, part->thread, words);
	if (part->is_likely)
		buf_put_text(words, " (most likely)");
}

/* The thread that a wait was for, or what else ended it. */
static void cause_words(const struct explainer *e, const struct explain_part *part,
			struct buf *words)
{
	if (part->queue) {
		buf_put_text(words, ", held by ");
		explain_thread_words(e, part->first_holder, part->thread, words);
		buf_printf(words, " and then by %u thread%s that waited for it, too", part->queue,
			   part->queue == 1 ? "" : "s");
		return;
	}
	if (part->is_followed) {
		waker_words(e, part, words);
		return;
	}
	switch ((enum critical_end)part->ended) {
	case CRITICAL_NETWORK:
		buf_put_text(words, ", ended by the network");
		break;
	case CRITICAL_TIMER:
		if (part->kind != SLICE_WAIT + WAIT_SLEEP)
			buf_put_text(words, ", until its time was over");
		break;
	case CRITICAL_OPEN:
		buf_put_text(words, ", which had not ended by then");
		if (part->lock && part->lock->holder) {
			buf_put_text(words, "; held by ");
			explain_thread_words(e, part->lock->holder, part->thread, words);
		}
		break;
	case CRITICAL_CYCLE:
		buf_put_text(words, part->kind == SLICE_WAIT + WAIT_IPC ? ", its other end is in "
									: ", held by ");
		explain_thread_words(e, part->waker, part->thread, words);
		buf_put_text(words, ": a deadlock, as that one waits for this thread");
		break;
	case CRITICAL_UNFILMED:
		buf_put_text(words, part->lock && part->lock->holder == part->waker
					    ? ", held by "
					    : ", ended by ");
		explain_thread_words(e, part->waker, part->thread, words);
		buf_put_text(words, ", of which the film has no more");
		break;
	case CRITICAL_UNKNOWN:
		buf_put_text(words, ", and what ended it is not known");
		break;
	default:
		break;
	}
}

/* Of a wait for the answer to a request that was made. */
static void answer_words(struct explainer *e, const struct explain_part *part, struct buf *words)
{
	buf_printf(words, "waiting for the answer of %s to %s", part->made->peer,
		   part->made->endpoint);
	if (explain_part_slice(e, part))
		place_words(e, part->stack, words);
	if (part->is_followed)
		cause_words(e, part, words);
}

/* Of an event loop that took the result of a task from another thread. */
static void passed_on_words(const struct explainer *e, const struct explain_part *part,
			    struct buf *words)
{
	buf_put_text(words, "until ");
	explain_thread_words(e, part->waker, part->thread, words);
	buf_printf(words, " woke the event loop (%s), most likely with the result",
		   explain_call(e, explain_part_slice(e, part)));
}

/* Of a wait of an event loop that served others, too. */
static void shared_words(struct explainer *e, const struct explain_part *part, struct buf *words)
{
	buf_printf(words, "waiting for new events (%s)",
		   explain_call(e, explain_part_slice(e, part)));
	place_words(e, part->stack, words);
	buf_put_text(words, ", of any of its requests: what this one waited for is not known");
}

void explain_part_words(struct explainer *e, const struct explain_part *part, struct buf *words)
{
	const struct slice *slice = explain_part_slice(e, part);

	if (part->is_in_queue) {
		explain_thread_words(e, part->thread, part->thread, words);
		buf_put_text(words, ": ");
	}
	if (part->is_queue) {
		buf_put_text(words, part->is_of_connection ? "" : "queued: ");
		explain_thread_words(e, part->thread, part->thread, words);
		buf_printf(words, " served %llu request%s %s", (unsigned long long)part->count,
			   part->count == 1 ? "" : "s",
			   part->is_of_connection ? "of the same connection before" : "before it");
		if (part->before)
			buf_printf(words, ", %s%s", part->count == 1 ? "" : "the longest ",
				   endpoint_of(e, part->before));
		return;
	}
	switch ((enum critical_end)part->ended) {
	case CRITICAL_EARLIER:
		buf_put_text(words, "before it had this work: not explained");
		return;
	case CRITICAL_ABSENT:
		buf_put_text(words, "the film does not have it then: not explained");
		return;
	case CRITICAL_HOLE:
		buf_put_text(words, "not explained: its records were lost");
		return;
	case CRITICAL_SENT:
		buf_put_text(words, "sent, and not received yet");
		return;
	case CRITICAL_ANSWERED:
		buf_put_text(words, "answered, and the answer not received yet");
		return;
	case CRITICAL_UNLINKED:
		explain_thread_words(e, part->thread, 0, words);
		buf_put_text(words,
			     " worked for it, and for others: not told apart, not explained");
		return;
	default:
		break;
	}
	if (part->made) {
		answer_words(e, part, words);
		return;
	}
	if (part->is_passed_on) {
		passed_on_words(e, part, words);
		return;
	}
	if (part->is_made) {
		buf_put_text(words, "until it was made by ");
		explain_thread_words(e, part->waker, part->thread, words);
		return;
	}
	if (!slice || part->kind == SLICE_HOLE)
		return;
	if (part->ended == CRITICAL_RUNNING) {
		buf_put_text(words, "a thread worked for it, on CPU or not: the film does not have "
				    "what that thread did (record with -e threads)");
		return;
	}
	if (part->is_reclaim) {
		explain_reclaim_words(e, part, words);
		return;
	}
	if (part->kind == SLICE_ON_CPU) {
		buf_put_text(words, "on CPU");
		explain_function_words(e, part, words);
		return;
	}
	if (!slice_is_wait(part->kind)) {
		explain_ready_words(e, part, slice, words);
		return;
	}
	if (part->ended == CRITICAL_SHARED) {
		shared_words(e, part, words);
		return;
	}
	if (part->ended == CRITICAL_IDLE && part->parent && !part->is_in_call && !part->holds)
		buf_put_text(words, "it had no work yet: ");
	wait_part_words(e, part, slice, words);
	cause_words(e, part, words);
}
