// One lock, two languages: this program and share_with_java.cpp add to the same counter in turn.
//
//   javac -cp redisson-all.jar ShareWithCpp.java
//   java -cp redisson-all.jar:. ShareWithCpp redis://127.0.0.1:6379 1000

import java.nio.file.Files;
import java.nio.file.Path;
import org.redisson.Redisson;
import org.redisson.api.RFencedLock;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;

public class ShareWithCpp {
    public static void main(String[] arguments) throws Exception {
        String url = arguments.length > 0 ? arguments[0] : "redis://127.0.0.1:6379";
        int times = arguments.length > 1 ? Integer.parseInt(arguments[1]) : 1000;
        Path file = Path.of(arguments.length > 2 ? arguments[2] : "counter.txt");

        Config config = new Config();
        config.useSingleServer().setAddress(url);
        RedissonClient client = Redisson.create(config);
        RFencedLock turn = client.getFencedLock("counter"); // holdfast::mutex turn{client, "counter"}

        for (int i = 0; i < times; ++i) {
            Long fence = turn.lockAndGetToken();
            try {
                long count = Files.exists(file) ? Long.parseLong(Files.readString(file).trim()) : 0;
                Files.writeString(file, (count + 1) + "\n");
                if (i + 1 == times) {
                    System.out.printf("Java: %d turns done, fence %d, counter %d%n", times, fence, count + 1);
                }
            } finally {
                turn.unlock();
            }
        }
        client.shutdown();
    }
}
