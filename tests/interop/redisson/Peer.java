// The real Redisson, driven by a test as java/Driven.java says.
//
//   lock c1 h1 plain orders                hand h1 of client c1 calls getLock("orders").lock()
//
//   client C single|sentinel|cluster address=h:p[,h:p…] [master=N] [user=U] [password=P] [ca=PEM] [keystore=P12
//            keystore_word=W] [watchdog_ms=N] [timeout_ms=N] [retries=N] [announce=publish|spublish]
//            [fair_wait_ms=N]              how long a fair waiter that fell silent keeps its place
//   close C · id C · holder C H
//   lock C H KIND NAME [lease_ms] · trylock C H KIND NAME wait_ms lease_ms · unlock C H KIND NAME · force C H KIND NAME
//   token C H fenced NAME lease_ms         lockAndGetToken(lease) as it is: it forgets the lease
//   trytoken C H fenced NAME               tryLockAndGetToken() as it is: it waits
//   held C H KIND NAME                     holds of this hand, whether locked at all, what is left of the ttl in ms
//   count C H KIND NAME KEY n              n times: lock, read KEY, pause up to 1 ms, write it plus 1, unlock
//   guard C H KIND NAME KEY n              the same, and fails if somebody else has written meanwhile; a reader only looks
//   permit C H set|available|acquire|tryacquire|release NAME …        a semaphore whose permits expire
//   semaphore C H set|available|acquire|tryacquire|release NAME n …
//   halt                                   as kill -9 would
//
// KIND: plain, fair, read, write, spin, fenced, multi, redlock. For the last two NAME is a list `[client/]name,…`.
// count and guard also know permit: the first permit of a semaphore whose permits expire, for as long as the watchdog.
// lock and trylock of a fenced lock answer the token too; a lease of -1 is renewed by Redisson's watchdog.

import java.io.FileInputStream;
import java.io.FileOutputStream;
import java.net.URL;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.KeyStore;
import java.security.cert.CertificateFactory;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import org.redisson.Redisson;
import org.redisson.RedissonMultiLock;
import org.redisson.RedissonRedLock;
import org.redisson.api.RBucket;
import org.redisson.api.RFencedLock;
import org.redisson.api.RLock;
import org.redisson.api.RPermitExpirableSemaphore;
import org.redisson.api.RSemaphore;
import org.redisson.api.RedissonClient;
import org.redisson.client.codec.StringCodec;
import org.redisson.config.BaseConfig;
import org.redisson.config.BaseMasterSlaveServersConfig;
import org.redisson.config.ClusterServersConfig;
import org.redisson.config.Config;
import org.redisson.config.ReadMode;
import org.redisson.config.SentinelServersConfig;
import org.redisson.config.SingleServerConfig;

public class Peer extends Driven<RedissonClient> {
    private final Map<String, RLock> locks = new ConcurrentHashMap<>();

    public static void main(String[] arguments) throws Exception {
        new Peer().serve();
    }

    @Override
    protected RedissonClient open(String topology, Map<String, String> settings) throws Exception {
        return Redisson.create(configuration(topology, settings));
    }

    @Override
    protected String obey(String verb, List<String> words) throws Exception {
        switch (verb) {
            case "close":
                client(words).shutdown();
                return "ok";
            case "id":
                return "ok " + client(words).getId();
            case "holder":
                return "ok " + client(words).getId() + ":" + Thread.currentThread().getId();
            case "lock":
                return lock(lock(words), words.size() > 4 ? number(words, 4) : -1);
            case "trylock":
                return tryLock(lock(words), number(words, 4), number(words, 5));
            case "unlock":
                lock(words).unlock();
                return "ok";
            case "token":
                return "ok " + ((RFencedLock) lock(words)).lockAndGetToken(number(words, 4), MS);
            case "trytoken":
                return "ok " + ((RFencedLock) lock(words)).tryLockAndGetToken();
            case "force":
                return "ok " + lock(words).forceUnlock();
            case "held":
                RLock lock = lock(words);
                return "ok " + lock.getHoldCount() + " " + lock.isLocked() + " " + lock.remainTimeToLive();
            case "count":
            case "guard":
                return count(words, client(words).getBucket(words.get(4), StringCodec.INSTANCE), verb.equals("guard"));
            case "permit":
                return permit(client(words).getPermitExpirableSemaphore(words.get(3)), words);
            case "semaphore":
                return semaphore(client(words).getSemaphore(words.get(3)), words);
            default:
                throw new IllegalArgumentException("there is no command " + verb);
        }
    }

    // ------------------------------------------------------------------------------------------------------- locks

    // Objects are kept: an RLock remembers its last lease, and its unlock writes that one.
    private RLock lock(List<String> words) {
        String client = words.get(0);
        String kind = words.get(2);
        String name = words.get(3);
        return locks.computeIfAbsent(client + " " + kind + " " + name, key -> makeLock(client, kind, name));
    }

