// SPDX-License-Identifier: Apache-2.0
#include "process/far_files.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <linux/openat2.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/child.h"
#include "base/clock.h"
#include "base/far_file.h"
#include "process/far_helper.h"
#include "process/far_worker.h"
#include "process/mounts.h"
#include "process/procfs.h"

/* How long the mounts of another namespace than ours are believed. */
#define MOUNTS_KEPT_NS 1000000000ull

#define REAP_MS	       100
#define MAPS_BYTES_MAX (16 * 1024 * 1024)

struct far_files {
	struct mounts own, others;
	int own_changes; /* mountinfo, to be polled; -1: it is read each time */
	pid_t others_of;
	uint64_t others_read;
	dev_t memory; /* the kernel's own file system for memory that has a file */
	int control;  /* of the helper; -1: there is none */
	pid_t helper;
	struct far_board *board;
};

/* -- mounts ----------------------------------------------------------------------------------- */

static dev_t device_of_memory(void)
{
	int fd = memfd_create("stackcam", MFD_CLOEXEC);
	struct stat st = {0};

	if (fd >= 0 && fstat(fd, &st))
		st.st_dev = 0;
	if (fd >= 0)
		close(fd);
	return st.st_dev;
}

int far_files_new(struct far_files **result)
{
	struct far_files *far = calloc(1, sizeof(*far));

	if (!far)
		return -ENOMEM;
	far->control = far->own_changes = -1;
	far->board = mmap(NULL, sizeof(*far->board), PROT_READ | PROT_WRITE,
			  MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (far->board == MAP_FAILED) {
		free(far);
		return -ENOMEM;
	}
	far->memory = device_of_memory();
	*result = far;
	return 0;
}

/* Our own mounts, as they are now. */
static const struct mounts *own_mounts(struct far_files *far)
{
	struct pollfd changes = {.fd = far->own_changes, .events = POLLPRI};

	if (far->own_changes >= 0 && poll(&changes, 1, 0) == 0)
		return &far->own;
	if (far->own_changes < 0)
		far->own_changes = open("/proc/self/mountinfo", O_RDONLY | O_CLOEXEC);
	(void)mounts_read(&far->own, getpid(), NULL);
	return &far->own;
}

/* Those that a process sees; they may be ours. */
static const struct mounts *mounts_of(struct far_files *far, pid_t pid)
{
	const struct mounts *own = own_mounts(far);
	uint64_t now = clock_ns();

	if (far->others_of != pid || now - far->others_read > MOUNTS_KEPT_NS) {
		if (mounts_read(&far->others, pid, own))
			return own;
		far->others_of = pid;
		far->others_read = now;
	}
	return &far->others;
}

bool far_files_is_far(struct far_files *far, pid_t pid, dev_t device)
{
	const struct mount *mount;

	if (!far || device == far->memory)
		return false;
	mount = mounts_of_device(own_mounts(far), device);
	if (!mount)
		mount = mounts_of_device(mounts_of(far, pid), device);
	/* what is mounted nowhere any more may be anything */
	return !mount || mount->is_far;
}

/* -- the helper ------------------------------------------------------------------------------- */

/* What the recorder shares with the kernel must not live on in a helper that is left behind. */
static void unmap_shared(const struct far_board *board)
{
	struct procfs_mapping mapping;
	struct buf text = {0};
	char *line, *next;

	if (procfs_read_file("/proc/self/maps", MAPS_BYTES_MAX, &text))
		return;
	for (line = (char *)text.at; *line; line = next) {
		next = strchr(line, '\n');
		next = next ? next + 1 : line + strlen(line);
		if (procfs_parse_mapping(line, &mapping) && mapping.shared &&
		    mapping.start != (uintptr_t)board)
			munmap((void *)(uintptr_t)mapping.start, mapping.end - mapping.start);
	}
	buf_free(&text);
}

static _Noreturn void run_helper(int control, struct far_board *board, pid_t recorder)
{
	prctl(PR_SET_NAME, "stackcam-files");
	child_forget_handlers();
	if (child_close_others(&control, 1) || getppid() != recorder)
		_exit(1);
	unmap_shared(board);
	far_helper_run(control, board);
}

static int start_helper(struct far_files *far)
{
	const struct timeval patience = {.tv_sec = FAR_PATIENCE_MS / 1000};
	pid_t recorder = getpid();
	int ends[2], err;

	if (far->control >= 0)
		return 0;
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
		return -errno;
	for (size_t i = 0; i < FAR_WORKERS; i++)
		atomic_store(&far->board->slots[i].since, 0);
	far->helper = fork();
	if (!far->helper)
		run_helper(ends[1], far->board, recorder);
	err = far->helper < 0 ? -errno : 0;
	close(ends[1]);
	if (err) {
		close(ends[0]);
		return err;
	}
	setsockopt(ends[0], SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	far->control = ends[0];
	return 0;
}

/* It ends by itself, but not before the file systems that it waits for let it. */
static void leave_helper(struct far_files *far)
{
	if (far->control < 0)
		return;
	close(far->control);
	far->control = -1;
	kill(far->helper, SIGKILL);
	child_reap(far->helper, REAP_MS);
}

void far_files_free(struct far_files *far)
{
	if (!far)
		return;
	leave_helper(far);
	if (far->own_changes >= 0)
		close(far->own_changes);
	mounts_free(&far->own);
	mounts_free(&far->others);
	munmap(far->board, sizeof(*far->board));
	free(far);
}

/* Sends an order with descriptors and awaits its answer; returns the result of that. */
static int64_t ask(struct far_files *far, struct far_order *order, const int *fds, size_t fd_count,
		   struct far_done *done, void *bytes, size_t size, int *passed)
{
	const struct iovec asked = {order,
				    offsetof(struct far_order, path) + strlen(order->path) + 1};
	const struct iovec answered[] = {{done, sizeof(*done)}, {bytes, size}};
	int err = start_helper(far), other;
	size_t count;
	ssize_t got;

	if (err)
		return err;
	order->number = clock_ns();
	got = far_send(far->control, &asked, 1, fds, fd_count);
	while (got > 0) {
		got = far_receive(far->control, answered, 2, passed ? passed : &other, 1, &count);
		if (got < (ssize_t)sizeof(*done))
			break;
		if (done->number == order->number && (!passed || count || done->result < 0))
			return done->result;
		if (count)
			close(passed ? *passed : other);
	}
	/* it has ended, or does not answer: the next question finds another one */
	leave_helper(far);
	return -EIO;
}

/* -- files ------------------------------------------------------------------------------------ */

static int open_far(struct far_files *far, int place, dev_t device, const char *path,
		    struct stat *st)
{
	const struct timeval patience = {.tv_sec = FAR_PATIENCE_MS / 1000};
	struct far_order order = {.verb = FAR_OPEN, .device = device};
	struct far_done done = {0};
	int ends[2];
	int64_t err;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends))
		return -errno;
	setsockopt(ends[0], SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	snprintf(order.path, sizeof(order.path), "%s", path);
	err = ask(far, &order, (int[]){place, ends[1]}, 2, &done, NULL, 0, NULL);
	close(ends[1]);
	*st = done.st;
	if (!err)
		return ends[0];
	close(ends[0]);
	return (int)err;
}

int far_files_open(struct far_files *far, int place, pid_t pid, dev_t device, const char *path,
		   struct stat *st)
{
	int fd = far_files_is_far(far, pid, device) ? open_far(far, place, device, path, st)
						    : far_open_place(place, st);

	close(place);
	return fd;
}

/* -- paths ------------------------------------------------------------------------------------ */

static int open_below(int root, const char *path, uint64_t flags, uint64_t resolve)
{
	struct open_how how = {.flags = flags, .resolve = resolve};
	int fd;

	/* EAGAIN: something was renamed or mounted meanwhile (openat2(2)) */
	for (int attempt = 0; attempt < 8; attempt++) {
		fd = (int)syscall(SYS_openat2, root, path, &how, sizeof(how));
		if (fd >= 0 || errno != EAGAIN || resolve & RESOLVE_CACHED)
			break;
	}
	return fd < 0 ? -errno : fd;
}

static int open_by_helper(struct far_files *far, const struct mounts *mounts, int root,
			  const char *path, uint64_t flags, uint64_t resolve)
{
	const struct mount *mount = mounts_of_path(mounts, path);
	struct far_order order = {.verb = FAR_WALK,
				  .device = mount ? mount->device : 0,
				  .flags = flags,
				  .resolve = resolve};
	struct far_done done;
	int64_t err;
	int found;

	if (strlen(path) >= sizeof(order.path))
		return -ENAMETOOLONG;
	strcpy(order.path, path);
	err = ask(far, &order, &root, 1, &done, NULL, 0, &found);
	return err < 0 ? (int)err : found;
}

/*
 * Where nothing is far, or as long as the path leads nowhere else than on the root's own file
 * system, or to what the kernel has in memory, no file system of others is asked.
 */
static int find_below(struct far_files *far, const struct mounts *mounts, int root,
		      const char *path, uint64_t flags, uint64_t resolve)
{
	const struct mount *top = mounts_of_path(mounts, "/");
	int fd;

	if (!mounts->has_far)
		return open_below(root, path, flags, resolve);
	fd = top && !top->is_far ? open_below(root, path, flags, resolve | RESOLVE_NO_XDEV)
				 : -EXDEV;
	if (fd == -EXDEV)
		fd = open_below(root, path, flags, resolve | RESOLVE_CACHED);
	if (fd == -EAGAIN)
		fd = open_by_helper(far, mounts, root, path, flags, resolve);
	return fd;
}

/* The mount that a place is on, without asking its file system; null: not known. */
static const struct mount *mount_of_place(const struct mounts *mounts, int place)
{
	struct buf text = {0};
	uint64_t id = 0;
	char path[48];
	const char *line;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", place);
	if (!procfs_read_file(path, 4096, &text)) {
		line = strstr((char *)text.at, "mnt_id:");
		id = line ? strtoull(line + strlen("mnt_id:"), NULL, 10) : 0;
	}
	buf_free(&text);
	return mounts_of_id(mounts, id);
}

static int open_found(struct far_files *far, const struct mounts *mounts, int place,
		      const char *path, struct stat *st)
{
	const struct mount *mount;

	if (!mounts->has_far)
		return far_open_place(place, st);
	mount = mount_of_place(mounts, place);
	if (mount && !mount->is_far)
		return far_open_place(place, st);
	return open_far(far, place, mount ? mount->device : 0, path, st);
}

int far_files_open_path(struct far_files *far, const char *root, const char *path, bool links,
			struct stat *st)
{
	static const struct mounts none;
	uint64_t flags = O_PATH | O_CLOEXEC | (links ? 0 : O_NOFOLLOW);
	uint64_t resolve = root[0] ? RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS : 0;
	int directory = open(root[0] ? root : "/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	const struct mounts *mounts = &none;
	int place, fd, pid;

	if (directory < 0)
		return -errno;
	/* what stands for "/" is the root of a process, or ours */
	if (far)
		mounts = root[0] && sscanf(root, "/proc/%d/root", &pid) == 1 ? mounts_of(far, pid)
									     : own_mounts(far);
	place = find_below(far, mounts, directory, path, flags, resolve);
	close(directory);
	if (place < 0)
		return place;
	fd = open_found(far, mounts, place, path, st);
	close(place);
	return fd;
}

/* -- memory ----------------------------------------------------------------------------------- */

ssize_t far_files_read_memory(struct far_files *far, pid_t pid, dev_t device, uint64_t address,
			      void *to, size_t size)
{
	struct far_order order = {.verb = FAR_MEMORY,
				  .device = device,
				  .pid = pid,
				  .address = address,
				  .size = size < FAR_BYTES_MAX ? size : FAR_BYTES_MAX};
	struct far_done done;

	snprintf(order.path, sizeof(order.path), "memory of process %d", (int)pid);
	return ask(far, &order, NULL, 0, &done, to, order.size, NULL);
}

/* -- what stands still ------------------------------------------------------------------------ */

size_t far_files_hangs(struct far_files *far, struct far_hang *hangs, size_t room)
{
	size_t count = 0;

	for (size_t i = 0; far && i < FAR_WORKERS && count < room; i++) {
		struct far_slot *slot = &far->board->slots[i];
		struct far_hang *hang = &hangs[count];
		const struct mount *mount;

		*hang = (struct far_hang){.since = atomic_load(&slot->since),
					  .device = slot->device};
		snprintf(hang->path, sizeof(hang->path), "%.*s", (int)sizeof(hang->path) - 1,
			 slot->path);
		/* it may have come back, and be another one's slot by now */
		if (!hang->since || atomic_load(&slot->since) != hang->since)
			continue;
		mount = mounts_of_device(&far->own, hang->device);
		mount = mount ? mount : mounts_of_device(&far->others, hang->device);
		snprintf(hang->point, sizeof(hang->point), "%s", mount ? mount->point : "");
		snprintf(hang->type, sizeof(hang->type), "%s", mount ? mount->type : "");
		count++;
	}
	return count;
}

struct far_counts far_files_counts(const struct far_files *far)
{
	if (!far)
		return (struct far_counts){0};
	return (struct far_counts){atomic_load(&far->board->refused),
				   atomic_load(&far->board->hangs),
				   atomic_load(&far->board->returns)};
}
