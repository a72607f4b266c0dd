// A library in Java, driven by a test: one command a line on stdin, one answer a line on stdout.
//
//   7 lock c1 h1 plain orders      ──▶  hand h1 of client c1 does it
//   7 ok                           ◀──  the tag says which command is answered; a waiting one answers late
//
// A hand is a thread: locks in Java belong to threads, so each hand is a holder of its own. Commands of one hand
// are done in their order, those of different hands side by side. A failure is answered `7 error Class: message`.

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;

abstract class Driven<Client> {
    protected static final TimeUnit MS = TimeUnit.MILLISECONDS;

    private final Map<String, Client> clients = new ConcurrentHashMap<>();
    private final Map<String, ExecutorService> hands = new ConcurrentHashMap<>();
    private final PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);

    /** A client with this topology and these settings. */
    protected abstract Client open(String topology, Map<String, String> settings) throws Exception;

    /** The words begin with the client and, if there are more, with the hand. */
    protected abstract String obey(String verb, List<String> words) throws Exception;

    protected final void serve() throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] words = line.split(" ");
            if (isOfHand(words)) {
                hands.computeIfAbsent(words[2] + "/" + words[3], name -> Executors.newSingleThreadExecutor(Driven::daemon))
                        .execute(() -> answer(words));
            } else {
                answer(words); // before the next line is read: a client exists before it is used
            }
        }
        Runtime.getRuntime().halt(0); // the test has gone; nobody waits for a clean end
    }

    private static Thread daemon(Runnable work) {
        Thread thread = new Thread(work);
        thread.setDaemon(true);
        return thread;
    }

    private static boolean isOfHand(String[] words) {
        return words.length > 3 && !words[1].equals("client");
    }

    private synchronized void say(String line) {
        out.println(line);
    }

    private void answer(String[] words) {
        try {
            say(words[0] + " " + obeyOrOpen(words[1], Arrays.asList(words).subList(2, words.length)));
        } catch (Throwable e) {
            String message = String.valueOf(e.getMessage()).replaceAll("\\s+", " ");
            say(words[0] + " error " + e.getClass().getSimpleName() + ": " + message);
        }
    }

    private String obeyOrOpen(String verb, List<String> words) throws Exception {
        switch (verb) {
            case "client":
                clients.put(words.get(0), open(words.get(1), settings(words)));
                return "ok";
            case "halt":
                Runtime.getRuntime().halt(137);
                return "";
            default:
                return obey(verb, words);
        }
    }

    protected static long number(List<String> words, int place) {
        return Long.parseLong(words.get(place));
    }

    protected final Client client(List<String> words) {
        return client(words.get(0));
    }

    protected final Client client(String name) {
        Client found = clients.get(name);
        if (found == null) {
            throw new IllegalArgumentException("there is no client " + name);
        }
        return found;
    }

    private static Map<String, String> settings(List<String> words) {
        Map<String, String> all = new HashMap<>();
        for (String word : words.subList(2, words.size())) {
            int sign = word.indexOf('=');
            all.put(word.substring(0, sign), word.substring(sign + 1));
        }
        return all;
    }
}
