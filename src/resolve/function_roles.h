/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RESOLVE_FUNCTION_ROLES_H
#define RESOLVE_FUNCTION_ROLES_H

#include "base/buf.h"

/* The table of film/roles.h as text, with a zero at its end; where there is no memory, none. */
void function_roles(struct buf *text);

#endif
