/* A client of tune optimize in C, without a library: cc -o bowl bowl.c && tune optimize space.yaml --evals 60 -- ./bowl
   A message of tune is one line whose form never changes, so that it can be searched for the names of the fields. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* number returns the number behind a name, such as "x":. */
static long number(const char *line, const char *name) {
    const char *at = strstr(line, name);
    return at ? strtol(at + strlen(name), NULL, 10) : 0;
}

int main(void) {
    static char line[1 << 16];
    while (fgets(line, sizeof line, stdin)) {
        if (strncmp(line, "{\"ask\":", 7) != 0)
            continue; /* hello, cancel, end, and whatever later versions say */
        long id = number(line, "\"id\":"), x = number(line, "\"x\":"), y = number(line, "\"y\":");
        long cost = ((x - 3) * (x - 3) + (y - 5) * (y - 5)) * (strstr(line, "\"slow\":true") ? 2 : 1);
        if (cost > 200)
            printf("{\"tell\":{\"id\":%ld,\"status\":\"crashed\",\"reason\":\"too far away\"}}\n", id);
        else
            printf("{\"tell\":{\"id\":%ld,\"cost\":%ld}}\n", id, cost);
        fflush(stdout); /* tune waits for the answer */
    }
    return 0;
}
