// SPDX-License-Identifier: Apache-2.0
/*
 * The files of the web page: a table in the program. No path of a request reaches the file system.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <zlib.h>

#include "server/api.h"
#include "server/out.h"

struct page_file {
	const char *path, *type;
	const unsigned char *gzip;
	size_t size;
};

#include "page_files.h"

static const char not_built[] =
	"This stackcam was built without its web page: Node.js and npm were not there, or npm "
	"could not fetch\n"
	"the page's packages.\n"
	"The API answers all the same: /api/v1/openapi.json describes it.\n";

/* For who does not take gzip. */
static int put_plain(const struct page_file *file, FILE *out)
{
	z_stream z = {.next_in = (Bytef *)file->gzip, .avail_in = (uInt)file->size};
	unsigned char room[16384];
	int state;

	if (inflateInit2(&z, 15 + 16) != Z_OK)
		return -ENOMEM;
	do {
		z.next_out = room;
		z.avail_out = sizeof(room);
		state = inflate(&z, Z_NO_FLUSH);
		fwrite(room, 1, sizeof(room) - z.avail_out, out);
	} while (state == Z_OK);
	inflateEnd(&z);
	return state == Z_STREAM_END ? 0 : -EIO;
}

static const struct page_file *find_file(const char *path)
{
	for (const struct page_file *file = page_files; file->path; file++)
		if (!strcmp(file->path, path))
			return file;
	return NULL;
}

int page_file(const struct http_request *request, struct answer *answer, struct fail *why)
{
	const struct page_file *file = find_file(request->url->path);

	if (!file) {
		answer->status = 404;
		answer->type = "text/plain; charset=utf-8";
		fputs(not_built, answer->out);
		return 0;
	}
	answer->type = file->type;
	if (!out_accepts_gzip(request_header(request, "Accept-Encoding"))) {
		if (put_plain(file, answer->out))
			return fail_errno(why, -ENOMEM, NULL, "cannot unpack the page");
		return 0;
	}
	answer->packed = "gzip";
	fwrite(file->gzip, 1, file->size, answer->out);
	return 0;
}
