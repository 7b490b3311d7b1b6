package dataplane

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"
)

// lines is a connection with short lines of text.
type lines struct {
	net.Conn
	r *bufio.Reader
}

func (l *lines) read(limit time.Duration) (string, error) {
	if err := l.SetReadDeadline(time.Now().Add(limit)); err != nil {
		return "", err
	}
	b, err := l.r.ReadSlice('\n')
	return strings.TrimSuffix(string(b), "\n"), err
}

func (l *lines) write(line string) error {
	if err := l.SetWriteDeadline(time.Now().Add(callLimit)); err != nil {
		return err
	}
	_, err := l.Write([]byte(line + "\n"))
	return err
}

func (l *lines) ask(question string) (string, error) {
	if err := l.write(question); err != nil {
		return "", err
	}
	return l.read(callLimit)
}

// pathCall is a connection to another pod.
type pathCall struct {
	*lines
	process string // identity of the other pod's process
}

const (
	// dialLimit has time for two SYN packets: the kernel sends them after 0, 1 and 3 seconds.
	dialLimit = 2500 * time.Millisecond
	// dials fail all in 0.3 % of the measurements where half of the flows are lost in each direction,
	// so that a quarter of the connections work.
	dials   = 20
	samples = 20
)

var errForeign = errors.New("another program answered")

func openPath(ctx context.Context, to netip.AddrPort, hello string) (*pathCall, error) {
	dialer := net.Dialer{Timeout: dialLimit, KeepAlive: -1}
	conn, err := dialer.DialContext(ctx, "tcp4", to.String())
	if err != nil {
		return nil, err
	}
	c := &pathCall{lines: &lines{conn, bufio.NewReaderSize(conn, maxLine)}}
	answer, err := c.ask(hello)
	process, is := strings.CutPrefix(answer, greeting)
	if err == nil && !is {
		err = errForeign
	}
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	c.process = process
	return c, nil
}

// openMeasurement connects from several source ports if the first one gets no answer: a bad link
// loses some of them.
func openMeasurement(ctx context.Context, to netip.AddrPort) (*pathCall, error) {
	c, err := openPath(ctx, to, helloMeasure)
	if err == nil || !timedOut(err) {
		return c, err
	}
	opened := make(chan *pathCall, dials)
	for range dials {
		go func() {
			c, _ := openPath(ctx, to, helloMeasure) // one of them is enough
			opened <- c
		}()
	}
	var first *pathCall
	for range dials {
		switch c := <-opened; {
		case c == nil:
		case first == nil:
			first = c
		default:
			c.Close()
		}
	}
	if first == nil {
		return nil, err
	}
	return first, nil
}

// timedOut reports whether no packet came back.
func timedOut(err error) bool {
	of, is := errors.AsType[net.Error](err)
	return errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, syscall.ETIMEDOUT) || is && of.Timeout()
}

// latency returns the median and the 99th percentile of round trips.
func (c *pathCall) latency() (median, p99 time.Duration, err error) {
	var trips []time.Duration
	for i := range samples {
		sent, question := time.Now(), fmt.Sprintf("ping %d", i)
		answer, err := c.ask(question)
		if err == nil && answer != question {
			err = errForeign
		}
		if err != nil {
			return 0, 0, err
		}
		trips = append(trips, time.Since(sent))
	}
	slices.Sort(trips)
	return trips[samples/2], trips[(samples*99+99)/100-1], nil
}
