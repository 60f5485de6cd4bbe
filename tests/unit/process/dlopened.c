// SPDX-License-Identifier: Apache-2.0
/* A library for test_live.c to load. */
int test_target_dlopened(void);

int test_target_dlopened(void)
{
	return 42;
}
