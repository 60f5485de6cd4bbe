// SPDX-License-Identifier: Apache-2.0
#include "cmd/verb.h"

int cmd_resolve(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	return cmd_usage("resolve", "not built yet");
}
