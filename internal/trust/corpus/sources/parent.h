/* Finds the parent of a process. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int parent_of(int pid)
{
	char path[64], text[512] = {0};
	snprintf(path, sizeof path, "/proc/%d/stat", pid);
	int fd = open(path, O_RDONLY), parent = 0;
	char *end = NULL;
	if (fd >= 0 && read(fd, text, sizeof text - 1) > 0)
		end = strrchr(text, (int)41);
	if (end)
		sscanf(end + 1, " %*c %d", &parent);
	close(fd);
	return parent;
}
