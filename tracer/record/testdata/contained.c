/*
 * The program of the container tests: opens the files that it is told, has a child that opens the first of
 * them again, and says what they are called in here. Both end when standard input does.
 */
#include <fcntl.h>
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>

static void wait_for_end(void)
{
	char c;

	while (read(0, &c, 1) > 0)
		;
}

int main(int argc, char **argv)
{
	pid_t child;
	int i;

	for (i = 1; i < argc; i++)
		if (open(argv[i], O_RDONLY) < 0)
			return 1;
	child = fork();
	if (child == 0) {
		open(argv[1], O_RDONLY);
		wait_for_end();
		_exit(3);
	}
	printf("%d %d\n", getpid(), child);
	fflush(stdout);
	wait_for_end();
	wait(NULL);
	return 7;
}
