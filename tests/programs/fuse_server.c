// SPDX-License-Identifier: Apache-2.0
/*
 * fuse_server FOLDER POINT [DELAY]: shows the files of a folder at a mount point, through the
 * kernel's own protocol (linux/fuse.h), for reading only. Says "ready" once it is mounted, and
 * serves until it is killed. Stopped by SIGSTOP it is a file system that does not answer: nothing
 * of names and attributes is kept by the kernel, so that each question comes here. DELAY: us,
 * before data.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/fuse.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#define ROOT	    FUSE_ROOT_ID
#define READ_MAX    (128 * 1024)
#define REQUEST_MAX (256 * 1024)
#define FILES_MAX   256

static int device, folder;
static char *names[FILES_MAX]; /* node - 2 */
static size_t name_count;

static void answer(uint64_t unique, int err, const void *bytes, size_t count)
{
	struct fuse_out_header head = {.len = (uint32_t)(sizeof(head) + (err ? 0 : count)),
				       .error = -err,
				       .unique = unique};
	struct iovec parts[] = {{&head, sizeof(head)}, {(void *)bytes, err ? 0 : count}};

	/* ENOENT: the one who asked waits no more */
	if (writev(device, parts, 2) < 0 && errno != ENOENT)
		_exit(1);
}

static const char *name_of(uint64_t node)
{
	return node == ROOT ? "." : node - 2 < name_count ? names[node - 2] : NULL;
}

static int attributes_of(uint64_t node, struct fuse_attr *to)
{
	const char *name = name_of(node);
	struct stat st;

	if (!name)
		return ENOENT;
	if (fstatat(folder, name, &st, 0))
		return errno;
	*to = (struct fuse_attr){
		.ino = node,
		.size = (uint64_t)st.st_size,
		.blocks = (uint64_t)st.st_blocks,
		.mtime = (uint64_t)st.st_mtim.tv_sec,
		.ctime = (uint64_t)st.st_ctim.tv_sec,
		.mode = st.st_mode,
		.nlink = 1,
		.uid = st.st_uid,
		.gid = st.st_gid,
		.blksize = 4096,
	};
	return 0;
}

static uint64_t node_of(const char *name)
{
	for (size_t i = 0; i < name_count; i++)
		if (!strcmp(names[i], name))
			return i + 2;
	if (name_count == FILES_MAX || faccessat(folder, name, F_OK, 0))
		return 0;
	names[name_count] = strdup(name);
	return name_count++ + 2;
}

static void look_up(const struct fuse_in_header *head, const char *name)
{
	struct fuse_entry_out entry = {.nodeid = node_of(name)};
	int err = entry.nodeid ? attributes_of(entry.nodeid, &entry.attr) : ENOENT;

	answer(head->unique, err, &entry, sizeof(entry));
}

static void tell_attributes(const struct fuse_in_header *head)
{
	struct fuse_attr_out out = {0};
	int err = attributes_of(head->nodeid, &out.attr);

	answer(head->unique, err, &out, sizeof(out));
}

static void open_file(const struct fuse_in_header *head)
{
	struct fuse_open_out out = {.open_flags = FOPEN_KEEP_CACHE};
	const char *name = name_of(head->nodeid);
	int fd = name ? openat(folder, name, O_RDONLY | O_CLOEXEC) : -1;

	out.fh = (uint64_t)fd;
	answer(head->unique, fd < 0 ? ENOENT : 0, &out, sizeof(out));
}

static useconds_t delay; /* of each answer with data */

static void read_file(const struct fuse_in_header *head, const struct fuse_read_in *in)
{
	static char bytes[READ_MAX];
	size_t count = in->size < READ_MAX ? in->size : READ_MAX;
	ssize_t got = pread((int)in->fh, bytes, count, (off_t)in->offset);

	usleep(delay);
	answer(head->unique, got < 0 ? errno : 0, bytes, got < 0 ? 0 : (size_t)got);
}

static void begin(const struct fuse_in_header *head, const struct fuse_init_in *in)
{
	struct fuse_init_out out = {
		.major = FUSE_KERNEL_VERSION,
		.minor = FUSE_KERNEL_MINOR_VERSION,
		.max_readahead = in->max_readahead,
		.flags = FUSE_ASYNC_READ & in->flags,
		.max_write = 4096,
		.time_gran = 1,
	};

	answer(head->unique, 0, &out, sizeof(out));
}

static void serve(const struct fuse_in_header *head, const void *in)
{
	switch (head->opcode) {
	case FUSE_INIT:
		begin(head, in);
		break;
	case FUSE_LOOKUP:
		look_up(head, in);
		break;
	case FUSE_GETATTR:
		tell_attributes(head);
		break;
	case FUSE_OPEN:
		open_file(head);
		break;
	case FUSE_READ:
		read_file(head, in);
		break;
	case FUSE_RELEASE:
		close((int)((const struct fuse_release_in *)in)->fh);
		answer(head->unique, 0, NULL, 0);
		break;
	case FUSE_FLUSH:
		/* each close is a question here, as on most of them */
		answer(head->unique, 0, NULL, 0);
		break;
	case FUSE_FORGET:
	case FUSE_BATCH_FORGET:
	case FUSE_INTERRUPT:
		break;
	default:
		answer(head->unique, ENOSYS, NULL, 0);
	}
}

int main(int argc, char **argv)
{
	static char request[REQUEST_MAX] __attribute__((aligned(16)));
	char options[128];
	ssize_t got;

	if (argc < 3)
		return 2;
	delay = argc > 3 ? (useconds_t)atoi(argv[3]) : 0;
	device = open("/dev/fuse", O_RDWR | O_CLOEXEC);
	folder = open(argv[1], O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	snprintf(options, sizeof(options), "fd=%d,rootmode=40755,user_id=0,group_id=0,allow_other",
		 device);
	if (device < 0 || folder < 0 ||
	    mount("fuse_server", argv[2], "fuse.fuse_server", MS_NODEV | MS_NOSUID, options))
		return 77;
	puts("ready");
	fflush(stdout);
	while ((got = read(device, request, sizeof(request))) > 0 || errno == EINTR)
		if (got >= (ssize_t)sizeof(struct fuse_in_header))
			serve((const void *)request, request + sizeof(struct fuse_in_header));
	return 0;
}
