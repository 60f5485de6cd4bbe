// SPDX-License-Identifier: Apache-2.0
#include "process/far_helper.h"

#include <errno.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/clock.h"
#include "process/far_worker.h"

/* One file that is open for the recorder. */
struct far_file {
	int socket; /* -1: the recorder has closed it */
	int fd, place;
	uint64_t device;
	bool is_busy;	       /* a worker has it */
	struct far_file *next; /* in the list of those that are to be closed */
	char path[sizeof(((struct far_slot *)0)->path)];
};

struct far_helper {
	struct far_board *board;
	struct far_workers workers;
	int control, poll;
	struct far_file *closing;
};

static bool is_hung(const struct far_helper *helper, uint64_t device)
{
	const struct far_board *board = helper->board;

	for (size_t i = 0; i < helper->workers.count; i++)
		if (atomic_load(&board->slots[i].since) && board->slots[i].device == device)
			return true;
	return false;
}

/* -- answers ---------------------------------------------------------------------------------- */

static void answer_order(struct far_helper *helper, uint64_t number, int64_t result,
			 const struct stat *st, void *bytes, const int *fd)
{
	struct far_done done = {.number = number, .result = result};
	const struct iovec parts[] = {{&done, sizeof(done)},
				      {bytes, bytes && result > 0 ? (size_t)result : 0}};

	if (st)
		done.st = *st;
	(void)far_send(helper->control, parts, 2, fd, fd ? 1 : 0);
}

static void answer_file(struct far_file *file, uint64_t number, int64_t result, void *bytes,
			const int *fd)
{
	struct far_answer answer = {number, result};
	const struct iovec parts[] = {{&answer, sizeof(answer)},
				      {bytes, bytes && result > 0 ? (size_t)result : 0}};

	if (file->socket >= 0)
		(void)far_send(file->socket, parts, 2, fd, fd ? 1 : 0);
}

/* It may ask its next question. */
static void listen_to(struct far_helper *helper, struct far_file *file, int operation)
{
	struct epoll_event event = {.events = EPOLLIN | EPOLLONESHOT, .data.ptr = file};

	if (file->socket >= 0)
		epoll_ctl(helper->poll, operation, file->socket, &event);
}

static void free_file(struct far_file *file)
{
	if (file->socket >= 0)
		close(file->socket);
	close(file->place); /* of O_PATH: nothing is waited for */
	free(file);
}

/* The recorder has closed it; the file itself is closed where it may take long. */
static void put_away(struct far_helper *helper, struct far_file *file)
{
	close(file->socket);
	file->socket = -1;
	file->next = helper->closing;
	helper->closing = file;
}

/* -- jobs ------------------------------------------------------------------------------------- */

static const char *path_of(const struct far_job *job)
{
	return job->file ? job->file->path : job->order.path;
}

/* Gives a worker a job, or says at once why there is none. */
static struct far_worker *begin(struct far_helper *helper, enum far_job_kind kind, uint64_t device,
				int64_t *refusal)
{
	bool hangs = is_hung(helper, device);
	struct far_worker *worker = hangs ? NULL : far_workers_idle(&helper->workers);

	*refusal = hangs ? -ETIMEDOUT : -EBUSY;
	if (!worker) {
		helper->board->refused += kind != FAR_JOB_CLOSE;
		return NULL;
	}
	worker->job.kind = kind;
	worker->job.file = NULL;
	worker->job.deadline = clock_ns() + FAR_LIMIT_NS;
	worker->job.order.device = device;
	return worker;
}

/* What was opened, or could not be. */
static void finish_open(struct far_helper *helper, struct far_job *job, bool is_late)
{
	struct far_file *file = job->file;
	int64_t result = job->result;

	if (!is_late)
		answer_order(helper, job->number, result < 0 ? result : 0, &job->st, NULL, NULL);
	if (result < 0 || is_late) {
		free_file(file);
		return;
	}
	file->fd = (int)result;
	listen_to(helper, file, EPOLL_CTL_ADD);
}

static void finish_walk(struct far_helper *helper, struct far_job *job, bool is_late)
{
	int fd = (int)job->result;

	close(job->at);
	if (is_late)
		return;
	answer_order(helper, job->number, fd < 0 ? fd : 0, NULL, NULL, fd < 0 ? NULL : &fd);
	if (fd >= 0)
		close(fd);
}

