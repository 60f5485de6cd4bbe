/* SPDX-License-Identifier: Apache-2.0 */
#ifndef BASE_FAR_FILE_H
#define BASE_FAR_FILE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/uio.h>

/*
 * A far file is on a file system that may hang: a network file system or FUSE. A process that reads
 * from one that hangs blocks, cannot be killed, and cannot even close the file. Therefore a helper
 * process has the file open (process/far_files.h), and the recorder's descriptor is a socket to
 * that helper, which answers in time, even if only with -ETIMEDOUT. base/file.h reads from such
 * descriptors as from files.
 *
 * A request is one packet. An answer is one packet, too: a struct far_answer and the bytes that
 * were read. The descriptor may be duplicated, but only one process at a time may send a request.
 */
enum far_verb {
	FAR_READ = 1, /* at most count bytes from offset on */
	FAR_STAT,     /* answers with a struct stat */
	FAR_CHECK,    /* no data: the file system answers at this moment */
	/* no data, but an O_PATH descriptor through which the file can be opened or probed */
	FAR_PLACE,
};

struct far_request {
	uint64_t number; /* repeated in the answer */
	uint64_t offset;
	uint32_t verb, count;
};

struct far_answer {
	uint64_t number;
	int64_t result; /* number of bytes that follow, or a negative errno */
};

/* Most bytes per request. */
#define FAR_BYTES_MAX ((size_t)64 << 10)

/* Timeout of a request if the helper does not answer; a working helper answers sooner. */
#define FAR_PATIENCE_MS 3000

/*
 * Sends a request to the helper and awaits the answer. Returns the number of bytes written to `to`,
 * or a negative errno; -ETIMEDOUT: the file system does not answer; -ENOTSOCK: fd is not a far
 * file. *passed gets the descriptor of FAR_PLACE, which the caller closes; null: not wanted.
 */
ssize_t far_file_ask(int fd, enum far_verb verb, uint64_t offset, void *to, size_t count,
		     int *passed);

/* Send or receive one packet with at most 4 descriptors. Return its length or -errno. */
ssize_t far_send(int socket, const struct iovec *parts, size_t part_count, const int *fds,
		 size_t fd_count);
ssize_t far_receive(int socket, const struct iovec *parts, size_t part_count, int *fds,
		    size_t fd_room, size_t *fd_count);

#endif
