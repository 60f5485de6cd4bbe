// SPDX-License-Identifier: Apache-2.0
#include "symbol/cubin/names.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/file.h"

size_t cubin_names_find(struct cubin_names *names, const struct cubin_lines *lines,
			const struct cubin *cubin, uint64_t address, const char *function)
{
	struct cubin_place places[CUBIN_PLACES_MAX];
	size_t count = cubin_lines_find(lines, cubin, address, places);

	names->count = count;
	for (size_t i = 0; i < count; i++) {
		const char *name = i + 1 < count ? places[i].function : NULL;

		names->owned[i] = name ? symbol_demangle_short(name[0] ? name : "[inlined]") : NULL;
		names->at[i] = (struct symbol_name){
			.function = names->owned[i] ? names->owned[i] : function,
			.file = cubin_file_path(places[i].file, names->paths[i],
						sizeof(names->paths[i])),
			.line = places[i].line,
		};
	}
	return count;
}

void cubin_names_free(struct cubin_names *names)
{
	for (size_t i = 0; i < names->count; i++)
		free(names->owned[i]);
	names->count = 0;
}

/* -- files ------------------------------------------------------------------------------------- */

/* Returns the number of bytes, or a negative errno. */
static ssize_t read_bytes(const char *path, void **bytes)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), err = -errno;
	struct stat stat;
	ssize_t size;

	if (fd < 0)
		return err;
	err = file_stat(fd, &stat);
	if (!err && (!S_ISREG(stat.st_mode) || stat.st_size <= 0))
		err = -ENOEXEC;
	if (!err && (uint64_t)stat.st_size > CUBIN_BYTES_MAX)
		err = -E2BIG;
	size = err ? err : stat.st_size;
	*bytes = err ? NULL : malloc((size_t)size);
	if (!err && !*bytes)
		size = -ENOMEM;
	else if (!err && !file_read_at(fd, 0, *bytes, (size_t)size))
		size = -EIO;
	close(fd);
	return size;
}

int cubin_load(struct cubin_loaded **result, const char *path, struct fail *why)
{
	struct cubin_loaded *loaded = calloc(1, sizeof(*loaded));
	ssize_t size = loaded ? read_bytes(path, &loaded->bytes) : -ENOMEM;
	int err = size < 0 ? (int)size : cubin_open(&loaded->cubin, loaded->bytes, (size_t)size);

	if (err) {
		if (loaded)
			free(loaded->bytes);
		free(loaded);
		return err == -ENOEXEC || err == -ENOTSUP
			       ? fail(why, err,
				      "give a file with the code of one GPU, sm_70 or later",
				      "'%s' is not a cubin", path)
			       : fail_errno(why, err, NULL, "cannot read '%s'", path);
	}
	cubin_lines_read(&loaded->lines, &loaded->cubin, CUBIN_LINES);
	*result = loaded;
	return 0;
}

void cubin_unload(struct cubin_loaded *loaded)
{
	cubin_lines_free(&loaded->lines);
	cubin_close(&loaded->cubin);
	free(loaded->bytes);
	free(loaded);
}
