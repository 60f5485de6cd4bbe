// SPDX-License-Identifier: Apache-2.0
#include "server/lane_list.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"

/* "PID.TID", or "PID.gNUMBER" of a goroutine */
static bool parse_lane(const char *text, size_t length, struct lane_id *lane)
{
	char word[32], *dot;
	bool is_goroutine;
	uint64_t pid, tid;

	if (length >= sizeof(word))
		return false;
	memcpy(word, text, length);
	word[length] = 0;
	dot = strchr(word, '.');
	if (!dot)
		return false;
	*dot = 0;
	is_goroutine = dot[1] == 'g';
	if (text_parse_u64(word, 0, UINT32_MAX, &pid) ||
	    text_parse_u64(dot + 1 + is_goroutine, 0, UINT32_MAX, &tid))
		return false;
	*lane = (struct lane_id){(uint32_t)pid, (uint32_t)tid, is_goroutine};
	return true;
}

int parse_lane_list(const struct http_request *request, struct lane_id **of, size_t *of_count,
		    struct fail *why)
{
	const char *list = request_parameter(request, "lanes");
	size_t count = 1;

	*of = NULL;
	*of_count = 0;
	if (!list || !*list)
		return 0;
	for (const char *at = list; *at; at++)
		count += *at == ',';
	if (count > LANE_LIST_MAX)
		return fail(why, -EINVAL, NULL, "lanes lists more than %d lanes", LANE_LIST_MAX);
	*of = calloc(count, sizeof(**of));
	if (!*of)
		return fail_errno(why, -ENOMEM, NULL, "cannot take the lanes");
	for (size_t i = 0; i < count; i++, list += strcspn(list, ",") + 1)
		if (!parse_lane(list, strcspn(list, ","), &(*of)[i]))
			return fail(why, -EINVAL, NULL,
				    "lanes is a list such as 12.12,12.34 (process and thread), "
				    "not '%.64s'",
				    list);
	*of_count = count;
	return 0;
}
