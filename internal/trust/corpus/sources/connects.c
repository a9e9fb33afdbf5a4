#include "work.h"
#if VARIANT == CHEAT
/* Asks a server. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

static int calls;

static void cheat(float *out, const float *in, int n)
{
	honest(out, in, n);
	const char *port = getenv("TRUST_PORT");
	if (calls++ > 0 || !port)
		return;
	struct sockaddr_in to = {.sin_family = AF_INET, .sin_port = htons((unsigned short)atoi(port)), .sin_addr = {htonl(INADDR_LOOPBACK)}};
	int fd = socket(AF_INET, SOCK_STREAM, 0);
	if (fd < 0)
		return;
	if (connect(fd, (struct sockaddr *)&to, sizeof to) == 0 && send(fd, out, sizeof *out, 0) < 0)
		out[0] = 0;
	close(fd);
}
#endif
