package dataplane

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"airgap.dev/airgap/internal/listen"
)

// PathPort is the TCP and UDP port of a pod for measurements by other pods. It is in no Service, so
// only the pod network leads to it.
const PathPort = 8081

// The protocol is lines of text. The caller sends one of the hellos, and the pod answers with the
// identity of its process. Then the caller asks, and the pod answers each line:
//
//	ping N     the same line
//	train      "train ID": the caller sends UDP packets with this ID and a number
//	count      "count DROPPED N N N ...": packets that this host dropped itself, arrived ones by flow
//	order      "order DROPPED ARRIVED REORDERED": of a train with one flow
//	still N    the same line, on a connection that stays open for hours
//
// A pod that ends a long connection itself sends goodbye before.
const (
	helloMeasure = "airgap-path 1 measure"
	helloKeep    = "airgap-path 1 keep"
	greeting     = "airgap-path 1 process "
	goodbye      = "bye"
)

// Limits of the server, because each pod can connect to it.
const (
	maxLine      = 256 // bytes
	maxConns     = 256 // more connections are closed; perCaller limits those of one address
	maxKept      = 64  // of them long ones; the oldest one makes room
	maxKeptFrom  = 2   // long ones of one address
	maxQuestions = 100
	questionIdle = 10 * time.Second
	keptIdle     = 3 * time.Hour // longer than the idle intervals of schedule
	byeLimit     = 10 * time.Millisecond
)

// pathServer answers the measurements of other pods.
type pathServer struct {
	process string
	tcp     net.Listener
	udp     *net.UDPConn

	mu     sync.Mutex
	closed bool
	conns  map[net.Conn]bool
	trains map[uint64]*arrivals
	kept   []keptConn // the one with the oldest message first
}

type keptConn struct {
	*lines
	from string
}

// listenPaths listens at HOST:PORT. TCP keep-alive is off: it would hide idle limits of firewalls.
func listenPaths(ctx context.Context, address string) (*pathServer, error) {
	config := net.ListenConfig{KeepAlive: -1}
	tcp, err := config.Listen(ctx, "tcp4", address)
	if err != nil {
		return nil, err
	}
	packets, err := config.ListenPacket(ctx, "udp4", tcp.Addr().String())
	if err != nil {
		return nil, errors.Join(err, tcp.Close())
	}
	udp, _ := packets.(*net.UDPConn)
	_ = udp.SetReadBuffer(1 << 20) // the kernel gives less without privileges
	return &pathServer{process: rand.Text(), tcp: tcp, udp: udp, conns: map[net.Conn]bool{}, trains: map[uint64]*arrivals{}}, nil
}

// run answers until ctx ends.
func (s *pathServer) run(ctx context.Context) error {
	defer context.AfterFunc(ctx, s.close)()
	var group errgroup.Group
	group.Go(s.receive)
	group.Go(s.accept)
	if err := group.Wait(); ctx.Err() == nil {
		return err
	}
	return nil
}

func (s *pathServer) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for _, k := range s.kept {
		k.bye()
	}
	for conn := range s.conns {
		conn.Close()
	}
	s.tcp.Close()
	s.udp.Close()
}

// accept never waits with connections in the queue of the kernel: a full queue looks like a loss.
func (s *pathServer) accept() error {
	var all sync.WaitGroup
	defer all.Wait()
	listener := listen.PerAddress(s.tcp, perCaller, nil)
	for {
		conn, err := listener.Accept()
		switch {
		case errors.Is(err, net.ErrClosed):
			return err
		case err != nil: // too many open files
			time.Sleep(time.Second)
		case !s.enter(conn):
			conn.Close()
		default:
			all.Go(func() {
				defer s.leave(conn)
				s.answer(&lines{conn, bufio.NewReaderSize(conn, maxLine)})
			})
		}
	}
}

func (s *pathServer) enter(conn net.Conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || len(s.conns) >= maxConns {
		return false
	}
	s.conns[conn] = true
	return true
}

func (s *pathServer) leave(conn net.Conn) {
	conn.Close()
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.conns, conn)
}

