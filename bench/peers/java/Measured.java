// A lock of the Java world as somebody would use it, measured: one command a line on stdin, one answer a line on stdout.
//
//   alone N               lock and unlock, one thread, one name, N times
//   apart T N             T threads with a name each, N times in all
//   one T N               T threads, one name, N times in all
//   share FILE WHO T      T threads, one name, until the baton in FILE says that it is over (bench/crew.hpp)
//
// Answers `ok mean p50 p99`, in nanoseconds, or `error …`.

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.RandomAccessFile;
import java.nio.ByteOrder;
import java.nio.MappedByteBuffer;
import java.nio.channels.FileChannel;
import java.util.Arrays;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicLong;

abstract class Measured {
    /** What is unlocked was held, or it throws. */
    interface Lock {
        void lock() throws Exception;

        void unlock() throws Exception;
    }

    /** Each thread asks for one of its own. */
    protected abstract Lock lockOf(String name);

    /** What only this peer can do. */
    protected String more(String[] words) throws Exception {
        throw new IllegalArgumentException(words[0]);
    }

    /** Until stdin ends. */
    protected final void serve(String version) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        System.out.println("ready " + version);
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            try {
                System.out.println("ok " + run(line.split(" ")));
            } catch (Exception failed) {
                System.out.println("error " + failed);
            }
        }
        System.exit(0);
    }

    private String run(String[] words) throws Exception {
        switch (words[0]) {
            case "alone":
                return threads(1, Long.parseLong(words[1]));
            case "apart":
                return threads(Integer.parseInt(words[1]), Long.parseLong(words[2]));
            case "one":
                return one(Integer.parseInt(words[1]), Long.parseLong(words[2]));
            case "share":
                return share(words[1], Integer.parseInt(words[2]), Integer.parseInt(words[3]));
            default:
                return more(words);
        }
    }

    private String threads(int threads, long cycles) throws Exception {
        long each = Math.max(1, cycles / threads);
        Notes[] notes = new Notes[threads];
        long took = together(threads, who -> {
            Lock lock = lockOf("apart-" + who);
            Notes mine = notes[who] = new Notes(each);
            for (long i = 0; i < each; i++) {
                long begin = System.nanoTime();
                lock.lock();
                lock.unlock();
                mine.add(System.nanoTime() - begin);
            }
        });
        return result(took, each * threads, notes);
    }

    private long counter; // plain on purpose: only the lock makes it exact

    private String one(int threads, long cycles) throws Exception {
        counter = 0;
        AtomicLong entered = new AtomicLong();
        Notes[] notes = new Notes[threads];
        long took = together(threads, who -> {
            Lock lock = lockOf("one");
            Notes mine = notes[who] = new Notes(cycles);
            for (boolean over = false; !over; ) {
                long begin = System.nanoTime();
                lock.lock();
                over = ++counter >= cycles;
                entered.incrementAndGet();
                lock.unlock();
                mine.add(System.nanoTime() - begin);
            }
        });
        if (entered.get() != counter) throw new IllegalStateException("two at once: " + entered + ", " + counter);
        return result(took, counter, notes);
    }

    // ------------------------------------------------------------------------------- the shared baton, as in crew.hpp

    private static final int COUNTER = 0, LEFT_AT = 16, LAST = 24, HAND_OFFS = 32, ENOUGH = 40, OVER = 48, TALLIES = 56;
    private static final int ROOM = 1 << 15, TALLY = 8 + 8 + 4 + 4 * ROOM + 4;

    private String share(String file, int who, int threads) throws Exception {
        try (RandomAccessFile opened = new RandomAccessFile(file, "rw")) {
            MappedByteBuffer baton = opened.getChannel().map(FileChannel.MapMode.READ_WRITE, 0, TALLIES + 8L * TALLY);
            baton.order(ByteOrder.nativeOrder());
            long took = together(threads, ignored -> {
                Lock lock = lockOf("shared");
                while (baton.getInt(OVER) == 0) {
                    lock.lock();
                    enter(baton, who);
                    baton.putLong(LAST, who);
                    baton.putLong(LEFT_AT, System.nanoTime());
                    lock.unlock();
                }
            });
            return took + " 0 0";
        }
    }

    private static void enter(MappedByteBuffer baton, int who) {
        long now = System.nanoTime(); // the same clock as the others': CLOCK_MONOTONIC
        int mine = TALLIES + who * TALLY;
        baton.putLong(COUNTER, baton.getLong(COUNTER) + 1);
        baton.putLong(mine, baton.getLong(mine) + 1);
        long left = baton.getLong(LEFT_AT);
        if (baton.getLong(LAST) == who || left == 0) return;
        baton.putLong(mine + 8, baton.getLong(mine + 8) + 1);
        int kept = baton.getInt(mine + 16);
        if (kept < ROOM) {
            baton.putFloat(mine + 20 + 4 * kept, now - left);
            baton.putInt(mine + 16, kept + 1);
        }
        long handed = baton.getLong(HAND_OFFS) + 1;
        baton.putLong(HAND_OFFS, handed);
        if (handed == baton.getLong(ENOUGH)) baton.putInt(OVER, 1);
    }

    // ------------------------------------------------------------------------------------------------------ measuring

    /** What one hand has noted. */
    protected static final class Notes {
        final float[] all;
        int count = 0;

        Notes(long room) {
            all = new float[(int) room];
        }

        void add(long nanoseconds) {
            if (count < all.length) all[count++] = nanoseconds;
        }
    }

    private final ExecutorService hands = Executors.newCachedThreadPool(work -> {
        Thread made = new Thread(work);
        made.setDaemon(true);
        return made;
    });

    private interface Work {
        void accept(int who) throws Exception;
    }

    private long together(int threads, Work work) throws Exception {
        CountDownLatch ready = new CountDownLatch(threads), go = new CountDownLatch(1);
        List<Future<?>> all = new ArrayList<>();
        for (int i = 0; i < threads; i++) {
            int who = i;
            all.add(hands.submit(() -> {
                ready.countDown();
                go.await();
                work.accept(who);
                return null;
            }));
        }
        ready.await();
        long begin = System.nanoTime();
        go.countDown();
        for (Future<?> one : all) one.get();
        return System.nanoTime() - begin;
    }

    protected static String result(long took, long cycles, Notes[] notes) {
        int count = 0;
        for (Notes one : notes) count += one.count;
        float[] all = new float[count];
        int at = 0;
        for (Notes one : notes) {
            System.arraycopy(one.all, 0, all, at, one.count);
            at += one.count;
        }
        Arrays.sort(all);
        return (double) took / cycles + " " + all[count / 2] + " " + all[(int) (count * 0.99)];
    }
}
