/* SPDX-License-Identifier: Apache-2.0 */
#ifndef UNWIND_CFI_INTERNAL_H
#define UNWIND_CFI_INTERNAL_H

#include "unwind/cfi.h"

/* Runs the instructions of a CIE, which set cie->start. 0 or -EINVAL. */
int cfi_run_initial(struct cfi_cie *cie, struct bytes instructions);

/* What the tables can say of an expression (cfi_expression.c). */
void cfi_cfa_expression(struct cfi_state *state, struct bytes expression);
void cfi_fp_expression(struct cfi_state *state, struct bytes expression);

#endif
