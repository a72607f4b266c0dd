// One lock, two languages: this program and share_with_curator.cpp add to the same counter in turn.
//
//   javac -cp 'curator/*' ShareWithCpp.java
//   java -cp 'curator/*:.' ShareWithCpp 127.0.0.1:2181 1000

import java.nio.file.Files;
import java.nio.file.Path;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.retry.ExponentialBackoffRetry;

public class ShareWithCpp {
    public static void main(String[] arguments) throws Exception {
        String servers = arguments.length > 0 ? arguments[0] : "127.0.0.1:2181";
        int times = arguments.length > 1 ? Integer.parseInt(arguments[1]) : 1000;
        Path file = Path.of(arguments.length > 2 ? arguments[2] : "counter.txt");

        CuratorFramework client = CuratorFrameworkFactory.newClient(servers, new ExponentialBackoffRetry(100, 10));
        client.start();
        InterProcessMutex turn = new InterProcessMutex(client, "/counter"); // holdfast::mutex turn{client, "/counter"}

        for (int i = 0; i < times; ++i) {
            turn.acquire();
            try {
                long count = Files.exists(file) ? Long.parseLong(Files.readString(file).trim()) : 0;
                Files.writeString(file, (count + 1) + "\n");
                if (i + 1 == times) {
                    System.out.printf("Java: %d turns done, counter %d%n", times, count + 1);
                }
            } finally {
                turn.release();
            }
        }
        client.close();
    }
}
