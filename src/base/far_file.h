/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_FAR_FILE_H
#define BASE_FAR_FILE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>

/*
 * A far file lies on a file system that may not answer: one of a network, or of FUSE. A process
 * that reads it then stands still, cannot be killed, and cannot even close it. So its descriptor is
 * a socket: behind it a helper process has the file (process/far_files.h), and answers in time,
 * even if only by -ETIMEDOUT. base/file.h reads such descriptors as it reads files.
 *
 * A request is one packet, and so is its answer: a struct far_answer, and what was read behind it.
 * The descriptor may be duplicated, but one process asks at a time.
 */
enum far_verb {
	FAR_READ = 1, /* count bytes from offset on; fewer are an answer, too */
	FAR_STAT,     /* a struct stat */
	FAR_CHECK,    /* nothing: the file system has answered just now */
	FAR_PLACE,    /* nothing, with a descriptor of O_PATH: of the file, to open or probe it */
};

struct far_request {
	uint64_t number; /* of the answer, too */
	uint64_t offset;
	uint32_t verb, count;
};

struct far_answer {
	uint64_t number;
	int64_t result; /* bytes that follow, or a negative errno */
};

/* Bytes that are read at once. */
#define FAR_BYTES_MAX ((size_t)64 << 10)

/* The helper answers sooner: so long a descriptor waits that it left alone. */
#define FAR_PATIENCE_MS 3000

/*
 * Asks the helper behind a socket. Returns how many bytes it has put into to, or a negative errno;
 * -ETIMEDOUT: the file system does not answer; -ENOTSOCK: it is not a far file. passed: the
 * descriptor that came with the answer becomes the caller's; null: none is wanted.
 */
ssize_t far_file_ask(int fd, enum far_verb verb, uint64_t offset, void *to, size_t count,
		     int *passed);

/* Sends one packet with descriptors (at most 4), or takes one. Return its length or -errno. */
ssize_t far_send(int socket, const struct iovec *parts, size_t part_count, const int *fds,
		 size_t fd_count);
ssize_t far_receive(int socket, const struct iovec *parts, size_t part_count, int *fds,
		    size_t fd_room, size_t *fd_count);

#endif
