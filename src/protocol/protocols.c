// SPDX-License-Identifier: Apache-2.0
#include "protocol/protocols.h"

const struct protocol *protocol_of_kernel(uint8_t number)
{
	static const struct protocol *const protocols[] = {
		&protocol_http1, &protocol_http2,      &protocol_redis,
		&protocol_mysql, &protocol_postgresql, &protocol_fastcgi,
	};

	for (size_t i = 0; i < sizeof(protocols) / sizeof(protocols[0]); i++)
		if (protocols[i]->kernel == number)
			return protocols[i];
	return NULL;
}
