#include "backends/redis/transport.hpp"

#include <arpa/inet.h>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <memory>
#include <netdb.h>
#include <netinet/tcp.h>
#include <new>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <sys/un.h>
#include <system_error>
#include <unistd.h>
#include <vector>

namespace holdfast::redis {
namespace {

[[nodiscard]] std::string words_of(int error) { return std::generic_category().message(error); }

[[nodiscard]] std::string tls_words() {
    const auto code = ERR_get_error();
    ERR_clear_error();
    if (code == 0)
        return "the server ended the handshake";
    if (ERR_GET_REASON(code) == SSL_R_WRONG_VERSION_NUMBER)
        return std::string{speaks_no_tls}; // or nothing newer than 1.1
    const char* reason = ERR_reason_error_string(code);
    return reason != nullptr ? reason : "unknown reason";
}

[[noreturn]] void refuse(const std::string& what) {
    throw_error(errc::bad_option, what + ": " + tls_words());
}

} // namespace

// ------------------------------------------------------------------------------------------ TLS

class tls_context {
public:
    explicit tls_context(const tls_options& o)
        : raw_{SSL_CTX_new(TLS_client_method()), &SSL_CTX_free}, verify_{o.verify} {
        if (!raw_)
            refuse("TLS cannot be set up");
        SSL_CTX_set_min_proto_version(raw_.get(), TLS1_2_VERSION);
        SSL_CTX_set_mode(raw_.get(),
                         SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
        SSL_CTX_set_verify(raw_.get(), verify_ ? SSL_VERIFY_PEER : SSL_VERIFY_NONE, nullptr);
        if (!o.ca_file.empty()) {
            if (SSL_CTX_load_verify_locations(raw_.get(), o.ca_file.c_str(), nullptr) != 1)
                refuse("the CA file " + o.ca_file + " cannot be used");
        } else {
            SSL_CTX_set_default_verify_paths(raw_.get());
        }
        if (!o.certificate_file.empty() &&
            SSL_CTX_use_certificate_chain_file(raw_.get(), o.certificate_file.c_str()) != 1)
            refuse("the certificate file " + o.certificate_file + " cannot be used");
        if (!o.key_file.empty() &&
            SSL_CTX_use_PrivateKey_file(raw_.get(), o.key_file.c_str(), SSL_FILETYPE_PEM) != 1)
            refuse("the key file " + o.key_file + " cannot be used");
    }

    [[nodiscard]] SSL_CTX* raw() const noexcept { return raw_.get(); }
    [[nodiscard]] bool verifies() const noexcept { return verify_; }

private:
    std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> raw_;
    bool verify_;
};

std::shared_ptr<tls_context> make_tls_context(const tls_options& o) {
    return std::make_shared<tls_context>(o);
}

// OpenSSL's own way to a socket is write(), and whoever writes to one that was closed is killed by
// a signal; a library must not ask its users to ignore that. Ours is send() without it.
namespace {

[[nodiscard]] int socket_of(BIO* b) {
    return static_cast<int>(reinterpret_cast<std::intptr_t>(BIO_get_data(b)));
}

[[nodiscard]] int outcome_of(BIO* b, ssize_t n, int retry) {
    BIO_clear_retry_flags(b);
    if (n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR))
        BIO_set_flags(b, retry | BIO_FLAGS_SHOULD_RETRY);
    return static_cast<int>(n);
}

[[nodiscard]] BIO_METHOD* silent_socket() {
    static const std::unique_ptr<BIO_METHOD, decltype(&BIO_meth_free)> made{
        [] {
            auto* const m = BIO_meth_new(BIO_TYPE_SOURCE_SINK | BIO_get_new_index(), "socket");
            BIO_meth_set_write(m, [](BIO* b, const char* bytes, int size) {
                return outcome_of(
                    b,
                    ::send(socket_of(b), bytes, static_cast<std::size_t>(size), MSG_NOSIGNAL),
                    BIO_FLAGS_WRITE);
            });
            BIO_meth_set_read(m, [](BIO* b, char* into, int size) {
                return outcome_of(b,
                                  ::recv(socket_of(b), into, static_cast<std::size_t>(size), 0),
                                  BIO_FLAGS_READ);
            });
            BIO_meth_set_ctrl(m, [](BIO*, int what, long, void*) -> long {
                return what == BIO_CTRL_FLUSH ? 1 : 0;
            });
            return m;
        }(),
        &BIO_meth_free};
    return made.get();
}

[[nodiscard]] BIO* bio_of(int fd) {
    auto* const made = BIO_new(silent_socket());
    if (made == nullptr)
        throw std::bad_alloc{};
    BIO_set_data(made, reinterpret_cast<void*>(static_cast<std::intptr_t>(fd)));
    BIO_set_init(made, 1);
    return made;
}

} // namespace

struct transport::tls {
    std::shared_ptr<tls_context> context;
    std::unique_ptr<SSL, decltype(&SSL_free)> raw;

    tls(const std::shared_ptr<tls_context>& c, int fd, const std::string& server_name)
        : context{c}, raw{SSL_new(c->raw()), &SSL_free} {
        if (!raw)
            return;
        auto* const way = bio_of(fd);
        SSL_set_bio(raw.get(), way, way);
        unsigned char bytes[16];
        const bool number = ::inet_pton(AF_INET, server_name.c_str(), bytes) == 1 ||
                            ::inet_pton(AF_INET6, server_name.c_str(), bytes) == 1;
        if (number) {
            X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(raw.get()), server_name.c_str());
        } else {
            // What the macro SSL_set_tlsext_host_name() says, without its cast.
            SSL_ctrl(raw.get(),
                     SSL_CTRL_SET_TLSEXT_HOSTNAME,
                     TLSEXT_NAMETYPE_host_name,
                     const_cast<char*>(server_name.c_str()));
            SSL_set1_host(raw.get(), server_name.c_str());
        }
        SSL_set_connect_state(raw.get());
    }

