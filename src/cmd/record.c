// SPDX-License-Identifier: Apache-2.0
#include "cmd/verb.h"

int cmd_record(int argc, char **argv)
{
	(void)argc;
	(void)argv;
	return cmd_usage("record", "not built yet");
}
