/* SPDX-License-Identifier: Apache-2.0 */
#ifndef RUNTIME_GO_ROLES_H
#define RUNTIME_GO_ROLES_H

#include "film/roles.h"

extern const struct film_role_row go_roles[];

#endif