    [[nodiscard]] io outcome(int returned) const {
        switch (SSL_get_error(raw.get(), returned)) {
        case SSL_ERROR_WANT_READ:
        case SSL_ERROR_WANT_WRITE:
            return io::would_block;
        default:
            return io::closed;
        }
    }
};

// ------------------------------------------------------------------------------------- the stream

transport::transport(const socket_address& to,
                     const std::shared_ptr<tls_context>& secure,
                     const std::string& server_name,
                     std::string& problem) {
    fd_ = ::socket(to.bytes.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd_ < 0) {
        problem = words_of(errno);
        return;
    }
    if (to.bytes.ss_family != AF_UNIX) {
        const int yes = 1;
        ::setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
        ::setsockopt(fd_, SOL_SOCKET, SO_KEEPALIVE, &yes, sizeof yes);
    }
    const auto* address = reinterpret_cast<const sockaddr*>(&to.bytes);
    if (::connect(fd_, address, to.size) != 0 && errno != EINPROGRESS) {
        problem = words_of(errno);
        ::close(fd_);
        fd_ = -1;
        return;
    }
    if (secure)
        tls_ = std::make_unique<tls>(secure, fd_, server_name);
}

transport::~transport() {
    tls_.reset();
    if (fd_ >= 0)
        ::close(fd_);
}

io transport::advance(bool& wants_to_write, std::string& problem) {
    wants_to_write = true;
    if (!connected_) {
        int error = 0;
        socklen_t size = sizeof error;
        ::getsockopt(fd_, SOL_SOCKET, SO_ERROR, &error, &size);
        sockaddr_storage peer{};
        socklen_t peer_size = sizeof peer;
        if (error == 0 && ::getpeername(fd_, reinterpret_cast<sockaddr*>(&peer), &peer_size) != 0)
            return io::would_block;
        if (error != 0) {
            problem = words_of(error);
            return io::closed;
        }
        connected_ = true;
    }
    if (!tls_)
        return io::done;
    const std::lock_guard lock{tls_guard_};
    ERR_clear_error();
    const int r = SSL_do_handshake(tls_->raw.get());
    if (r == 1)
        return io::done;
    const int why = SSL_get_error(tls_->raw.get(), r);
    if (why == SSL_ERROR_WANT_READ || why == SSL_ERROR_WANT_WRITE) {
        wants_to_write = why == SSL_ERROR_WANT_WRITE;
        return io::would_block;
    }
    const long verified = SSL_get_verify_result(tls_->raw.get());
    problem = verified != X509_V_OK && tls_->context->verifies()
                  ? X509_verify_cert_error_string(verified)
                  : tls_words();
    if (problem != speaks_no_tls)
        problem.insert(0, "TLS: ");
    return io::closed;
}

io transport::read(std::span<char> into, std::size_t& got) {
    if (tls_) {
        const std::lock_guard lock{tls_guard_};
        ERR_clear_error();
        const int n = SSL_read(tls_->raw.get(), into.data(), static_cast<int>(into.size()));
        if (n <= 0)
            return tls_->outcome(n);
        got = static_cast<std::size_t>(n);
        return io::done;
    }
    for (;;) {
        const auto n = ::recv(fd_, into.data(), into.size(), 0);
        if (n > 0) {
            got = static_cast<std::size_t>(n);
            return io::done;
        }
        if (n < 0 && errno == EINTR)
            continue;
        return n < 0 && (errno == EAGAIN || errno == EWOULDBLOCK) ? io::would_block : io::closed;
    }
}

io transport::write(std::string_view bytes, std::size_t& sent) {
    if (tls_) {
        const std::lock_guard lock{tls_guard_};
        ERR_clear_error();
        const auto most = std::min<std::size_t>(bytes.size(), 1 << 30);
        const int n = SSL_write(tls_->raw.get(), bytes.data(), static_cast<int>(most));
        if (n <= 0)
            return tls_->outcome(n);
        sent = static_cast<std::size_t>(n);
        return io::done;
    }
    for (;;) {
        const auto n = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
        if (n >= 0) {
            sent = static_cast<std::size_t>(n);
            return io::done;
        }
        if (errno == EINTR)
            continue;
        return errno == EAGAIN || errno == EWOULDBLOCK ? io::would_block : io::closed;
    }
}

bool answers_in_the_clear(const socket_address& to, duration at_most) {
    std::string problem;
    transport plain{to, nullptr, {}, problem};
    const auto until = boot_clock::now() + at_most;
    const auto ready = [&](short what) {
        pollfd one{plain.descriptor(), what, 0};
        const auto left =
            std::chrono::ceil<std::chrono::milliseconds>(until - boot_clock::now()).count();
        return left > 0 && ::poll(&one, 1, static_cast<int>(left)) == 1;
    };
    char first = 0;
    std::size_t moved = 0;
    return plain.descriptor() >= 0 && ready(POLLOUT) &&
           plain.write("PING\r\n", moved) == io::done && ready(POLLIN) &&
           plain.read({&first, 1}, moved) == io::done && (first == '+' || first == '-');
}

} // namespace holdfast::redis
