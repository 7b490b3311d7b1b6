// Package execs sees every program that is started inside a cgroup, with its
// arguments and its environment, however short its life is.
//
// The kernel itself says so: a BPF program on the tracepoint
// sched_process_exec copies both while the new program has not run a single
// instruction. Nobody has to be quick, as somebody has who reads /proc, and
// nothing inside the cgroup can tell that it is watched.
//
// It needs root, a kernel with BPF and its own types (/sys/kernel/btf), and a
// cgroup v2 directory. A process without an exec of its own has its parent's
// arguments; a title that a process gives itself later is not seen.
package execs

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/cilium/ebpf/link"
	"github.com/cilium/ebpf/ringbuf"
)

// Exec is one program that was started.
type Exec struct {
	PID   int    // the outer machine's
	Child string // the cgroup right below the watched one that it is in; "" when that is gone
	Args  []string
	Env   []string
	Cut   bool // there was more than could be copied: the last strings are missing
}

// Count is what a Watcher has seen.
type Count struct {
	Execs int
	Lost  int // that the kernel had no room to tell of
	Cut   int
}

// A Watcher tells of execs until it is closed.
type Watcher struct {
	probe  *probe
	hook   link.Link
	reader *ringbuf.Reader
	places *places
	count  Count
	ended  chan struct{}
}

// Watch calls see, from one goroutine, for each program that is started below
// the cgroup v2 directory. Those that run already are not told.
func Watch(cgroup string, see func(Exec)) (*Watcher, error) {
	w, err := open(cgroup)
	if err != nil {
		return nil, fmt.Errorf("watch what is started in %s: %w", cgroup, err)
	}
	go w.loop(see)
	return w, nil
}

func open(cgroup string) (*Watcher, error) {
	places, err := placesAround(cgroup)
	if err != nil {
		return nil, err
	}
	w := &Watcher{places: places, ended: make(chan struct{})}
	if w.probe, err = loadProbe(cgroup, places.level+1); err != nil {
		return nil, errors.Join(err, places.close())
	}
	if w.reader, err = ringbuf.NewReader(w.probe.ring); err != nil {
		return nil, errors.Join(err, places.close(), w.probe.close())
	}
	w.hook, err = link.AttachRawTracepoint(link.RawTracepointOptions{Name: "sched_process_exec", Program: w.probe.program})
	if err != nil {
		return nil, errors.Join(err, places.close(), w.reader.Close(), w.probe.close())
	}
	return w, nil
}

// Close ends the watch, after see was told everything that had happened.
func (w *Watcher) Close() (Count, error) {
	errs := []error{w.hook.Close(), w.reader.Flush()}
	<-w.ended
	lost, err := w.probe.lost()
	w.count.Lost = lost
	return w.count, errors.Join(append(errs, err, w.reader.Close(), w.probe.close(), w.places.close())...)
}

// loop ends with Flush, or with a ring that cannot be read, which Close shows.
func (w *Watcher) loop(see func(Exec)) {
	defer close(w.ended)
	for {
		record, err := w.reader.Read()
		if err != nil {
			return
		}
		e, id := parse(record.RawSample)
		e.Child = w.places.name(id)
		w.count.Execs++
		if e.Cut {
			w.count.Cut++
		}
		see(e)
	}
}

// parse reads what the probe writes: see there.
func parse(record []byte) (e Exec, child uint64) {
	number := func(at int) uint64 { return binary.NativeEndian.Uint64(record[at:]) }
	args, all, failed := number(atArgs), number(atAll), number(atFailed)
	text := record[headerSize:]
	e.PID = int(number(atPID) >> 32)
	e.Cut = failed != 0 || all > uint64(len(text))
	if failed != 0 {
		text = nil
	}
	args = min(args, uint64(len(text)))
	e.Args, e.Env = split(text[:args]), split(text[args:min(all, uint64(len(text)))])
	return e, number(atChild)
}

// split takes strings apart that each end with a zero.
func split(text []byte) []string {
	var all []string
	for s := range bytes.SplitAfterSeq(text, []byte{0}) {
		if len(s) > 0 {
			all = append(all, string(bytes.TrimSuffix(s, []byte{0})))
		}
	}
	return all
}
