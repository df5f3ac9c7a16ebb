// A server of GET and PUT for tests, on a port of this machine: files by path in memory.
#pragma once
#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <map>
#include <mutex>
#include <string>
#include <thread>

namespace cleave::cache::test {

class HttpServer {
 public:
  HttpServer() : socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof at;
    if (bind(socket_, reinterpret_cast<sockaddr*>(&at), size) != 0 || listen(socket_, 16) != 0)
      return;
    getsockname(socket_, reinterpret_cast<sockaddr*>(&at), &size);
    port_ = ntohs(at.sin_port);
    thread_ = std::thread([this] { serve(); });
  }
  ~HttpServer() { stop(); }
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_); }
  void stop() {
    if (!thread_.joinable()) return;
    over_ = true;
    shutdown(socket_, SHUT_RDWR);
    thread_.join();
    close(socket_);
  }
  std::map<std::string, std::string> files() {
    const std::lock_guard lock(mutex_);
    return files_;
  }
  void set(const std::string& path, std::string contents) {
    const std::lock_guard lock(mutex_);
    files_[path] = std::move(contents);
  }
  // Answered instead of all else; 0: nothing.
  std::atomic<int> code = 0;
  std::atomic<int> requests = 0;

 private:
  void serve() {
    while (!over_) {
      const int client = accept(socket_, nullptr, nullptr);
      if (client < 0) continue;
      ++requests;
      answer(client);
      close(client);
    }
  }
  static bool more(int client, std::string& text) {
    char part[65536];
    const ssize_t n = recv(client, part, sizeof part, 0);
    if (n > 0) text.append(part, static_cast<size_t>(n));
    return n > 0;
  }
  static void say(int client, const std::string& text) {
    for (size_t done = 0; done < text.size();) {
      const ssize_t n = send(client, text.data() + done, text.size() - done, MSG_NOSIGNAL);
      if (n <= 0) return;
      done += static_cast<size_t>(n);
    }
  }
  void answer(int client) {
    std::string text;
    size_t end = std::string::npos;
    while ((end = text.find("\r\n\r\n")) == std::string::npos)
      if (!more(client, text)) return;
    const std::string head = text.substr(0, end + 2);
    std::string body = text.substr(end + 4);
    const size_t space = head.find(' ');
    const std::string path = head.substr(space + 1, head.find(' ', space + 1) - space - 1);
    if (head.find("Expect: 100-continue") != std::string::npos)
      say(client, "HTTP/1.1 100 Continue\r\n\r\n");
    size_t length = 0;
    if (const size_t at = head.find("Content-Length: "); at != std::string::npos)
      length = std::stoull(head.substr(at + 16));
    while (body.size() < length)
      if (!more(client, body)) return;
    int status = 200;
    std::string answer;
    {
      const std::lock_guard lock(mutex_);
      if (code != 0)
        status = code;
      else if (head.starts_with("PUT"))
        files_[path] = body;
      else if (const auto file = files_.find(path); file != files_.end())
        answer = file->second;
      else
        status = 404;
    }
    say(client, "HTTP/1.1 " + std::to_string(status) + " -\r\nConnection: close\r\n" +
                    "Content-Length: " + std::to_string(answer.size()) + "\r\n\r\n" + answer);
  }

  const int socket_;
  int port_ = 0;
  std::atomic<bool> over_ = false;
  std::mutex mutex_;
  std::map<std::string, std::string> files_;
  std::thread thread_;
};

}  // namespace cleave::cache::test
