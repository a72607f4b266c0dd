// Curator's InterProcessMutex, measured. One client; all settings as they come, but it stays with the server that it was
// told, as the others do.

import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.retry.ExponentialBackoffRetry;

public class Bench extends Measured {
    private final CuratorFramework client;

    public static void main(String[] arguments) throws Exception {
        CuratorFramework client = CuratorFrameworkFactory.builder()
                .connectString(arguments[0])
                .retryPolicy(new ExponentialBackoffRetry(1000, 3))
                .ensembleTracker(false)
                .build();
        client.start();
        client.blockUntilConnected();
        new Bench(client).serve(CuratorFramework.class.getPackage().getImplementationVersion());
    }

    private Bench(CuratorFramework client) {
        this.client = client;
    }

    @Override
    protected Lock lockOf(String name) {
        InterProcessMutex lock = new InterProcessMutex(client, "/java/" + name);
        return new Lock() {
            public void lock() throws Exception {
                lock.acquire();
            }

            public void unlock() throws Exception {
                lock.release();
            }
        };
    }
}
