// SPDX-License-Identifier: Apache-2.0
/*
 * The attach mechanism as its two ends in OpenJDK have it:
 * src/jdk.attach/linux/classes/sun/tools/attach/VirtualMachineImpl.java and
 * src/hotspot/os/posix/attachListener_posix.cpp. A request is the version of the protocol, the
 * command and three arguments, each ended by a zero byte; the answer is lines of text, of which the
 * first is 0 if the command could be executed.
 */
#include "runtime/hotspot/attach.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "process/procfs.h"

#define STATUS_MAX 65536
#define TEXT_MAX   (1u << 20)
#define ANSWER_MAX 4096

/* How long a JVM may take to open its socket, and to load the agent. */
#define PATIENCE_NS 5000000000ull

/* A JVM that gets a request. */
struct asked {
	pid_t pid, inner; /* the second: in the JVM's own namespace */
	uid_t user;
	gid_t group;
	int folder;				/* the JVM's /tmp */
	char path[40], trigger[32], socket[80]; /* the folder; the two files, the first in it */
	uint64_t deadline;
};

/* -- what /proc says of a JVM ------------------------------------------------------------------ */

bool hotspot_handles_quit(const char *status)
{
	const char *line = strstr(status, "\nSigCgt:");

	return line && strtoull(line + strlen("\nSigCgt:"), NULL, 16) >> (SIGQUIT - 1) & 1;
}

/* The last number of a line of numbers; 0: there is no such line. */
static unsigned long last_number(const char *text, const char *name)
{
	const char *line = strstr(text, name), *end, *last;

	if (!line)
		return 0;
	line += strlen(name);
	end = line + strcspn(line, "\n");
	for (last = end; last > line && last[-1] != '\t' && last[-1] != ' '; last--)
		;
	return strtoul(last, NULL, 10);
}

/* The second number of the line: the effective one. */
static unsigned int effective(const char *text, const char *name)
{
	const char *line = strstr(text, name);
	unsigned int ids[2] = {0};

	if (!line || sscanf(line + strlen(name), "%u %u", &ids[0], &ids[1]) != 2)
		return UINT_MAX;
	return ids[1];
}

static bool says(pid_t pid, const char *name, const char *words)
{
	struct buf text = {0};
	bool said = false;

	if (!procfs_read(pid, name, TEXT_MAX, &text))
		said = memmem(text.at, text.count, words, strlen(words));
	buf_free(&text);
	return said;
}

/* Fills what is known; status is /proc/PID/status. */
static int look_at(struct asked *asked, const char *status, struct fail *why)
{
	asked->inner = (pid_t)last_number(status, "\nNSpid:");
	asked->user = effective(status, "\nUid:");
	asked->group = effective(status, "\nGid:");
	if (asked->inner <= 0)
		return fail(why, -ESRCH, NULL, "process %d has ended", (int)asked->pid);
	/* a link would lead out of its root directory */
	snprintf(asked->path, sizeof(asked->path), "/proc/%d/root/tmp", (int)asked->pid);
	asked->folder = open(asked->path, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (asked->folder < 0)
		return fail_errno(why, -errno, NULL, "cannot open '%s'", asked->path);
	snprintf(asked->path, sizeof(asked->path), "/proc/self/fd/%d", asked->folder);
	snprintf(asked->trigger, sizeof(asked->trigger), ".attach_pid%d", (int)asked->inner);
	snprintf(asked->socket, sizeof(asked->socket), "%s/.java_pid%d", asked->path,
		 (int)asked->inner);
	/* Java 9 brought the file of modules, which a JVM keeps mapped; an older one has no use
	 * for the agent, and before 8u382 may crash by it */
	if (says(asked->pid, "maps", "/lib/modules\n"))
		return 0;
	/* it maps that while it starts, before it handles the signal */
	if (!hotspot_handles_quit(status))
		return fail(why, -EAGAIN, NULL, "the JVM of process %d has not started",
			    (int)asked->pid);
	return fail(why, -ENOTSUP, NULL, "the JVM of process %d is older than Java 11",
		    (int)asked->pid);
}

/* -- its socket -------------------------------------------------------------------------------- */

/* Returns a descriptor or a negative errno. A file of that name may be another process's. */
static int connect_to(const struct asked *asked)
{
	struct sockaddr_un address = {.sun_family = AF_UNIX};
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0), err;
	const struct timeval patience = {.tv_sec = PATIENCE_NS / 1000000000ull};
	struct ucred peer;
	socklen_t size = sizeof(peer);

	if (fd < 0)
		return -errno;
	strcpy(address.sun_path, asked->socket);
	if (setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)) ||
	    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience)) ||
	    connect(fd, (const struct sockaddr *)&address, sizeof(address)) ||
	    getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size))
		err = -errno;
	else
		err = peer.pid == asked->pid ? 0 : -EPERM;
	if (!err)
		return fd;
	close(fd);
	return err;
}

/* Until something is new in the folder; false: the time is over. */
static bool await_news(int notify, uint64_t deadline)
{
	char news[4096] __attribute__((aligned(8)));
	struct pollfd poll_of = {.fd = notify, .events = POLLIN};
	uint64_t now = clock_ns();

	if (now >= deadline)
		return false;
	if (poll(&poll_of, 1, (int)((deadline - now) / 1000000 + 1)) > 0 &&
	    read(notify, news, sizeof(news)) < 0)
		return false;
	return true;
}

static int await_socket(const struct asked *asked, int notify)
{
	int fd;

	if (kill(asked->pid, SIGQUIT))
		return -errno;
	do
		fd = connect_to(asked);
	while ((fd == -ENOENT || fd == -ECONNREFUSED) && await_news(notify, asked->deadline));
	return fd;
}

