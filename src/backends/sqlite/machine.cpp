#include "backends/sqlite/machine.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <fstream>
#include <sstream>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <utility>

namespace holdfast::sqlite {
namespace {

constexpr std::uint64_t fuse = 0x65735546;

// statfs(2) and the kernel's sources. GFS2 and OCFS2 lie on a shared disk: the same trouble.
constexpr std::array<std::pair<std::uint64_t, std::string_view>, 13> over_the_net{{
    {0x6969, "NFS"},
    {0x517B, "SMB"},
    {0xFF534D42, "CIFS"},
    {0xFE534D42, "SMB2"},
    {0x00C36400, "Ceph"},
    {0x5346414F, "AFS"},
    {0x6B414653, "AFS"},
    {0x01021997, "9P"},
    {0x0BD00BD0, "Lustre"},
    {0x01161970, "GFS2"},
    {0x7461636F, "OCFS2"},
    {0x73757245, "Coda"},
    {0x19830326, "BeeGFS"},
}};

// FUSE carries local file systems too (ntfs-3g, mergerfs): only those known to reach further.
constexpr std::array<std::string_view, 16> fuse_over_the_net{
    "virtiofs",
    "fuse.sshfs",
    "fuse.glusterfs",
    "fuse.ceph",
    "fuse.s3fs",
    "fuse.rclone",
    "fuse.gcsfuse",
    "fuse.davfs",
    "fuse.davfs2",
    "fuse.curlftpfs",
    "fuse.juicefs",
    "fuse.goofys",
    "fuse.smbnetfs",
    "fuse.mfs",
    "fuse.moosefs",
    "fuse.nfs",
};

/// The type in the line of mountinfo whose device is this one: "… 0:45 / /mnt opts … - fuse.sshfs
/// …".
[[nodiscard]] std::string mounted_as(dev_t device) {
    const auto wanted = std::to_string(major(device)) + ':' + std::to_string(minor(device));
    std::ifstream mounts{"/proc/self/mountinfo"};
    for (std::string line; std::getline(mounts, line);) {
        std::istringstream words{line};
        std::string id, parent, number, word, type;
        words >> id >> parent >> number;
        if (number != wanted)
            continue;
        while (words >> word && word != "-") {
        }
        words >> type;
        return type;
    }
    return {};
}

} // namespace

std::string_view network_kind(std::uint64_t magic, std::string_view type) noexcept {
    for (const auto& [number, name] : over_the_net)
        if (number == magic)
            return name;
    if (magic == fuse && std::find(fuse_over_the_net.begin(), fuse_over_the_net.end(), type) !=
                             fuse_over_the_net.end())
        return type;
    return {};
}

instant machine::now() const noexcept { return boot_clock::now(); }

std::string machine::clock_domain() const {
    std::string boot;
    std::ifstream{"/proc/sys/kernel/random/boot_id"} >> boot;
    if (boot.empty())
        return {};
    struct stat space {};
    const bool known =
        ::stat("/proc/self/ns/time", &space) == 0; // kernels before 5.6 have only one
    return boot + '/' + std::to_string(known ? space.st_ino : 0);
}

std::int64_t machine::wall_clock_us() const {
    const auto since_1970 = std::chrono::system_clock::now().time_since_epoch();
    return std::chrono::duration_cast<std::chrono::microseconds>(since_1970).count();
}

std::string machine::network_file_system(const std::string& directory) const {
    struct statfs system {};
    struct stat there {};
    if (::statfs(directory.c_str(), &system) != 0 || ::stat(directory.c_str(), &there) != 0)
        return {}; // opening the file will say why
    const auto magic = static_cast<std::uint32_t>(system.f_type);
    return std::string{
        network_kind(magic, magic == fuse ? mounted_as(there.st_dev) : std::string{})};
}

const machine& machine::real() noexcept {
    static constexpr struct itself final : machine {
    } here{};
    return here;
}

} // namespace holdfast::sqlite