static void finish_file(struct far_helper *helper, struct far_job *job, bool is_late)
{
	struct far_file *file = job->file;
	bool is_stat = job->kind == FAR_JOB_STAT && !job->result;

	file->is_busy = false;
	if (is_late)
		return;
	if (is_stat)
		job->result = sizeof(job->st);
	answer_file(file, job->number, job->result, is_stat ? (void *)&job->st : job->bytes, NULL);
	listen_to(helper, file, EPOLL_CTL_MOD);
}

static void finish(struct far_helper *helper, size_t number)
{
	struct far_worker *worker = helper->workers.at[number];
	struct far_slot *slot = &helper->board->slots[number];
	bool is_late = worker->given_up;
	struct far_job *job = &worker->job;

	if (is_late) {
		atomic_store(&slot->since, 0);
		helper->board->returns++;
	}
	switch (job->kind) {
	case FAR_JOB_OPEN:
		finish_open(helper, job, is_late);
		break;
	case FAR_JOB_WALK:
		finish_walk(helper, job, is_late);
		break;
	case FAR_JOB_MEMORY:
		if (!is_late)
			answer_order(helper, job->number, job->result, NULL, job->bytes, NULL);
		break;
	case FAR_JOB_CLOSE:
		free_file(job->file);
		break;
	default:
		finish_file(helper, job, is_late);
	}
	worker->state = FAR_IDLE;
}

/* Its question is answered without it, and its file system is asked no more until it is back. */
static void abandon(struct far_helper *helper, size_t number)
{
	struct far_worker *worker = helper->workers.at[number];
	struct far_slot *slot = &helper->board->slots[number];
	struct far_job *job = &worker->job;

	if (!far_worker_abandon(worker))
		return;
	slot->device = job->order.device;
	snprintf(slot->path, sizeof(slot->path), "%.*s", (int)sizeof(slot->path) - 1, path_of(job));
	atomic_store(&slot->since, job->deadline - FAR_LIMIT_NS);
	helper->board->hangs++;
	helper->board->refused += job->kind != FAR_JOB_CLOSE;
	switch (job->kind) {
	case FAR_JOB_OPEN:
	case FAR_JOB_WALK:
	case FAR_JOB_MEMORY:
		answer_order(helper, job->number, -ETIMEDOUT, NULL, NULL, NULL);
		break;
	case FAR_JOB_CLOSE:
		break;
	default:
		answer_file(job->file, job->number, -ETIMEDOUT, NULL, NULL);
		listen_to(helper, job->file, EPOLL_CTL_MOD);
	}
}

static void close_files(struct far_helper *helper)
{
	struct far_file **at = &helper->closing, *file;

	while ((file = *at)) {
		int64_t refusal;
		struct far_worker *worker =
			file->is_busy ? NULL : begin(helper, FAR_JOB_CLOSE, file->device, &refusal);

		if (!worker) {
			at = &file->next;
			continue;
		}
		*at = file->next;
		worker->job.file = file;
		worker->job.at = file->fd;
		far_worker_start(worker);
	}
}

/* -- questions -------------------------------------------------------------------------------- */

static void handle_open(struct far_helper *helper, const struct far_order *order, const int *fds)
{
	struct far_file *file = calloc(1, sizeof(*file));
	struct far_worker *worker = NULL;
	int64_t refusal = -ENOMEM;

	if (file)
		worker = begin(helper, FAR_JOB_OPEN, order->device, &refusal);
	if (!worker) {
		free(file);
		close(fds[0]);
		close(fds[1]);
		answer_order(helper, order->number, refusal, NULL, NULL, NULL);
		return;
	}
	*file = (struct far_file){
		.place = fds[0], .socket = fds[1], .fd = -1, .device = order->device};
	snprintf(file->path, sizeof(file->path), "%.*s", (int)sizeof(file->path) - 1, order->path);
	worker->job.number = order->number;
	worker->job.file = file;
	worker->job.at = file->place;
	far_worker_start(worker);
}

static void handle_other(struct far_helper *helper, enum far_job_kind kind,
			 const struct far_order *order, int fd)
{
	int64_t refusal;
	struct far_worker *worker = begin(helper, kind, order->device, &refusal);

	if (!worker) {
		if (fd >= 0)
			close(fd);
		answer_order(helper, order->number, refusal, NULL, NULL, NULL);
		return;
	}
	worker->job.number = order->number;
	worker->job.order = *order;
	worker->job.at = fd;
	far_worker_start(worker);
}

