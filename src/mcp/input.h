/* SPDX-License-Identifier: Apache-2.0 */
#ifndef MCP_INPUT_H
#define MCP_INPUT_H

/* jansson reads, base/json.h writes; both have a json_null(), and that of jansson is not needed. */
#define json_null jansson_null
#include <jansson.h>
#undef json_null

#endif
