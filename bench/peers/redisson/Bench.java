// Redisson, measured. One client; all settings as they come, so the watchdog renews. More than the others can:
//
//   flying T N            as apart, without threads: T locks on their way at any time, lockAsync and unlockAsync

import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicLong;
import org.redisson.Redisson;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;

public class Bench extends Measured {
    private final RedissonClient client;

    public static void main(String[] arguments) throws Exception {
        Config how = new Config();
        how.useSingleServer().setAddress("redis://" + arguments[0]);
        new Bench(Redisson.create(how)).serve(Redisson.class.getPackage().getImplementationVersion());
    }

    private Bench(RedissonClient client) {
        this.client = client;
    }

    @Override
    protected Lock lockOf(String name) {
        RLock lock = client.getLock("java/" + name);
        return new Lock() {
            public void lock() {
                lock.lock();
            }

            public void unlock() {
                lock.unlock();
            }
        };
    }

    @Override
    protected String more(String[] words) throws Exception {
        if (!words[0].equals("flying")) return super.more(words);
        return flying(Integer.parseInt(words[1]), Long.parseLong(words[2]));
    }

    private String flying(int many, long cycles) throws Exception {
        AtomicLong left = new AtomicLong(cycles);
        Notes[] notes = new Notes[many];
        List<CompletableFuture<Void>> all = new ArrayList<>();
        long begin = System.nanoTime();
        for (int who = 0; who < many; who++) {
            CompletableFuture<Void> done = new CompletableFuture<>();
            all.add(done);
            again(client.getLock("java/" + who), who + 1, left, notes[who] = new Notes(cycles * 8 / many + 64), done);
        }
        for (CompletableFuture<Void> one : all) one.get();
        return result(System.nanoTime() - begin, cycles, notes);
    }

    private void again(RLock lock, long holder, AtomicLong left, Notes notes, CompletableFuture<Void> done) {
        if (left.getAndDecrement() <= 0) {
            done.complete(null);
            return;
        }
        long begin = System.nanoTime();
        lock.lockAsync(holder).thenCompose(held -> lock.unlockAsync(holder)).whenComplete((gone, failed) -> {
            if (failed != null) {
                done.completeExceptionally(failed);
                return;
            }
            notes.add(System.nanoTime() - begin);
            again(lock, holder, left, notes, done);
        });
    }
}
