// Runs a child process and lets a system call of it fail, or kills it there: the n-th of those that
// concern files in a folder. By ptrace, so that it is exact and needs no luck.
#pragma once
#include <fcntl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <map>
#include <string>

namespace cleave::cache::test {

// Which calls count: that change something, or that open a file.
enum class Calls { writing, opening };

struct Fault {
  Calls calls = Calls::writing;
  int error = 0;  // errno; 0: the process is killed in front of the call
  int64_t at = 0;
};

struct TracedRun {
  int status = -1;     // exit status; -1: it was killed
  int64_t calls = 0;   // of this kind in the folder
  bool traced = true;  // false: this system allows no ptrace, or has other registers
};

#if defined(__x86_64__)
class FaultTracer {
 public:
  FaultTracer(std::string folder, const Fault& fault) : folder_(std::move(folder)), fault_(fault) {}

  template <class F>
  TracedRun run(const F& f) {
    const pid_t child = fork();
    if (child == 0) {
      if (ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) _exit(125);
      raise(SIGSTOP);
      _exit(f());
    }
    int status = 0;
    waitpid(child, &status, 0);
    if (!WIFSTOPPED(status)) return {.traced = false};
    ptrace(PTRACE_SETOPTIONS, child, nullptr,
           PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE | PTRACE_O_EXITKILL);
    ptrace(PTRACE_SYSCALL, child, nullptr, nullptr);
    return follow(child);
  }

 private:
  TracedRun follow(pid_t child) {
    TracedRun out;
    for (;;) {
      int status = 0;
      const pid_t thread = waitpid(-1, &status, __WALL);
      if (thread < 0) return out;
      if (thread == child && (WIFEXITED(status) || WIFSIGNALED(status))) {
        out.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
        return out;
      }
      if (!WIFSTOPPED(status)) continue;
      int signal = WSTOPSIG(status);
      if (signal == (SIGTRAP | 0x80)) {
        if (at_call(thread, out)) {
          kill(child, SIGKILL);
          continue;
        }
        signal = 0;
      } else if (signal == SIGTRAP || signal == SIGSTOP) {
        signal = 0;  // a new thread
      }
      ptrace(PTRACE_SYSCALL, thread, nullptr, signal);
    }
  }

  // True where the process is to be killed. Each call stops twice: before and after it.
  bool at_call(pid_t thread, TracedRun& out) {
    user_regs_struct r{};
    ptrace(PTRACE_GETREGS, thread, nullptr, &r);
    bool& inside = inside_[thread];
    inside = !inside;
    if (!inside) {
      if (fails_ == thread) {
        r.rax = static_cast<unsigned long long>(-fault_.error);
        ptrace(PTRACE_SETREGS, thread, nullptr, &r);
        fails_ = 0;
      }
      return false;
    }
    if (!counts(thread, r) || out.calls++ != fault_.at) return false;
    if (fault_.error == 0) return true;
    r.orig_rax = static_cast<unsigned long long>(-1);  // no call
    ptrace(PTRACE_SETREGS, thread, nullptr, &r);
    fails_ = thread;
    return false;
  }

  bool counts(pid_t thread, const user_regs_struct& r) const {
    const auto call = static_cast<long>(r.orig_rax);
    if (call == SYS_openat) {
      const bool writes = (r.rdx & (O_CREAT | O_WRONLY | O_RDWR | O_TRUNC)) != 0;
      return (writes || fault_.calls == Calls::opening) && is_inside(thread, r.rdi, r.rsi);
    }
    if (fault_.calls == Calls::opening) return false;
    switch (call) {
      case SYS_write:
      case SYS_writev:
      case SYS_pwrite64:
      case SYS_ftruncate:
      case SYS_fsync:
      case SYS_fdatasync:
      case SYS_fchmod:
      case SYS_flock: return is_inside(path_of(thread, r.rdi));
      case SYS_mkdirat:
      case SYS_unlinkat:
      case SYS_renameat:
      case SYS_renameat2:
      case SYS_linkat:
      case SYS_utimensat: return is_inside(thread, r.rdi, r.rsi);
      case SYS_mkdir:
      case SYS_unlink:
      case SYS_rmdir:
      case SYS_rename: return is_inside(text_at(thread, r.rdi));
      default: return false;
    }
  }
  bool is_inside(const std::string& path) const { return path.starts_with(folder_); }
  // Of a call with a folder's descriptor and a path.
  bool is_inside(pid_t thread, unsigned long long folder, unsigned long long path) const {
    const std::string text = path == 0 ? "" : text_at(thread, path);
    return is_inside(text.starts_with('/') ? text : path_of(thread, folder));
  }
  static std::string path_of(pid_t thread, unsigned long long descriptor) {
    char path[4096];
    const std::string link =
        "/proc/" + std::to_string(thread) + "/fd/" + std::to_string(static_cast<int>(descriptor));
    const ssize_t n = readlink(link.c_str(), path, sizeof path);
    return n < 0 ? "" : std::string(path, static_cast<size_t>(n));
  }
  static std::string text_at(pid_t thread, unsigned long long address) {
    std::string out;
    for (char c; out.size() < 4096; out += c) {
      const iovec to{&c, 1}, from{reinterpret_cast<void*>(address + out.size()), 1};
      if (process_vm_readv(thread, &to, 1, &from, 1, 0) != 1 || c == 0) break;
    }
    return out;
  }

  const std::string folder_;
  const Fault fault_;
  std::map<pid_t, bool> inside_;
  pid_t fails_ = 0;
};
#else
class FaultTracer {
 public:
  FaultTracer(const std::string&, const Fault&) {}
  template <class F>
  TracedRun run(const F&) {
    return {.traced = false};
  }
};
#endif

}  // namespace cleave::cache::test
