package detach

import (
	"net"
	"slices"
	"strconv"
	"time"

	"airgap.dev/airgap/internal/host"
)

const (
	queued     = 256 // frames for a client that is slow; then it is disconnected and can attach again
	firstFrame = 10 * time.Second
	lastFrame  = 10 * time.Second // for the queued frames at the end
)

// viewer is a client that shows the command.
type viewer struct {
	conn  net.Conn
	queue chan frame
}

// client serves a connection until its end.
func (u *unit) client(conn net.Conn) {
	defer conn.Close()
	u.mu.Lock()
	now := u.state
	u.mu.Unlock()
	hello, err := encoded(stateFrame, now)
	if err != nil || hello.write(conn) != nil {
		return
	}
	_ = conn.SetReadDeadline(time.Now().Add(firstFrame))
	first, err := readFrame(conn)
	if err != nil {
		return
	}
	_ = conn.SetReadDeadline(time.Time{})
	switch first.kind {
	case startFrame:
		u.startFor(conn, first)
	case attachFrame:
		var at host.Size
		if first.decode(&at) == nil && len(now.Args) > 0 {
			<-u.running
			if u.process != nil {
				u.process.Resize(at)
			}
			u.show(conn, false, func() {})
		}
	case dropFrame:
		u.mu.Lock()
		over := !u.state.Ended.IsZero()
		u.mu.Unlock()
		if over {
			u.end()
		}
	}
}

// startFor runs the request, unless another client was faster.
func (u *unit) startFor(conn net.Conn, f frame) {
	var r request
	if f.decode(&r) != nil || len(r.Args) == 0 {
		return
	}
	u.mu.Lock()
	first := len(u.state.Args) == 0
	if first {
		u.state.Args, u.state.Dir, u.state.Run, u.state.Since = r.Args, r.Dir, r.Run, time.Now()
	}
	u.mu.Unlock()
	if first {
		u.show(conn, true, func() { u.requests <- &r })
	}
}

// show sends the output so far and the following one, and passes on the client's keys. Only the client that
// started the command has its standard input.
func (u *unit) show(conn net.Conn, starter bool, begin func()) {
	v := &viewer{conn, make(chan frame, queued)}
	u.join(v)
	written := make(chan struct{})
	go func() { defer close(written); v.write() }()
	begin()
	<-u.running
	u.read(conn, starter)
	u.mu.Lock()
	u.leave(v)
	u.mu.Unlock()
	conn.Close()
	<-written
}

// join queues the output so far: 22 frames at most.
func (u *unit) join(v *viewer) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if f, err := encoded(placeFrame, u.place()); err == nil {
		v.queue <- f
	}
	for _, kind := range []byte{stdoutFrame, stderrFrame, ttyFrame} {
		if h := u.histories[kind]; h != nil {
			for text := range slices.Chunk(slices.Clone(h.text), historyPart) {
				v.queue <- frame{kind, text}
			}
		}
	}
	if !u.state.Ended.IsZero() {
		v.queue <- u.exit()
	}
	u.clients[v] = true
}

func (u *unit) read(conn net.Conn, starter bool) {
	if starter && u.process != nil {
		defer take(u.process, frame{eofFrame, nil})
	}
	for {
		f, err := readFrame(conn)
		if err != nil {
			return
		}
		of := f.kind == inputFrame || f.kind == eofFrame
		switch {
		case f.kind == seenFrame:
			u.end()
		case u.process != nil && (starter || !of):
			take(u.process, f)
		}
	}
}

func (v *viewer) write() {
	for f := range v.queue {
		if f.write(v.conn) != nil {
			v.conn.Close() // which ends read
		}
	}
}

// output keeps a part of the output and sends it to all clients. It never waits for one.
func (u *unit) output(kind byte, data []byte) {
	u.mu.Lock()
	defer u.mu.Unlock()
	h := u.histories[kind]
	if h == nil {
		h = &history{result: kind == stdoutFrame && u.state.Run != ""}
		u.histories[kind] = h
	}
	h.add(data)
	u.send(frame{kind, append([]byte(nil), data...)})
}

// send is called with the lock.
func (u *unit) send(f frame) {
	for v := range u.clients {
		select {
		case v.queue <- f:
		default:
			u.leave(v)
			v.conn.Close()
		}
	}
}

// leave is called with the lock.
func (u *unit) leave(v *viewer) {
	if u.clients[v] {
		delete(u.clients, v)
		close(v.queue)
	}
}

// place is called with the lock.
func (u *unit) place() place {
	p := place{Since: u.state.Since}
	if h := u.histories[stderrFrame]; h != nil {
		p.Err = h.gone
	}
	return p
}

func (u *unit) exit() frame { return frame{exitFrame, []byte(strconv.Itoa(u.state.Code))} }

func (u *unit) ended(code int) {
	u.mu.Lock()
	defer u.mu.Unlock()
	u.state.Ended, u.state.Code = time.Now(), code
	u.send(u.exit())
}

// disconnect ends all connections, after the frames that are queued.
func (u *unit) disconnect() {
	u.mu.Lock()
	defer u.mu.Unlock()
	for v := range u.clients {
		_ = v.conn.SetWriteDeadline(time.Now().Add(lastFrame))
		_ = v.conn.SetReadDeadline(time.Now().Add(lastFrame))
	}
}
