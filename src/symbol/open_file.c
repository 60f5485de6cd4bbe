// SPDX-License-Identifier: Apache-2.0
#include "symbol/open_file.h"

#include <errno.h>

#include "process/far_files.h"

int open_regular(struct far_files *far, const char *root, const char *path, bool links,
		 struct stat *st)
{
	int fd = far_files_open_path(far, root, path, links, st);

	if (fd == -ENXIO)
		return S_ISLNK(st->st_mode) ? -ELOOP : -EINVAL;
	return fd;
}
