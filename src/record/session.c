// SPDX-License-Identifier: Apache-2.0
#include "record/session.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/privileges.h"
#include "base/thread.h"

/* How often rings are drained when nothing asks for it sooner. */
#define DRAIN_NS 250000000ull

/*
 * A command is looked at as often as that in its first moments: what it maps then is what its first
 * stacks go through.
 */
#define BEGIN_NS 300000000ull
#define BEGIN_MS 4

/* What has woken is followed by more that does not wake (BPF_RB_NO_WAKEUP), at first. */
#define FOLLOW_MS 3

/* What a wake-up is about; the descriptor stands beside it. */
enum {
	WAKE_CAMERA,
	WAKE_TICK,
	WAKE_END,
	WAKE_TARGET
};

/*
 * The thread that hears of the end, however busy the one that reads records is: it notes the moment
 * for the probes. What it has heard it leaves here, and then it ends.
 */
struct ender {
	struct camera *camera;
	pthread_t thread;
	bool runs;
	int signals, command; /* a signalfd, and a pidfd; -1: there is no command */
	int stop;	      /* an eventfd: nothing is to be heard of any more */
	int heard;	      /* an eventfd, written to when all below is filled */
	int signal;	      /* 0: the command has ended */
};

struct watch {
	struct ender ender;
	int epoll, tick;
	size_t targets; /* processes of -p that still live */
	uint64_t begun; /* when the command was let go; 0: there is none */
	uint64_t until; /* when the recording ends; 0: when it is stopped */
	uint64_t read;	/* records have been read up to this moment */
	bool end;
	bool woken; /* by records: it looks again soon */
};

static int watch_fd(struct watch *watch, int fd, uint32_t about)
{
	struct epoll_event event = {.events = EPOLLIN, .data.u64 = (uint64_t)fd << 32 | about};

	return epoll_ctl(watch->epoll, EPOLL_CTL_ADD, fd, &event) ? -errno : 0;
}

/* A recording of named processes ends with the last of them. */
static int watch_targets(struct watch *watch, const struct selection *selection)
{
	for (size_t i = 0; i < selection->pid_count; i++) {
		int fd = selection->pidfds[i], err;

		/* there was no descriptor left for it, before the limit was raised */
		if (fd < 0)
			fd = selection->pidfds[i] =
				(int)syscall(SYS_pidfd_open, selection->pids[i], 0);
		/* it has ended since it was named, and no event will tell of that */
		if (fd < 0 && errno == ESRCH)
			continue;
		err = fd < 0 ? -errno : watch_fd(watch, fd, WAKE_TARGET);
		if (err)
			return err;
		watch->targets++;
	}
	watch->end = selection->pid_count && !watch->targets;
	return 0;
}

static void *await_end(void *context)
{
	struct ender *ender = context;
	struct pollfd fds[] = {{.fd = ender->stop, .events = POLLIN},
			       {.fd = ender->signals, .events = POLLIN},
			       {.fd = ender->command, .events = POLLIN}};
	struct signalfd_siginfo info;

	pthread_setname_np(pthread_self(), "end");
	/* all that it needs is open */
	privileges_drop_here();
	while (poll(fds, sizeof(fds) / sizeof(fds[0]), -1) < 0 && errno == EINTR)
		;
	if (fds[0].revents)
		return NULL;
	/* threads of a process that has ended have their last switches before them */
	if (fds[2].revents && !fds[1].revents)
		camera_await_probes();
	camera_end_at(ender->camera, clock_ns());
	if (fds[1].revents && read(ender->signals, &info, sizeof(info)) == sizeof(info))
		ender->signal = (int)info.ssi_signo;
	eventfd_write(ender->heard, 1);
	return NULL;
}

/* The thread inherits that these signals are blocked. */
static int ender_start(struct ender *ender, const struct session *session)
{
	sigset_t stop;
	int err;

	sigemptyset(&stop);
	sigaddset(&stop, SIGINT);
	sigaddset(&stop, SIGTERM);
	sigaddset(&stop, SIGHUP);
	sigprocmask(SIG_BLOCK, &stop, NULL);
	ender->camera = session->camera;
	ender->command = session->command ? session->command->pidfd : -1;
	ender->signals = signalfd(-1, &stop, SFD_CLOEXEC | SFD_NONBLOCK);
	ender->stop = eventfd(0, EFD_CLOEXEC);
	ender->heard = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (ender->signals < 0 || ender->stop < 0 || ender->heard < 0)
		return -errno;
	err = thread_spawn(&ender->thread, await_end, ender);
	ender->runs = !err;
	return err;
}

static void ender_stop(struct ender *ender)
{
	const int fds[] = {ender->signals, ender->stop, ender->heard};

	if (ender->runs) {
		eventfd_write(ender->stop, 1);
		pthread_join(ender->thread, NULL);
	}
	for (size_t i = 0; i < sizeof(fds) / sizeof(fds[0]); i++)
		if (fds[i] >= 0)
			close(fds[i]);
}