/* The JVM takes no other user's, and would print its stacks. Another tool may ask it just now. */
static int make_trigger(const struct asked *asked, bool *is_own)
{
	int fd = openat(asked->folder, asked->trigger,
			O_CREAT | O_EXCL | O_WRONLY | O_NOFOLLOW | O_CLOEXEC, 0600);
	struct stat stat;
	int err = 0;

	*is_own = fd >= 0;
	if (fd < 0 && errno != EEXIST)
		return -errno;
	if (fd >= 0) {
		err = fchown(fd, asked->user, asked->group) ? -errno : 0;
		close(fd);
	} else if (fstatat(asked->folder, asked->trigger, &stat, AT_SYMLINK_NOFOLLOW)) {
		err = -errno;
	} else if (!S_ISREG(stat.st_mode) || stat.st_uid != asked->user) {
		err = -EEXIST;
	}
	return err;
}

/* Has the JVM open its socket: it looks for the file when it gets SIGQUIT. */
static int wake(const struct asked *asked)
{
	int notify = inotify_init1(IN_CLOEXEC), fd;
	bool is_own = false;

	if (notify < 0)
		return -errno;
	if (inotify_add_watch(notify, asked->path, IN_CREATE | IN_ATTRIB | IN_MOVED_TO) < 0)
		fd = -errno;
	else
		fd = make_trigger(asked, &is_own);
	fd = fd ? fd : await_socket(asked, notify);
	if (is_own)
		unlinkat(asked->folder, asked->trigger, 0);
	close(notify);
	return fd;
}

/* Returns a connected socket, or a negative errno with *why filled. */
static int reach(const struct asked *asked, const char *status, struct fail *why)
{
	static const char off[] = "+DisableAttachMechanism";
	int fd = connect_to(asked);

	if (fd >= 0 || (fd != -ENOENT && fd != -ECONNREFUSED))
		goto done;
	if (says(asked->pid, "cmdline", off) || says(asked->pid, "environ", off))
		return fail(why, -EPERM, NULL, "the JVM of process %d was started with -XX:%s",
			    (int)asked->pid, off);
	if (!hotspot_handles_quit(status))
		return fail(why, -EAGAIN, NULL, "the JVM of process %d does not handle SIGQUIT",
			    (int)asked->pid);
	fd = wake(asked);
done:
	if (fd < 0)
		return fail_errno(why, fd, NULL, "the JVM of process %d opens no socket",
				  (int)asked->pid);
	return fd;
}

/* -- the command ------------------------------------------------------------------------------- */

int hotspot_read_answer(const char *text, int *result)
{
	static const char code[] = "return code: ";
	const char *line = strchr(text, '\n');
	char *end;
	long value;

	/* Java 9 and later say the agent's result with words, those before as a number */
	if (strncmp(text, "0\n", 2) != 0)
		return -EPROTO;
	line++;
	if (!strncmp(line, code, sizeof(code) - 1))
		line += sizeof(code) - 1;
	value = strtol(line, &end, 10);
	if (end == line || (*end && *end != '\n') || value < INT_MIN || value > INT_MAX)
		return -EPROTO;
	*result = (int)value;
	return 0;
}

static int send_load(int fd, const char *path, const char *options)
{
	struct buf request = {0};
	ssize_t sent;
	int err = 0;

	/* the third word: the path is absolute */
	buf_printf(&request, "1%cload%c%s%ctrue%c%s%c", 0, 0, path, 0, 0, options, 0);
	if (request.failed)
		err = -ENOMEM;
	for (size_t at = 0; !err && at < request.count; at += (size_t)sent) {
		sent = send(fd, request.at + at, request.count - at, MSG_NOSIGNAL);
		if (sent <= 0) {
			err = sent < 0 ? -errno : -EPIPE;
			break;
		}
	}
	buf_free(&request);
	return err;
}

/* The JVM closes the connection when it has said all. */
static int read_answer(int fd, int *result)
{
	char answer[ANSWER_MAX];
	size_t count = 0;
	ssize_t got;

	while ((got = recv(fd, answer + count, sizeof(answer) - 1 - count, 0)) > 0)
		count += (size_t)got;
	if (got < 0)
		return errno == EAGAIN ? -ETIMEDOUT : -errno;
	answer[count] = 0;
	return hotspot_read_answer(answer, result);
}

/* Is it the same file for the JVM? */
static bool sees(pid_t pid, const char *path)
{
	char there[PATH_MAX + 32];
	struct stat own, its;

	snprintf(there, sizeof(there), "/proc/%d/root%s", (int)pid, path);
	return !stat(path, &own) && !stat(there, &its) && own.st_dev == its.st_dev &&
	       own.st_ino == its.st_ino;
}

int hotspot_load_agent(pid_t pid, const char *path, const char *options, int *result,
		       struct fail *why)
{
	struct asked asked = {.pid = pid, .folder = -1, .deadline = clock_ns() + PATIENCE_NS};
	struct buf status = {0};
	int err = procfs_read(pid, "status", STATUS_MAX, &status), fd;

	if (err) {
		buf_free(&status);
		return fail_errno(why, err, NULL, "cannot read process %d", (int)pid);
	}
	err = look_at(&asked, (const char *)status.at, why);
	if (!err && !sees(pid, path))
		err = fail(why, -ENOENT, NULL,
			   "process %d has another root directory, without '%s'", (int)pid, path);
	fd = err ? err : reach(&asked, (const char *)status.at, why);
	buf_free(&status);
	if (asked.folder >= 0)
		close(asked.folder);
	if (fd < 0)
		return fd;
	err = send_load(fd, path, options);
	err = err ? err : read_answer(fd, result);
	close(fd);
	return err ? fail_errno(why, err, NULL, "the JVM of process %d did not load '%s'", (int)pid,
				path)
		   : 0;
}
