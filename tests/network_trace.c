/* Preloaded into a process (LD_PRELOAD): writes each connect, datagram and name lookup to the file that TRACE_TO
   names, whichever library makes it, and then does what was asked. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static void tell(const char *what, const char *whom) {
  char line[512];
  const char *file = getenv("TRACE_TO");
  int length = snprintf(line, sizeof line, "%s %s\n", what, whom ? whom : "-");
  int out = file ? open(file, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600) : -1;
  if (out < 0) return;
  if (write(out, line, length < (int)sizeof line ? length : (int)sizeof line - 1) < 0) abort();
  close(out);
}

static void tell_address(const char *what, const struct sockaddr *to) {
  char text[INET6_ADDRSTRLEN] = "?";
  if (to == NULL || (to->sa_family != AF_INET && to->sa_family != AF_INET6)) return; /* pipes of this machine */
  if (to->sa_family == AF_INET)
    inet_ntop(AF_INET, &((const struct sockaddr_in *)to)->sin_addr, text, sizeof text);
  else
    inet_ntop(AF_INET6, &((const struct sockaddr_in6 *)to)->sin6_addr, text, sizeof text);
  tell(what, text);
}

#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

int connect(int fd, const struct sockaddr *to, socklen_t size) {
  tell_address("connect", to);
  return NEXT(connect)(fd, to, size);
}

ssize_t sendto(int fd, const void *data, size_t size, int flags, const struct sockaddr *to, socklen_t length) {
  tell_address("sendto", to);
  return NEXT(sendto)(fd, data, size, flags, to, length);
}

ssize_t sendmsg(int fd, const struct msghdr *message, int flags) {
  tell_address("sendmsg", message->msg_name);
  return NEXT(sendmsg)(fd, message, flags);
}

int getaddrinfo(const char *node, const char *service, const struct addrinfo *hints, struct addrinfo **found) {
  tell("lookup", node);
  return NEXT(getaddrinfo)(node, service, hints, found);
}

struct hostent *gethostbyname(const char *name) {
  tell("lookup", name);
  return NEXT(gethostbyname)(name);
}

int gethostbyname_r(const char *name, struct hostent *entry, char *room, size_t size, struct hostent **found, int *error) {
  tell("lookup", name);
  return NEXT(gethostbyname_r)(name, entry, room, size, found, error);
}

int gethostbyaddr_r(const void *address, socklen_t length, int type, struct hostent *entry, char *room, size_t size,
                    struct hostent **found, int *error) {
  tell("lookup", "by address");
  return NEXT(gethostbyaddr_r)(address, length, type, entry, room, size, found, error);
}
