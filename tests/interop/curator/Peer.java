// The real Curator, driven by a test as java/Driven.java says.
//
//   lock c1 h1 mutex /orders               hand h1 of client c1 calls new InterProcessMutex(client, "/orders").acquire()
//
//   client C zookeeper address=h:p[,h:p…][/chroot] [session_ms=N] [connect_ms=N] [retries=N] [retry_ms=N] [namespace=N]
//   close C
//   session C                              its id, its password, both in hexadecimal, and its time-out in ms
//   address C                              what Curator writes into its nodes unless told otherwise
//   states C                               CONNECTED,SUSPENDED,… so far
//   lock C H KIND PATH · trylock C H KIND PATH wait_ms · unlock C H KIND PATH
//   held C H KIND PATH                     whether this hand has it, as far as Curator knows, and whether the process has
//   count C H KIND PATH FILE n             n times: lock, read FILE, pause up to 1 ms, write it plus 1, unlock
//   guard C H KIND PATH FILE n             the same, and fails if somebody else has written meanwhile; a reader only looks
//   permit C H set|acquire|tryacquire|release PATH …      a lease of an InterProcessSemaphoreV2, by the name of its node
//   revocable C H PATH                     from the next time on, this client's mutex can be asked to give it back
//   revoked C H PATH wait_ms               whether it was asked, once for each time
//   revoke C H NODE                        asks the holder of this node
//
// KIND: mutex, semaphore_mutex, read, write, multi (PATH is a list of mutexes); for count and guard also permit. A mutex
// is always fair, so fair is another word for it.
// Nothing is set that Curator would not set by itself, but the time-outs above.

import java.io.RandomAccessFile;
import java.net.InetAddress;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.Semaphore;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessLock;
import org.apache.curator.framework.recipes.locks.InterProcessMultiLock;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.recipes.locks.InterProcessReadWriteLock;
import org.apache.curator.framework.recipes.locks.InterProcessSemaphoreMutex;
import org.apache.curator.framework.recipes.locks.InterProcessSemaphoreV2;
import org.apache.curator.framework.recipes.locks.Lease;
import org.apache.curator.framework.recipes.locks.Revoker;
import org.apache.curator.retry.ExponentialBackoffRetry;
import org.apache.zookeeper.ZooKeeper;

public class Peer extends Driven<Peer.Connected> {
    static class Connected {
        CuratorFramework framework;
        final Queue<String> states = new ConcurrentLinkedQueue<>();
        // Objects are kept: they remember which hand holds what.
        final Map<String, InterProcessLock> locks = new ConcurrentHashMap<>();
        final Map<String, InterProcessReadWriteLock> readWriteLocks = new ConcurrentHashMap<>();
        final Map<String, InterProcessSemaphoreV2> semaphores = new ConcurrentHashMap<>();
        final Map<String, Lease> leases = new ConcurrentHashMap<>();
        final Map<String, Semaphore> revocations = new ConcurrentHashMap<>();
    }

    public static void main(String[] arguments) throws Exception {
        new Peer().serve();
    }

    @Override
    protected Connected open(String topology, Map<String, String> settings) throws Exception {
        Connected made = new Connected();
        CuratorFrameworkFactory.Builder builder = CuratorFrameworkFactory.builder()
                .connectString(settings.get("address"))
                .retryPolicy(new ExponentialBackoffRetry(
                        Integer.parseInt(settings.getOrDefault("retry_ms", "100")),
                        Integer.parseInt(settings.getOrDefault("retries", "5")),
                        2000)); // ms; otherwise the pauses would soon be minutes
        if (settings.containsKey("session_ms")) {
            builder.sessionTimeoutMs(Integer.parseInt(settings.get("session_ms")));
        }
        if (settings.containsKey("connect_ms")) {
            builder.connectionTimeoutMs(Integer.parseInt(settings.get("connect_ms")));
        }
        if (settings.containsKey("namespace")) {
            builder.namespace(settings.get("namespace"));
        }
        made.framework = builder.build();
        made.framework.getConnectionStateListenable().addListener((client, state) -> made.states.add(state.name()));
        made.framework.start();
        if (!made.framework.blockUntilConnected(60, TimeUnit.SECONDS)) {
            throw new IllegalStateException("not connected within a minute");
        }
        return made;
    }

    @Override
    protected String obey(String verb, List<String> words) throws Exception {
        switch (verb) {
            case "close":
                client(words).framework.close();
                return "ok";
            case "session":
                return "ok " + session(client(words).framework.getZookeeperClient().getZooKeeper());
            case "address":
                return "ok " + InetAddress.getLocalHost().getHostAddress();
            case "states":
                return "ok " + String.join(",", client(words).states);
            case "lock":
                lock(words).acquire();
                return "ok";
            case "trylock":
                return lock(words).acquire(number(words, 4), MS) ? "ok yes" : "ok no";
            case "unlock":
                lock(words).release();
                return "ok";
            case "held":
                return "ok " + ofHand(lock(words)) + " " + lock(words).isAcquiredInThisProcess();
            case "count":
            case "guard":
                return count(words, verb.equals("guard"));
            case "permit":
                return permit(client(words), words.get(2), words);
            case "revocable":
                makeRevocable(client(words), words.get(2));
                return "ok";
            case "revoked":
                return revocations(client(words), words.get(2)).tryAcquire(number(words, 3), MS) ? "ok yes" : "ok no";
            case "revoke":
                Revoker.attemptRevoke(client(words).framework, words.get(2));
                return "ok";
            default:
                throw new IllegalArgumentException("there is no command " + verb);
        }
    }