static int watch_open(struct watch *watch, const struct session *session, struct fail *why)
{
	struct itimerspec every = {{0, (long)DRAIN_NS}, {0, (long)DRAIN_NS}};
	int err = ender_start(&watch->ender, session);

	if (err)
		return fail_errno(why, err, NULL, "cannot wait for the end");
	watch->epoll = epoll_create1(EPOLL_CLOEXEC);
	watch->tick = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (watch->epoll < 0 || watch->tick < 0 || timerfd_settime(watch->tick, 0, &every, NULL))
		return fail_errno(why, -errno, NULL, "cannot wait for samples");
	err = watch_fd(watch, camera_fd(session->camera), WAKE_CAMERA);
	if (!err)
		err = watch_fd(watch, watch->tick, WAKE_TICK);
	if (!err)
		err = watch_fd(watch, watch->ender.heard, WAKE_END);
	if (err)
		return fail_errno(why, err, NULL, "cannot wait for samples");
	err = watch_targets(watch, session->selection);
	return err ? fail_errno(why, err, NULL, "cannot wait for the end of processes") : 0;
}

static void watch_close(struct watch *watch)
{
	if (watch->epoll >= 0)
		close(watch->epoll);
	if (watch->tick >= 0)
		close(watch->tick);
	ender_stop(&watch->ender);
}

static void end_session(struct session *session, struct watch *watch)
{
	session->stopped_by = watch->ender.signal;
	watch->end = true;
	/*
	 * a Ctrl-C reached the command by itself; what was sent to the recorder alone is passed on
	 */
	if (session->command && session->command->pid && session->stopped_by &&
	    session->stopped_by != SIGINT)
		kill(session->command->pid, session->stopped_by);
}

static void handle_wake(struct session *session, struct watch *watch, uint64_t data)
{
	uint64_t ticks;

	switch ((uint32_t)data) {
	case WAKE_TICK:
		if (read(watch->tick, &ticks, sizeof(ticks)) < 0 && errno != EAGAIN)
			watch->end = true;
		break;
	case WAKE_END:
		end_session(session, watch);
		break;
	case WAKE_TARGET:
		epoll_ctl(watch->epoll, EPOLL_CTL_DEL, (int)(data >> 32), NULL);
		watch->end |= !--watch->targets && !session->command;
		break;
	case WAKE_CAMERA:
		watch->woken = true;
		break;
	default:
		break;
	}
}

/* ms to wait for what happens next: until the recording ends at most; -1: as long as it takes. */
static int patience(const struct watch *watch, bool begins, uint64_t now)
{
	uint64_t left = watch->until > now ? (watch->until - now) / MS_NS + 1 : 0;
	int soon = watch->woken ? FOLLOW_MS : begins ? BEGIN_MS : -1;

	if (!watch->until || left > DRAIN_NS / MS_NS)
		return soon;
	return soon >= 0 && left > (uint64_t)soon ? soon : (int)left;
}

static int wait_and_drain(struct session *session, struct watch *watch, struct fail *why)
{
	struct epoll_event events[8];
	uint64_t now = clock_ns();
	bool begins = watch->begun && now - watch->begun < BEGIN_NS;
	int n = epoll_wait(watch->epoll, events, 8, patience(watch, begins, now)), i, err;

	if (n < 0 && errno != EINTR)
		return fail_errno(why, -errno, NULL, "cannot wait for samples");
	watch->woken = false;
	for (i = 0; i < n; i++)
		handle_wake(session, watch, events[i].data.u64);
	now = clock_ns();
	err = camera_drain(session->camera, why);
	watch->read = now;
	if (!err && begins)
		camera_follow_begin(session->camera);
	return err;
}

int session_run(struct session *session, struct fail *why)
{
	struct watch watch = {.epoll = -1,
			      .tick = -1,
			      .ender = {.signals = -1, .command = -1, .stop = -1, .heard = -1}};
	uint64_t start, limit = (uint64_t)(session->seconds * 1e9), told;
	struct fail ignored;
	int err;

	err = watch_open(&watch, session, why);
	if (!err && session->selection->command)
		err = camera_add_process(session->camera, session->command->pid, why);
	if (session->selection->command)
		camera_expect(session->camera, session->argv);
	if (!err)
		err = camera_start(session->camera, session->film, why);
	/* a reader of the film sees that it is recorded from here on */
	if (!err)
		err = film_commit(session->film, clock_ns(), false, why);
	if (!err && session->begun)
		session->begun(session->context);
	if (!err && session->command) {
		err = command_go(session->command, session->argv, why);
		watch.begun = clock_ns();
	}
	/* to set the probes takes its time, and is not a part of what was asked for */
	start = told = session->command ? clock_ns() : camera_begun(session->camera);
	watch.until = limit ? start + limit : 0;
	if (limit)
		camera_end_at(session->camera, watch.until);
	while (!err && !watch.end && (!limit || clock_ns() < watch.until)) {
		err = wait_and_drain(session, &watch, why);
		watch.end |= session->is_done && session->is_done(session->context);
		if (session->progress && clock_ns() - told >= SECOND_NS) {
			told = clock_ns();
			session->progress(session->context, watch.read - start);
		}
	}
	/* after an error there is still something to be saved, but its words count */
	if (err)
		camera_stop(session->camera, &ignored);
	else
		err = camera_stop(session->camera, why);
	session->ended = camera_stopped(session->camera);
	session->elapsed_ns = session->ended > start ? session->ended - start : 0;
	watch_close(&watch);
	return err;
}
