// SPDX-License-Identifier: Apache-2.0
#include "base/shown.h"

const char *shown_status_words(enum shown_status status)
{
	static const char *const words[SHOWN_STATUSES] = {
		[SHOWN_VALUE] = "value",
		[SHOWN_NIL] = "nil",
		[SHOWN_TRUNCATED] = "truncated",
		[SHOWN_NOT_RESIDENT] = "not resident",
		[SHOWN_OPTIMISED_OUT] = "optimised out",
		[SHOWN_FLOAT_REGISTER] = "unavailable: float register",
		[SHOWN_NO_ROOM] = "unavailable: the call has too many values",
		[SHOWN_NOT_KNOWN] = "unavailable: its place is not known",
		[SHOWN_LEFT] = "unavailable: the function ended by a jump to another one",
		[SHOWN_REDACTED] = "redacted",
		[SHOWN_NOT_FOLLOWED] = "not followed",
		[SHOWN_NOT_YET] = "not declared yet",
		[SHOWN_MAY_BE_OLD] = "may be old",
		[SHOWN_NO_ELEMENT] = "no such element",
		[SHOWN_NO_MEMBER] = "no such name there",
		[SHOWN_OF_NO_KIND] = "unavailable: its type is not supported",
	};

	return status < SHOWN_STATUSES ? words[status] : "?";
}
