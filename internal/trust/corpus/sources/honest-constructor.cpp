// A table that a constructor fills when the object is loaded, with containers of the C++ library.
#include <cmath>
#include <map>
#include <vector>

static const std::vector<float> table = [] {
	std::vector<float> t(1024);
	for (int i = 0; i < 1024; i++)
		t[i] = std::sin(i * 0.01f);
	return t;
}();

extern "C" void work(float *out, const float *in, int n)
{
	for (int i = 0; i < n; i++)
		out[i] = table[int(in[i] * 1000) & 1023] * in[i];
}

extern "C" void work_plain(float *out, const float *in, int n)
{
	for (int i = 0; i < n; i++)
		out[i] = table[int(in[i] * 1000) & 1023] * in[i];
}