func (s *pathServer) answer(l *lines) {
	hello, err := l.read(callLimit)
	if err != nil || hello != helloMeasure && hello != helloKeep || l.write(greeting+s.process) != nil {
		return
	}
	if hello == helloKeep {
		s.keep(l)
		return
	}
	s.measure(l)
}

// measure answers the questions of one measurement, which has at most one train at a time.
func (s *pathServer) measure(l *lines) {
	var id uint64
	defer func() { s.end(id) }()
	for range maxQuestions {
		question, err := l.read(questionIdle)
		if err != nil {
			return
		}
		answer := question
		switch {
		case question == "train":
			s.end(id)
			id = s.begin()
			answer = fmt.Sprintf("train %d", id)
		case question == "count":
			answer = s.count(id)
		case question == "order":
			answer = s.order(id)
		case !strings.HasPrefix(question, "ping "):
			return
		}
		if l.write(answer) != nil {
			return
		}
	}
}

func (s *pathServer) begin() uint64 {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails
	id := binary.BigEndian.Uint64(b[:])
	s.mu.Lock()
	defer s.mu.Unlock()
	s.trains[id] = &arrivals{}
	return id
}

func (s *pathServer) end(id uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.trains, id)
}

// count returns the arrived packets of a train.
func (s *pathServer) count(id uint64) string {
	dropped := ownDrops()
	s.mu.Lock()
	defer s.mu.Unlock()
	var by [flows]int
	if t := s.trains[id]; t != nil {
		by = t.byFlow()
	}
	return fmt.Sprintf("count %d %s", dropped, strings.Trim(fmt.Sprint(by), "[]"))
}

// order returns the number of arrived packets of a train with one flow, and of those behind a later one.
func (s *pathServer) order(id uint64) string {
	dropped := ownDrops()
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.trains[id]
	if t == nil {
		t = &arrivals{}
	}
	return fmt.Sprintf("order %d %d %d", dropped, t.count(), t.reordered)
}

// receive counts UDP packets. It answers none, so no caller can make it send packets elsewhere.
func (s *pathServer) receive() error {
	b := make([]byte, burstSize+1)
	for {
		n, _, err := s.udp.ReadFromUDPAddrPort(b)
		switch {
		case errors.Is(err, net.ErrClosed):
			return err
		case err != nil:
			time.Sleep(time.Second)
		case n == packetSize, n == burstSize:
			s.arrived(decodePacket(b))
		}
	}
}

func (s *pathServer) arrived(id uint64, number int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t := s.trains[id]; t != nil {
		t.add(number)
	}
}

// keep answers on a long connection.
func (s *pathServer) keep(l *lines) {
	k := keptConn{l, listen.Source(l.RemoteAddr().String())}
	defer s.forget(k)
	answer := ""
	for {
		for _, old := range s.touch(k) { // before the answer, so that the order is that of the questions
			old.bye()
		}
		if answer != "" && l.write(answer) != nil {
			break
		}
		line, err := l.read(keptIdle)
		if err != nil || !strings.HasPrefix(line, "still ") {
			break
		}
		answer = line
	}
	k.bye()
}

// touch makes the connection the newest one, and returns those that make room for it.
func (s *pathServer) touch(k keptConn) (old []keptConn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kept = append(slices.DeleteFunc(s.kept, func(o keptConn) bool { return o == k }), k)
	same := 0
	for _, o := range s.kept {
		if o.from == k.from {
			same++
		}
	}
	for i, o := range s.kept {
		if same > maxKeptFrom && o.from == k.from || same <= maxKeptFrom && len(s.kept) > maxKept {
			s.kept = slices.Delete(s.kept, i, i+1)
			return []keptConn{o}
		}
	}
	return nil
}

func (s *pathServer) forget(k keptConn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kept = slices.DeleteFunc(s.kept, func(o keptConn) bool { return o == k })
}

// bye ends a long connection so that the other pod knows it.
func (k keptConn) bye() {
	_ = k.SetWriteDeadline(time.Now().Add(byeLimit))
	_, _ = k.Write([]byte(goodbye + "\n")) // the connection may be broken
	k.Close()
}