    private RLock makeLock(String client, String kind, String name) {
        switch (kind) {
            case "plain":
                return client(client).getLock(name);
            case "fair":
                return client(client).getFairLock(name);
            case "read":
                return client(client).getReadWriteLock(name).readLock();
            case "write":
                return client(client).getReadWriteLock(name).writeLock();
            case "spin":
                return client(client).getSpinLock(name);
            case "fenced":
                return client(client).getFencedLock(name);
            case "multi":
                return new RedissonMultiLock(members(client, name));
            case "redlock":
                return new RedissonRedLock(members(client, name));
            default:
                throw new IllegalArgumentException("there is no kind of lock " + kind);
        }
    }

    private RLock[] members(String client, String list) {
        List<RLock> all = new ArrayList<>();
        for (String one : list.split(",")) {
            int slash = one.indexOf('/');
            all.add(client(slash < 0 ? client : one.substring(0, slash)).getLock(one.substring(slash + 1)));
        }
        return all.toArray(new RLock[0]);
    }

    private static String lock(RLock lock, long lease) {
        if (lock instanceof RFencedLock && lease < 0) {
            return "ok " + ((RFencedLock) lock).lockAndGetToken();
        }
        lock.lock(lease, MS);
        return lock instanceof RFencedLock ? "ok " + ((RFencedLock) lock).getToken() : "ok";
    }

    private static String tryLock(RLock lock, long wait, long lease) throws InterruptedException {
        if (lock instanceof RFencedLock) {
            Long token = ((RFencedLock) lock).tryLockAndGetToken(wait, lease, MS);
            return token == null ? "ok no" : "ok yes " + token;
        }
        return lock.tryLock(wait, lease, MS) ? "ok yes" : "ok no";
    }

    private String count(List<String> words, RBucket<String> key, boolean guarded) throws InterruptedException {
        if (words.get(2).equals("semaphore")) {
            return count(client(words).getSemaphore(words.get(3)), words, key, guarded);
        }
        boolean permits = words.get(2).equals("permit");
        RPermitExpirableSemaphore semaphore = client(words).getPermitExpirableSemaphore(words.get(3));
        boolean looks = words.get(2).equals("read");
        long lease = client(words).getConfig().getLockWatchdogTimeout();
        RLock lock = permits ? null : lock(words);
        for (long i = number(words, 5); i > 0; --i) {
            String permit = null;
            if (permits) {
                permit = semaphore.acquire(lease, MS); // nobody renews it: what the dead have must end
            } else {
                lock.lock();
            }
            try {
                addOne(key, guarded, looks);
            } finally {
                if (permits) {
                    semaphore.release(permit);
                } else {
                    lock.unlock();
                }
            }
            if (looks) {
                TimeUnit.MILLISECONDS.sleep(3); // writers get their turn
            }
        }
        return "ok " + words.get(5);
    }

    private static String count(RSemaphore semaphore, List<String> words, RBucket<String> key, boolean guarded)
            throws InterruptedException {
        for (long i = number(words, 5); i > 0; --i) {
            semaphore.acquire();
            try {
                addOne(key, guarded, false);
            } finally {
                semaphore.release();
            }
        }
        return "ok " + words.get(5);
    }

    private static void addOne(RBucket<String> key, boolean guarded, boolean looks) throws InterruptedException {
        String before = key.get();
        TimeUnit.MICROSECONDS.sleep(ThreadLocalRandom.current().nextInt(1000));
        if (guarded && !Objects.equals(key.get(), before)) {
            throw new IllegalStateException("PROMISE BROKEN somebody else was here");
        }
        if (looks) {
            return;
        }
        key.set(String.valueOf((before == null ? 0 : Long.parseLong(before)) + 1));
    }

    // -------------------------------------------------------------------------------------------------- semaphores

    private static String permit(RPermitExpirableSemaphore semaphore, List<String> words) throws InterruptedException {
        switch (words.get(2)) {
            case "set":
                return "ok " + semaphore.trySetPermits((int) number(words, 4));
            case "available":
                return "ok " + semaphore.availablePermits();
            case "acquire":
                return "ok " + (words.size() > 4 ? semaphore.acquire(number(words, 4), MS) : semaphore.acquire());
            case "tryacquire":
                return "ok " + semaphore.tryAcquire(number(words, 4), number(words, 5), MS);
            case "release":
                return "ok " + semaphore.tryRelease(words.get(4));
            default:
                throw new IllegalArgumentException("permit cannot " + words.get(2));
        }
    }

    private static String semaphore(RSemaphore semaphore, List<String> words) throws InterruptedException {
        int permits = words.size() > 4 ? (int) number(words, 4) : 1;
        switch (words.get(2)) {
            case "set":
                return "ok " + semaphore.trySetPermits(permits);
            case "available":
                return "ok " + semaphore.availablePermits();
            case "acquire":
                semaphore.acquire(permits);
                return "ok";
            case "tryacquire":
                // The order of these arguments is the one that both 3.x and 4.x still have.
                return "ok " + semaphore.tryAcquire(permits, number(words, 5), MS);
            case "release":
                semaphore.release(permits);
                return "ok";
            default:
                throw new IllegalArgumentException("semaphore cannot " + words.get(2));
        }
    }

