// SPDX-License-Identifier: Apache-2.0
/*
 * The tools of 'stackcam mcp' about the films of the store. A message is answered by itself, with
 * JSON: there are no sessions and no streams, which the protocol leaves to the server.
 */
#include "mcp/mcp.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>

#include "mcp/folder.h"
#include "server/api.h"

enum {
	STATUS_ACCEPTED = 202
};

int api_mcp(const struct http_request *request, struct answer *answer, struct fail *why)
{
	char path[PATH_MAX];
	struct mcp_films films = {.path = path};
	const struct mcp_host host = {
		.context = &films, .list = mcp_films_list, .open = mcp_films_open};
	char *text = NULL;
	size_t size = 0;
	FILE *out;
	int err = store_films_path(request->store, &films.is_film, path, sizeof(path));

	if (err)
		return fail_errno(why, err, NULL, "cannot find the films");
	out = open_memstream(&text, &size);
	err = out ? mcp_answer(&host, (const char *)request->body, request->body_size, out)
		  : -ENOMEM;
	if (out && fclose(out))
		err = -ENOMEM;
	if (err)
		fail_errno(why, err, NULL, "cannot answer");
	else if (size)
		fwrite(text, 1, size, answer->out);
	else
		answer->status = STATUS_ACCEPTED; /* a notification */
	answer->no_store = true;
	free(text);
	return err;
}