/* A question of the control socket; when that is closed, the recorder has ended. */
static void handle_order(struct far_helper *helper)
{
	struct far_order order;
	const struct iovec part = {&order, sizeof(order)};
	int fds[2];
	size_t count;
	ssize_t got = far_receive(helper->control, &part, 1, fds, 2, &count);

	if (got <= (ssize_t)offsetof(struct far_order, path))
		_exit(0);
	((char *)&order)[got - 1] = 0;
	if (order.verb == FAR_OPEN && count == 2)
		handle_open(helper, &order, fds);
	else if (order.verb == FAR_WALK && count == 1)
		handle_other(helper, FAR_JOB_WALK, &order, fds[0]);
	else if (order.verb == FAR_MEMORY && !count)
		handle_other(helper, FAR_JOB_MEMORY, &order, -1);
	else
		_exit(1);
}

static void handle_file_request(struct far_helper *helper, struct far_file *file,
				const struct far_request *request)
{
	static const enum far_job_kind kinds[] = {
		[FAR_READ] = FAR_JOB_READ,
		[FAR_STAT] = FAR_JOB_STAT,
		[FAR_CHECK] = FAR_JOB_CHECK,
	};
	struct far_worker *worker = NULL;
	int64_t refusal = -EINVAL;

	if (request->verb >= FAR_READ && request->verb <= FAR_CHECK)
		worker = begin(helper, kinds[request->verb], file->device, &refusal);
	if (!worker) {
		if (request->verb == FAR_PLACE)
			answer_file(file, request->number, 0, NULL, &file->place);
		else
			answer_file(file, request->number, refusal, NULL, NULL);
		listen_to(helper, file, EPOLL_CTL_MOD);
		return;
	}
	file->is_busy = true;
	worker->job.number = request->number;
	worker->job.asked = *request;
	worker->job.file = file;
	worker->job.at = file->fd;
	far_worker_start(worker);
}

static void handle_file(struct far_helper *helper, struct far_file *file)
{
	struct far_request request;
	const struct iovec part = {&request, sizeof(request)};
	size_t count;
	ssize_t got = far_receive(file->socket, &part, 1, NULL, 0, &count);

	if (got == sizeof(request))
		handle_file_request(helper, file, &request);
	else
		put_away(helper, file);
}

/* -- the loop --------------------------------------------------------------------------------- */

/* Milliseconds until the next question is left unanswered; -1: none is open. */
static int time_left(const struct far_helper *helper)
{
	uint64_t now = clock_ns(), next = UINT64_MAX;

	for (size_t i = 0; i < helper->workers.count; i++) {
		const struct far_worker *worker = helper->workers.at[i];

		if (worker->state != FAR_IDLE && !worker->given_up && worker->job.deadline < next)
			next = worker->job.deadline;
	}
	if (next == UINT64_MAX)
		return -1;
	return next > now ? (int)((next - now) / 1000000) + 1 : 0;
}

static void look_at_workers(struct far_helper *helper)
{
	uint64_t now = clock_ns(), count;

	(void)!read(helper->workers.ready, &count, sizeof(count));
	for (size_t i = 0; i < helper->workers.count; i++) {
		struct far_worker *worker = helper->workers.at[i];

		if (worker->state == FAR_IDLE)
			continue;
		if (far_worker_is_done(worker))
			finish(helper, i);
		else if (!worker->given_up && now >= worker->job.deadline)
			abandon(helper, i);
	}
}

static void handle_events(struct far_helper *helper, const struct epoll_event *events, int count)
{
	for (int i = 0; i < count; i++) {
		if (events[i].data.ptr == helper)
			handle_order(helper);
		else if (events[i].data.ptr)
			handle_file(helper, events[i].data.ptr);
	}
}

void far_helper_run(int control, struct far_board *board)
{
	struct far_helper helper = {.board = board, .control = control};
	struct epoll_event event = {.events = EPOLLIN}, events[64];

	helper.poll = epoll_create1(EPOLL_CLOEXEC);
	if (helper.poll < 0 || far_workers_begin(&helper.workers) ||
	    epoll_ctl(helper.poll, EPOLL_CTL_ADD, helper.workers.ready, &event))
		_exit(1);
	event.data.ptr = &helper;
	if (epoll_ctl(helper.poll, EPOLL_CTL_ADD, control, &event))
		_exit(1);
	for (;;) {
		int count = epoll_wait(helper.poll, events, 64, time_left(&helper));

		if (count < 0 && errno != EINTR)
			_exit(1);
		handle_events(&helper, events, count);
		look_at_workers(&helper);
		close_files(&helper);
	}
}