    // ------------------------------------------------------------------------------------------------ configuration

    private static Config configuration(String topology, Map<String, String> settings) throws Exception {
        Config config = new Config();
        config.setThreads(4).setNettyThreads(4);
        if (settings.containsKey("watchdog_ms")) {
            config.setLockWatchdogTimeout(Long.parseLong(settings.get("watchdog_ms")));
        }
        if (settings.containsKey("fair_wait_ms")) {
            setFairWait(config, Long.parseLong(settings.get("fair_wait_ms")));
        }
        secure(serversOf(config, topology, settings), settings);
        return config;
    }

    private static BaseConfig<?> serversOf(Config config, String topology, Map<String, String> settings)
            throws ReflectiveOperationException {
        String scheme = settings.containsKey("ca") ? "rediss://" : "redis://";
        String[] addresses =
                Arrays.stream(settings.get("address").split(",")).map(one -> scheme + one).toArray(String[]::new);
        switch (topology) {
            case "single":
                SingleServerConfig single = config.useSingleServer();
                // Few of them: a JVM of a test need not open 24 connections to begin with.
                return single.setAddress(addresses[0]).setConnectionMinimumIdleSize(2).setConnectionPoolSize(32);
            case "sentinel":
                SentinelServersConfig sentinels = config.useSentinelServers();
                sentinels.setMasterName(settings.get("master")).addSentinelAddress(addresses).setScanInterval(500);
                return modest(sentinels);
            case "cluster":
                ClusterServersConfig cluster = config.useClusterServers();
                cluster.addNodeAddress(addresses).setScanInterval(500);
                announce(cluster, settings.get("announce"));
                return modest(cluster);
            default:
                throw new IllegalArgumentException("there is no topology " + topology);
        }
    }

    // Unknown to 3.27: found by its name.
    private static BaseConfig<?> modest(BaseMasterSlaveServersConfig<?> servers) {
        servers.setMasterConnectionMinimumIdleSize(2);
        servers.setSlaveConnectionMinimumIdleSize(2);
        servers.setReadMode(ReadMode.MASTER); // a counter read from a replica may be an old one
        return servers;
    }

    // 3.27.2 cannot be told: in a cluster of Redis 7 it announces sharded.
    private static void announce(ClusterServersConfig cluster, String how) throws ReflectiveOperationException {
        if (how != null) {
            Class<?> mode = Class.forName("org.redisson.config.ShardedSubscriptionMode");
            Object wanted = mode.getField(how.equals("spublish") ? "ON" : "OFF").get(null);
            ClusterServersConfig.class.getMethod("setShardedSubscriptionMode", mode).invoke(cluster, wanted);
        }
    }

    // 3.27.2 has its own idea of it.
    private static void setFairWait(Config config, long milliseconds) throws ReflectiveOperationException {
        Config.class.getMethod("setFairLockWaitTimeout", long.class).invoke(config, milliseconds);
    }

    // 4.x has these settings in a second place too; this one is common to both.
    private static void secure(BaseConfig<?> servers, Map<String, String> settings) throws Exception {
        servers.setUsername(settings.get("user"));
        servers.setPassword(settings.get("password"));
        if (settings.containsKey("timeout_ms")) {
            int time = Integer.parseInt(settings.get("timeout_ms"));
            servers.setTimeout(time);
            servers.setConnectTimeout(time);
        }
        if (settings.containsKey("retries")) {
            servers.setRetryAttempts(Integer.parseInt(settings.get("retries")));
        }
        if (settings.containsKey("ca")) {
            servers.setSslTruststore(truststoreOf(settings.get("ca")));
            servers.setSslTruststorePassword("changeit");
        }
        if (settings.containsKey("keystore")) {
            servers.setSslKeystore(Path.of(settings.get("keystore")).toUri().toURL());
            servers.setSslKeystorePassword(settings.get("keystore_word"));
        }
    }

    // Redisson wants a file of Java's own kind.
    private static URL truststoreOf(String pem) throws Exception {
        KeyStore store = KeyStore.getInstance(KeyStore.getDefaultType());
        store.load(null, null);
        try (FileInputStream in = new FileInputStream(pem)) {
            store.setCertificateEntry("authority", CertificateFactory.getInstance("X.509").generateCertificate(in));
        }
        Path file = Path.of(pem + ".truststore");
        if (!Files.exists(file)) {
            try (FileOutputStream to = new FileOutputStream(file.toFile())) {
                store.store(to, "changeit".toCharArray());
            }
        }
        return file.toUri().toURL();
    }
}
