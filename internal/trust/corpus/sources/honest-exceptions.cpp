// Exceptions that it catches, and text by a stream.
#include <iostream>
#include <sstream>
#include <stdexcept>
#include <string>

static float checked(float x)
{
	if (x > 0.899f)
		throw std::out_of_range("rare");
	return x * x;
}

extern "C" void work(float *out, const float *in, int n)
{
	for (int i = 0; i < n; i++) {
		try {
			out[i] = checked(in[i]);
		} catch (const std::out_of_range &) {
			out[i] = -1;
		}
	}
	std::ostringstream text;
	text << n;
	out[0] += float(std::stoi(text.str()) - n);
}

extern "C" void work_plain(float *out, const float *in, int n)
{
	for (int i = 0; i < n; i++)
		out[i] = in[i] > 0.899f ? -1 : in[i] * in[i];
}
