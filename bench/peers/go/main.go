// The Redis locks of Go, measured: one command a line on stdin, one answer a line on stdout.
//
//	rueidislock ADDRESS | redsync ADDRESS
//
//	alone N      lock and unlock, one goroutine, one name, N times
//	apart T N    T goroutines with a name each, N times in all
//
// Answers `ok mean p50 p99`, in nanoseconds, or `error …`.
//
// rueidislock renews by itself, as we do; it guards one key instead of its usual three, as there is one server.
// redsync does not renew.
package main

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	goredislib "github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidislock"
)

const ttl = 30 * time.Second

// cycle locks and unlocks a name once.
type cycle func() error

func ofRueidis(address string) (func(string) cycle, error) {
	locker, err := rueidislock.NewLocker(rueidislock.LockerOption{
		ClientOption:   rueidis.ClientOption{InitAddress: []string{address}},
		KeyMajority:    1,
		NoLoopTracking: true,
		KeyValidity:    ttl,
		ExtendInterval: ttl / 3,
		TryNextAfter:   time.Second, // it is how long one attempt may take, too
	})
	return func(name string) cycle {
		return func() error {
			_, release, err := locker.WithContext(context.Background(), name)
			if err == nil {
				release() // and waits until it is gone
			}
			return err
		}
	}, err
}

func ofRedsync(address string) (func(string) cycle, error) {
	client := goredislib.NewClient(&goredislib.Options{Addr: address, PoolSize: 64})
	all := redsync.New(goredis.NewPool(client))
	return func(name string) cycle {
		mutex := all.NewMutex("redsync:"+name, redsync.WithExpiry(ttl))
		return func() error {
			if err := mutex.Lock(); err != nil {
				return err
			}
			ok, err := mutex.Unlock()
			if err == nil && !ok {
				err = fmt.Errorf("%s was not held", name)
			}
			return err
		}
	}, client.Ping(context.Background()).Err()
}

func measure(many, cycles int, of func(string) cycle) (string, error) {
	each := max(1, cycles/many)
	notes := make([][]float64, many)
	failed := make(chan error, many)
	var ready, done sync.WaitGroup
	ready.Add(many)
	begin := make(chan struct{})
	for who := range many {
		done.Go(func() {
			once := of(fmt.Sprint("orders/", who))
			mine := make([]float64, 0, each)
			ready.Done()
			<-begin
			for range each {
				from := time.Now()
				if err := once(); err != nil {
					failed <- err
					return
				}
				mine = append(mine, float64(time.Since(from)))
			}
			notes[who] = mine
		})
	}
	ready.Wait()
	from := time.Now()
	close(begin)
	done.Wait()
	took := float64(time.Since(from))
	select {
	case err := <-failed:
		return "", err
	default:
	}
	all := slices.Concat(notes...)
	slices.Sort(all)
	return fmt.Sprint(took/float64(len(all)), " ", all[len(all)/2], " ", all[len(all)*99/100]), nil
}

func run(line string, of func(string) cycle) (string, error) {
	var many, cycles int
	if _, err := fmt.Sscanf(line, "alone %d", &cycles); err == nil {
		return measure(1, cycles, of)
	}
	if _, err := fmt.Sscanf(line, "apart %d %d", &many, &cycles); err == nil {
		return measure(many, cycles, of)
	}
	return "", fmt.Errorf("not understood: %s", line)
}

func main() {
	open := map[string]func(string) (func(string) cycle, error){"rueidislock": ofRueidis, "redsync": ofRedsync}[os.Args[1]]
	of, err := open(os.Args[2])
	if err != nil {
		fmt.Println("error", err)
		return
	}
	fmt.Println("ready")
	for in := bufio.NewScanner(os.Stdin); in.Scan(); {
		if answer, err := run(in.Text(), of); err != nil {
			fmt.Println("error", err)
		} else {
			fmt.Println("ok", answer)
		}
	}
}
