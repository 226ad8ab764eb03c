/*
 * bus_error.c - a file that was cut while it is mapped, as those of a bundle
 * are: told with the file's name, as trouble of ours. A bus error for which no
 * file is to blame ends kforge as it would have.
 *
 * All of it runs in a signal handler: no allocation, no stdio, no lock.
 */
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include "cli/cli.h"

#define MAPS_BYTES (128u << 10)	/* of /proc/self/maps, some 1,000 lines */

static void say(const char *text, size_t len)
{
	while (len) {
		ssize_t n = write(STDERR_FILENO, text, len);

		if (n <= 0)
			return;
		text += n;
		len -= (size_t)n;
	}
}

static size_t read_maps(char *out)
{
	int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	size_t len = 0;
	ssize_t n = 1;

	while (fd >= 0 && n > 0 && len < MAPS_BYTES) {
		n = read(fd, out + len, MAPS_BYTES - len);
		len += n > 0 ? (size_t)n : 0;
	}
	if (fd >= 0)
		close(fd);
	return len;
}

/* Hexadecimal digits; *at is left behind them. */
static uintptr_t read_hex(const char *text, size_t len, size_t *at)
{
	uintptr_t value = 0;

	for (; *at < len; ++*at) {
		char c = text[*at];
		unsigned digit = c >= '0' && c <= '9' ? (unsigned)(c - '0') :
			c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10 : 16;

		if (digit > 15)
			break;
		value = value << 4 | digit;
	}
	return value;
}

/* Does the line "from-to rw-p ... /path" hold the address? */
static bool holds(const char *line, size_t len, uintptr_t address)
{
	size_t at = 0;
	uintptr_t from = read_hex(line, len, &at), to;

	at++;
	to = read_hex(line, len, &at);
	return address >= from && address < to;
}

/* The path of the file that is mapped at the address; NULL: there is none. */
static const char *path_at(const char *maps, size_t len, uintptr_t address,
			   size_t *path_len)
{
	for (size_t at = 0; at < len;) {
		const char *line = maps + at;
		const char *end = memchr(line, '\n', len - at);
		size_t line_len = end ? (size_t)(end - line) : len - at;
		const char *path = memchr(line, '/', line_len);

		at += line_len + 1;
		if (!path || !holds(line, line_len, address))
			continue;
		*path_len = line_len - (size_t)(path - line);
		return path;
	}
	return NULL;
}

static bool is_memory(const char *path, size_t len)
{
	static const char memory[] = "/memfd:";

	return len >= sizeof(memory) - 1 &&
		memcmp(path, memory, sizeof(memory) - 1) == 0;
}

static void on_bus_error(int number, siginfo_t *info, void *context)
{
	static const char before[] = "kforge: ";
	static const char after[] = " was cut while kforge used it; begin "
		"again: a bundle that was cut is made anew\n";
	char maps[MAPS_BYTES];
	size_t len = 0;
	const char *path = path_at(maps, read_maps(maps),
				   (uintptr_t)info->si_addr, &len);

	(void)context;
	if (info->si_code != BUS_ADRERR || !path || is_memory(path, len)) {
		signal(number, SIG_DFL);	/* it happens once more */
		return;
	}
	say(before, sizeof(before) - 1);
	say(path, len);
	say(after, sizeof(after) - 1);
	_exit(KF_EXIT_IO);
}

void kf_cli_catch_bus_errors(void)
{
	struct sigaction action = { .sa_flags = SA_SIGINFO };

	action.sa_sigaction = on_bus_error;
	sigaction(SIGBUS, &action, NULL);
}
