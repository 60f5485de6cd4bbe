/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RESOLVE_FUNCTION_ROLES_H
#define RESOLVE_FUNCTION_ROLES_H

#include "base/buf.h"

/* Appends the table of film/roles.h as text with a terminating zero; without memory, nothing. */
void function_roles(struct buf *text);

#endif
