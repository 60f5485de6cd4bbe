// SPDX-License-Identifier: Apache-2.0
/* What harm_plugin.c loads. */
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
