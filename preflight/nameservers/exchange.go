package nameservers

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"strings"
	"syscall"
	"time"

	"golang.org/x/net/dns/dnsmessage"
)

const (
	tries    = 5
	tryEvery = time.Second
	// A closed port answers at once, so it is tried less often and in shorter intervals: a service may be
	// starting again.
	closedTries = 3
	closedEvery = 400 * time.Millisecond
	// tcpLimit is enough for two lost SYNs, which the kernel sends again after one and three seconds.
	tcpLimit = 8 * time.Second
	// maxAnswer is the largest message of DNS by TCP.
	maxAnswer    = 1 << 16
	maxAddresses = 8
)

const noAnswer = "no answer"

// answer is the answer to one question.
type answer struct {
	code      dnsmessage.RCode
	addresses []netip.Addr
}

// final reports whether the server knows that the name exists, or that it does not.
func (a answer) final() bool {
	return a.code == dnsmessage.RCodeSuccess || a.code == dnsmessage.RCodeNameError
}

// query is a question on the wire.
func query(id uint16, q dnsmessage.Question) ([]byte, error) {
	m := dnsmessage.Message{Header: dnsmessage.Header{ID: id, RecursionDesired: true}, Questions: []dnsmessage.Question{q}}
	return m.Pack()
}

// base is the number of the first question; the others follow. A random one keeps others from
// guessing the answer.
func base() uint16 {
	var b [2]byte
	_, _ = rand.Read(b[:]) // never fails: the program would exit
	return binary.BigEndian.Uint16(b[:])
}

// parse reads the answer to one of the questions; ok is false for any other message.
func parse(b []byte, first uint16, questions []dnsmessage.Question) (number int, a answer, ok bool) {
	var p dnsmessage.Parser
	header, err := p.Start(b)
	number = int(header.ID - first) // wraps around
	if err != nil || !header.Response || number >= len(questions) {
		return 0, answer{}, false
	}
	asked, err := p.Question()
	if err != nil || asked.Type != questions[number].Type || !strings.EqualFold(asked.Name.String(), questions[number].Name.String()) {
		return 0, answer{}, false
	}
	a.code = header.RCode
	if p.SkipAllQuestions() != nil {
		return number, a, true
	}
	for len(a.addresses) < maxAddresses {
		h, err := p.AnswerHeader()
		if err != nil {
			break
		}
		if h.Type != dnsmessage.TypeA {
			if p.SkipAnswer() != nil {
				break
			}
			continue
		}
		r, err := p.AResource()
		if err != nil {
			break
		}
		a.addresses = append(a.addresses, netip.AddrFrom4(r.A))
	}
	return number, a, true
}

// askUDP returns the answers by the number of their question, and the last error.
func askUDP(ctx context.Context, server netip.AddrPort, questions []dnsmessage.Question) (map[int]answer, error) {
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "udp", server.String())
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { conn.Close() })()
	first, answers := base(), map[int]answer{}
	buf := make([]byte, maxAnswer)
	var last error
	closed := 0
	for try := 0; try < tries && closed < closedTries && len(answers) < len(questions) && ctx.Err() == nil; try++ {
		began := time.Now()
		_ = conn.SetDeadline(began.Add(tryEvery))
		for i, q := range questions {
			if _, known := answers[i]; known {
				continue
			}
			b, err := query(first+uint16(i), q)
			if err != nil {
				return answers, err
			}
			if _, err := conn.Write(b); err != nil {
				last = err
			}
		}
		for len(answers) < len(questions) {
			n, err := conn.Read(buf)
			if errors.Is(err, os.ErrDeadlineExceeded) || ctx.Err() != nil {
				break
			}
			if err != nil { // a router or the host says that the port is closed
				last, closed = err, closed+1
				select {
				case <-time.After(time.Until(began.Add(closedEvery))):
				case <-ctx.Done():
				}
				break
			}
			if number, a, ok := parse(buf[:n], first, questions); ok {
				answers[number] = a
			}
		}
	}
	return answers, last
}

// askTCP returns an error unless the server answers a question by TCP. It tries twice: a server
// under load can close the first connection.
func askTCP(ctx context.Context, server netip.AddrPort, questions []dnsmessage.Question) error {
	err := askTCPOnce(ctx, server, questions)
	if err != nil && ctx.Err() == nil && !errors.Is(err, os.ErrDeadlineExceeded) {
		time.Sleep(tryEvery)
		err = askTCPOnce(ctx, server, questions)
	}
	return err
}

func askTCPOnce(ctx context.Context, server netip.AddrPort, questions []dnsmessage.Question) error {
	ctx, cancel := context.WithTimeout(ctx, tcpLimit)
	defer cancel()
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "tcp", server.String())
	if err != nil {
		return err
	}
	defer conn.Close()
	until, _ := ctx.Deadline()
	_ = conn.SetDeadline(until)
	first := base()
	var all []byte
	for i, q := range questions {
		b, err := query(first+uint16(i), q)
		if err != nil {
			return err
		}
		all = append(binary.BigEndian.AppendUint16(all, uint16(len(b))), b...)
	}
	if _, err := conn.Write(all); err != nil {
		return err
	}
	for range questions { // other messages than answers end the test
		var length [2]byte
		if _, err := io.ReadFull(conn, length[:]); err != nil {
			return err
		}
		b := make([]byte, binary.BigEndian.Uint16(length[:]))
		if _, err := io.ReadFull(conn, b); err != nil {
			return err
		}
		if _, _, ok := parse(b, first, questions); ok {
			return nil
		}
	}
	return errors.New("another program answers")
}

// reason is the cause in a few words; "" without an error.
func reason(err error) string {
	var number syscall.Errno
	switch {
	case err == nil:
		return ""
	case errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, context.DeadlineExceeded):
		return noAnswer
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "the server closes the connection"
	case errors.As(err, &number):
		return number.Error()
	default:
		return err.Error()
	}
}