    private static String session(ZooKeeper of) {
        StringBuilder text = new StringBuilder(Long.toHexString(of.getSessionId())).append(' ');
        for (byte one : of.getSessionPasswd()) {
            text.append(String.format("%02x", one));
        }
        return text.append(' ').append(of.getSessionTimeout()).toString();
    }

    // ------------------------------------------------------------------------------------------------------- locks

    private InterProcessLock lock(List<String> words) {
        Connected client = client(words);
        String kind = words.get(2).equals("fair") ? "mutex" : words.get(2);
        String path = words.get(3);
        return client.locks.computeIfAbsent(kind + " " + path, key -> makeLock(client, kind, path));
    }

    private static InterProcessLock makeLock(Connected client, String kind, String path) {
        switch (kind) {
            case "mutex":
                return new InterProcessMutex(client.framework, path);
            case "semaphore_mutex":
                return new InterProcessSemaphoreMutex(client.framework, path);
            case "read":
                return readWriteLock(client, path).readLock();
            case "write":
                return readWriteLock(client, path).writeLock();
            case "multi":
                return new InterProcessMultiLock(client.framework, Arrays.asList(path.split(",")));
            default:
                throw new IllegalArgumentException("there is no kind of lock " + kind);
        }
    }

    private static InterProcessReadWriteLock readWriteLock(Connected client, String path) {
        return client.readWriteLocks.computeIfAbsent(path, key -> new InterProcessReadWriteLock(client.framework, path));
    }

    // Those that are no InterProcessMutex belong to no thread.
    private static boolean ofHand(InterProcessLock lock) {
        return lock instanceof InterProcessMutex
                ? ((InterProcessMutex) lock).isOwnedByCurrentThread()
                : lock.isAcquiredInThisProcess();
    }

    // -------------------------------------------------------------------------------------------------- revocation

    private void makeRevocable(Connected client, String path) {
        InterProcessMutex mutex =
                (InterProcessMutex) client.locks.computeIfAbsent("mutex " + path, key -> makeLock(client, "mutex", path));
        mutex.makeRevocable(asked -> revocations(client, path).release());
    }

    private static Semaphore revocations(Connected client, String path) {
        return client.revocations.computeIfAbsent(path, key -> new Semaphore(0));
    }

    // -------------------------------------------------------------------------------------------------- semaphores

    private static String permit(Connected client, String verb, List<String> words) throws Exception {
        String path = words.get(3);
        switch (verb) {
            case "set": // how many there are is told by each process, and stored nowhere
                client.semaphores.put(path, new InterProcessSemaphoreV2(client.framework, path, (int) number(words, 4)));
                return "ok true";
            case "acquire":
                return "ok " + kept(client, client.semaphores.get(path).acquire());
            case "tryacquire":
                return "ok " + kept(client, client.semaphores.get(path).acquire(number(words, 4), MS));
            case "release":
                client.leases.remove(words.get(4)).close();
                return "ok true";
            default:
                throw new IllegalArgumentException("permit cannot " + verb);
        }
    }

    private static String kept(Connected client, Lease lease) {
        if (lease == null) {
            return "null";
        }
        client.leases.put(lease.getNodeName(), lease);
        return lease.getNodeName();
    }

    // ---------------------------------------------------------------------------------------------------- counting

    private String count(List<String> words, boolean guarded) throws Exception {
        boolean permits = words.get(2).equals("permit");
        boolean looks = words.get(2).equals("read");
        InterProcessLock lock = permits ? null : lock(words);
        try (RandomAccessFile file = new RandomAccessFile(words.get(4), "rw")) {
            for (long i = number(words, 5); i > 0; --i) {
                Lease lease = null;
                if (permits) {
                    lease = client(words).semaphores.get(words.get(3)).acquire();
                } else {
                    lock.acquire();
                }
                try {
                    addOne(file, guarded, looks);
                } finally {
                    if (permits) {
                        lease.close();
                    } else {
                        lock.release();
                    }
                }
                if (looks) {
                    MS.sleep(3); // writers get their turn
                }
            }
        }
        return "ok " + words.get(5);
    }

    private static void addOne(RandomAccessFile file, boolean guarded, boolean looks) throws Exception {
        long before = read(file);
        TimeUnit.MICROSECONDS.sleep(ThreadLocalRandom.current().nextInt(1000));
        if (guarded && read(file) != before) {
            throw new IllegalStateException("PROMISE BROKEN somebody else was here");
        }
        if (!looks) {
            // One write of as many bytes as ever: who is killed leaves the old number or the new one.
            file.seek(0);
            file.write(String.format("%020d", before + 1).getBytes(StandardCharsets.US_ASCII));
        }
    }

    private static long read(RandomAccessFile file) throws Exception {
        byte[] digits = new byte[20];
        file.seek(0);
        int size = file.read(digits);
        return size <= 0 ? 0 : Long.parseLong(new String(digits, 0, size, StandardCharsets.US_ASCII));
    }
}
