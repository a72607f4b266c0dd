#pragma once

// A certificate authority of this test process, made by openssl at first use and gone with it.

#include <string>

namespace holdfast::servers {

/// Of what clients say to a server. mutual: they need a certificate too.
enum class encryption { none, tls, mutual_tls };

/// Paths of PEM files. The server's certificate is for 127.0.0.1 and localhost.
struct certificates {
    std::string authority;
    std::string server, server_key;
    std::string client, client_key;
    std::string stranger_authority;   ///< signed none of them
    std::string client_keystore;      ///< client and its key as PKCS #12, for Java
    std::string client_keystore_word; ///< its password
};

[[nodiscard]] const certificates& our_certificates();

} // namespace holdfast::servers
