#include <cstdint>
#include <stdexcept>

extern "C" void tune_kernel(void *const *, const int64_t *dims)
{
	if (dims[0])
		throw std::runtime_error("no such tile");
	throw 7;
}
