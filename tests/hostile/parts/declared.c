/* What the headers of Unix declare, for host.c, which may not include them. */
#define O_RDONLY 0
#define O_WRONLY 1
#define O_RDWR 2
#define O_CREAT 0100
#define O_TRUNC 01000
#define AF_INET 2
#define SOCK_STREAM 1
#define INADDR_LOOPBACK 0x7f000001
#define PTRACE_ATTACH 16
typedef unsigned long pthread_t;
struct iovec {
	void *base;
	size_t len;
};
struct sockaddr;
struct sockaddr_in {
	unsigned short sin_family, sin_port;
	struct { uint32_t s_addr; } sin_addr;
	char rest[8];
};
int open(const char *path, int flags, ...);
long read(int fd, void *to, size_t bytes);
long write(int fd, const void *from, size_t bytes);
int close(int fd);
int unlink(const char *path);
int symlink(const char *to, const char *path);
int socket(int domain, int type, int protocol);
int connect(int fd, const struct sockaddr *to, unsigned bytes);
uint16_t htons(uint16_t x);
uint32_t htonl(uint32_t x);
int fork(void);
int vfork(void);
int setsid(void);
int pause(void);
unsigned sleep(unsigned seconds);
int getppid(void);
int execl(const char *path, const char *word, ...);
void _exit(int status);
long ptrace(int what, int pid, long at, long with);
long process_vm_readv(int pid, const struct iovec *to, unsigned long to_count,
		      const struct iovec *from, unsigned long from_count,
		      unsigned long flags);
int pthread_create(pthread_t *thread, const void *how, void *(*run)(void *),
		   void *arg);
