// SPDX-License-Identifier: Apache-2.0
#include "attach/links.h"

#include <errno.h>

int links_attach(struct links *links, struct bpf_program *const *programs, size_t count,
		 const char *what, struct fail *why)
{
	for (size_t i = 0; i < count; i++) {
		struct bpf_link *link;

		if (!bpf_program__autoload(programs[i]))
			continue;
		link = bpf_program__attach(programs[i]);
		if (!link)
			return fail_errno(why, -errno, "see 'stackcam doctor'", "cannot %s", what);
		if (!vec_push(&links->all, link)) {
			bpf_link__destroy(link);
			return fail_errno(why, -ENOMEM, NULL, "cannot %s", what);
		}
	}
	return 0;
}

void links_free(struct links *links)
{
	vec_foreach (&links->all, link)
		bpf_link__destroy(*link);
	vec_free(&links->all);
}
