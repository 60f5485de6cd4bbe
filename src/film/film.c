// SPDX-License-Identifier: Apache-2.0
#include "film/film.h"

#include "film/frame_kinds.h"

const char *film_protocol_name(unsigned int protocol)
{
	static const char *const names[] = {
		[FILM_PROTOCOL_UNKNOWN] = "unknown", [FILM_PROTOCOL_HTTP] = "http",
		[FILM_PROTOCOL_REDIS] = "redis",     [FILM_PROTOCOL_POSTGRESQL] = "postgresql",
		[FILM_PROTOCOL_MYSQL] = "mysql",     [FILM_PROTOCOL_HTTP2] = "http2",
		[FILM_PROTOCOL_GRPC] = "grpc",	     [FILM_PROTOCOL_MARKER] = "marker",
		[FILM_PROTOCOL_FASTCGI] = "fastcgi",
	};

	return names[protocol < sizeof(names) / sizeof(names[0]) ? protocol
								 : FILM_PROTOCOL_UNKNOWN];
}

const char *film_frame_kind_name(unsigned int kind)
{
	return film_frame_kind_of(kind)->name;
}
