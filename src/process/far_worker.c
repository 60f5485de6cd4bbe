// SPDX-License-Identifier: Apache-2.0
#include "process/far_worker.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define STACK_BYTES (128 * 1024)

int far_open_place(int place, struct stat *st)
{
	char path[32];
	int fd;

	/* what is not a regular file is never opened: a device could do something */
	if (fstat(place, st))
		return -errno;
	if (!S_ISREG(st->st_mode))
		return -ENXIO;
	/* O_NONBLOCK: a lease on the file must not make us wait for its holder */
	snprintf(path, sizeof(path), "/proc/self/fd/%d", place);
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	return fd < 0 ? -errno : fd;
}

static int64_t walk(int root, const struct far_order *order)
{
	struct open_how how = {.flags = order->flags, .resolve = order->resolve};
	int fd = (int)syscall(SYS_openat2, root, order->path, &how, sizeof(how));

	return fd < 0 ? -errno : fd;
}

static int64_t read_memory(const struct far_order *order, void *to)
{
	struct iovec here = {to, order->size < FAR_BYTES_MAX ? order->size : FAR_BYTES_MAX};
	struct iovec there = {(void *)(uintptr_t)order->address, here.iov_len};
	ssize_t got = process_vm_readv(order->pid, &here, 1, &there, 1, 0);

	return got < 0 ? -errno : got;
}

static int64_t read_file(int fd, const struct far_request *asked, void *to)
{
	size_t count = asked->count < FAR_BYTES_MAX ? asked->count : FAR_BYTES_MAX;
	ssize_t got = pread(fd, to, count, (off_t)asked->offset);

	return got < 0 ? -errno : got;
}

/* Asks the server also where the kernel could answer. */
static int64_t check(int fd)
{
	struct statx unused;

	return statx(fd, "", AT_EMPTY_PATH | AT_STATX_FORCE_SYNC, STATX_BASIC_STATS, &unused)
		       ? -errno
		       : 0;
}

static void work(struct far_job *job)
{
	switch (job->kind) {
	case FAR_JOB_OPEN:
		job->result = far_open_place(job->at, &job->st);
		break;
	case FAR_JOB_WALK:
		job->result = walk(job->at, &job->order);
		break;
	case FAR_JOB_MEMORY:
		job->result = read_memory(&job->order, job->bytes);
		break;
	case FAR_JOB_READ:
		job->result = read_file(job->at, &job->asked, job->bytes);
		break;
	case FAR_JOB_STAT:
		job->result = fstat(job->at, &job->st) ? -errno : 0;
		break;
	case FAR_JOB_CHECK:
		job->result = check(job->at);
		break;
	case FAR_JOB_CLOSE:
		job->result = close(job->at) ? -errno : 0;
		break;
	}
}

/* What was opened for an answer that is not awaited any more: to close it may take as long. */
static bool has_leftover(const struct far_worker *worker)
{
	const struct far_job *job = &worker->job;

	return worker->given_up && job->result >= 0 &&
	       (job->kind == FAR_JOB_OPEN || job->kind == FAR_JOB_WALK);
}

static void *run(void *context)
{
	struct far_worker *worker = context;
	struct far_workers *all = worker->of;
	const uint64_t one = 1;

	pthread_mutex_lock(&all->mutex);
	for (;;) {
		while (worker->state != FAR_WORKING)
			pthread_cond_wait(&worker->wake, &all->mutex);
		pthread_mutex_unlock(&all->mutex);
		work(&worker->job);
		pthread_mutex_lock(&all->mutex);
		if (has_leftover(worker)) {
			pthread_mutex_unlock(&all->mutex);
			close((int)worker->job.result);
			worker->job.result = -ETIMEDOUT;
			pthread_mutex_lock(&all->mutex);
		}
		worker->state = FAR_DONE;
		(void)!write(all->ready, &one, sizeof(one));
	}
	return NULL;
}

int far_workers_begin(struct far_workers *workers)
{
	workers->ready = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (workers->ready < 0)
		return -errno;
	return -pthread_mutex_init(&workers->mutex, NULL);
}

static struct far_worker *add(struct far_workers *workers)
{
	struct far_worker *worker = calloc(1, sizeof(*worker));
	pthread_attr_t attributes;
	int err;

	if (!worker || pthread_attr_init(&attributes)) {
		free(worker);
		return NULL;
	}
	worker->of = workers;
	pthread_cond_init(&worker->wake, NULL);
	pthread_attr_setstacksize(&attributes, STACK_BYTES);
	err = pthread_create(&worker->thread, &attributes, run, worker);
	pthread_attr_destroy(&attributes);
	if (err) {
		pthread_cond_destroy(&worker->wake);
		free(worker);
		return NULL;
	}
	workers->at[workers->count++] = worker;
	return worker;
}

struct far_worker *far_workers_idle(struct far_workers *workers)
{
	struct far_worker *found = NULL;

	pthread_mutex_lock(&workers->mutex);
	for (size_t i = 0; i < workers->count && !found; i++)
		if (workers->at[i]->state == FAR_IDLE)
			found = workers->at[i];
	pthread_mutex_unlock(&workers->mutex);
	return found || workers->count == FAR_WORKERS ? found : add(workers);
}

void far_worker_start(struct far_worker *worker)
{
	pthread_mutex_lock(&worker->of->mutex);
	worker->given_up = false;
	worker->state = FAR_WORKING;
	pthread_cond_signal(&worker->wake);
	pthread_mutex_unlock(&worker->of->mutex);
}

bool far_worker_is_done(struct far_worker *worker)
{
	bool is_done;

	pthread_mutex_lock(&worker->of->mutex);
	is_done = worker->state == FAR_DONE;
	pthread_mutex_unlock(&worker->of->mutex);
	return is_done;
}

bool far_worker_abandon(struct far_worker *worker)
{
	bool is_late;

	pthread_mutex_lock(&worker->of->mutex);
	is_late = worker->state == FAR_WORKING;
	worker->given_up |= is_late;
	pthread_mutex_unlock(&worker->of->mutex);
	return is_late;
}
