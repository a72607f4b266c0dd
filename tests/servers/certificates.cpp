#include "servers/certificates.hpp"
#include "cli/program.hpp"
#include "servers/folder.hpp"

#include <fstream>
#include <stdexcept>

namespace holdfast::servers {
namespace {

void openssl(const std::vector<std::string>& arguments) {
    std::vector<std::string> all{"openssl"};
    all.insert(all.end(), arguments.begin(), arguments.end());
    if (const auto how = cli_tests::call(all); how.code != 0)
        throw std::runtime_error{"openssl " + arguments.front() + ": " + how.err};
}

class workbench {
public:
    workbench() {
        make_authority("authority");
        make_authority("stranger");
        make_signed("server", "subjectAltName=IP:127.0.0.1,DNS:localhost");
        make_signed("client", "extendedKeyUsage=clientAuth");
        made_ = {.authority = room_ / "authority.crt",
                 .server = room_ / "server.crt",
                 .server_key = room_ / "server.key",
                 .client = room_ / "client.crt",
                 .client_key = room_ / "client.key",
                 .stranger_authority = room_ / "stranger.crt",
                 .client_keystore = room_ / "client.p12",
                 .client_keystore_word = "changeit"};
        openssl({"pkcs12",
                 "-export",
                 "-in",
                 made_.client,
                 "-inkey",
                 made_.client_key,
                 "-out",
                 made_.client_keystore,
                 "-passout",
                 "pass:" + made_.client_keystore_word});
    }
    [[nodiscard]] const certificates& made() const noexcept { return made_; }

private:
    void make_authority(const std::string& name) {
        openssl({"req",
                 "-x509",
                 "-newkey",
                 "ec",
                 "-pkeyopt",
                 "ec_paramgen_curve:P-256",
                 "-nodes",
                 "-days",
                 "2",
                 "-subj",
                 "/CN=holdfast " + name,
                 "-keyout",
                 room_ / (name + ".key"),
                 "-out",
                 room_ / (name + ".crt")});
    }
    void make_signed(const std::string& name, const std::string& extension) {
        openssl({"req",
                 "-newkey",
                 "ec",
                 "-pkeyopt",
                 "ec_paramgen_curve:P-256",
                 "-nodes",
                 "-subj",
                 "/CN=" + name,
                 "-keyout",
                 room_ / (name + ".key"),
                 "-out",
                 room_ / (name + ".csr")});
        std::ofstream{room_ / (name + ".ext")} << extension << '\n';
        openssl({"x509",
                 "-req",
                 "-days",
                 "2",
                 "-in",
                 room_ / (name + ".csr"),
                 "-CA",
                 room_ / "authority.crt",
                 "-CAkey",
                 room_ / "authority.key",
                 "-CAcreateserial",
                 "-extfile",
                 room_ / (name + ".ext"),
                 "-out",
                 room_ / (name + ".crt")});
    }

    folder room_;
    certificates made_;
};

} // namespace

const certificates& our_certificates() {
    static const workbench here;
    return here.made();
}

} // namespace holdfast::servers
