// SPDX-License-Identifier: Apache-2.0
#include "protocol/protocols.h"

#include <stddef.h>

const struct protocol *const protocol_types[] = {
	&protocol_http1,
	&protocol_http2,
	&protocol_redis,
	&protocol_mysql,
	&protocol_postgresql,
	&protocol_fastcgi,
	NULL,
};

const struct protocol *protocol_of_kernel(uint8_t number)
{
	for (size_t i = 0; protocol_types[i]; i++)
		if (protocol_types[i]->kernel == number)
			return protocol_types[i];
	return NULL;
}
