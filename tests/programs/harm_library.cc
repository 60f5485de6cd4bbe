// SPDX-License-Identifier: Apache-2.0
/* What harm_plugin.c loads. */
#include <csignal>
#include <stdexcept>
#include <string>

extern "C" unsigned long harm_catch(unsigned long (*function)(unsigned long), unsigned long value)
{
	try {
		return function(value);
	} catch (const std::exception &problem) {
		return std::stoul(problem.what());
	}
}

extern "C" void harm_throw(unsigned long value)
{
	throw std::runtime_error(std::to_string(value));
}

static void throws_on_fault(int)
{
	sigset_t fault;

	sigemptyset(&fault);
	sigaddset(&fault, SIGSEGV);
	sigprocmask(SIG_UNBLOCK, &fault, nullptr);
	throw std::runtime_error("4711");
}

extern "C" void harm_handle()
{
	signal(SIGSEGV, throws_on_fault);
}
