// Package execs reports every program that starts inside a cgroup, with its
// arguments and its environment, also if the program runs for a very short time.
//
// A BPF program on the tracepoint sched_process_exec copies both before the new
// program runs its first instruction. A reader of /proc would miss short programs.
// Programs inside the cgroup cannot detect the probe.
//
// The package needs root, a kernel with BPF and BTF (/sys/kernel/btf), and a cgroup v2
// directory. It does not report a fork without exec, which has the arguments of its
// parent, and no title that a process sets later.
package execs

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/cilium/ebpf/link"
	"github.com/cilium/ebpf/ringbuf"
)

// Exec is the start of one program.
type Exec struct {
	PID   int    // in the PID namespace of the outer machine
	Child string // its cgroup directly below the watched one; "" if that was removed
	Args  []string
	Env   []string
	Cut   bool // the text was too long to copy: the last strings are missing
}

// Count has the totals of a Watcher.
type Count struct {
	Execs int
	Lost  int // records for which the ring buffer had no space
	Cut   int
}

// A Watcher reports execs until it is closed.
type Watcher struct {
	probe  *probe
	hook   link.Link
	reader *ringbuf.Reader
	places *places
	count  Count
	ended  chan struct{}
}

// Watch calls see, from one goroutine, for each program that starts below the
// cgroup v2 directory. It does not report programs that run already.
func Watch(cgroup string, see func(Exec)) (*Watcher, error) {
	w, err := open(cgroup)
	if err != nil {
		return nil, fmt.Errorf("watch the programs that start in %s: %w", cgroup, err)
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

// Close ends the watch after see was called for all earlier execs.
func (w *Watcher) Close() (Count, error) {
	errs := []error{w.hook.Close(), w.reader.Flush()}
	<-w.ended
	lost, err := w.probe.lost()
	w.count.Lost = lost
	return w.count, errors.Join(append(errs, err, w.reader.Close(), w.probe.close(), w.places.close())...)
}

// loop ends after Flush, or when the ring buffer cannot be read, which Close reports.
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

// parse reads a record of the probe. The format is at the constants in probe.go.
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

// split returns the strings of a text in which each string ends with a zero byte.
func split(text []byte) []string {
	var all []string
	for s := range bytes.SplitAfterSeq(text, []byte{0}) {
		if len(s) > 0 {
			all = append(all, string(bytes.TrimSuffix(s, []byte{0})))
		}
	}
	return all
}
