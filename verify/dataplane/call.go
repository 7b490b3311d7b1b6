package dataplane

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"time"

	"airgap.dev/airgap/internal/httpclient"
)

// tries is how often something is tried before it is said not to answer: one
// lost packet is no broken network.
const tries = 3

// caller calls pods and resolves names.
type caller struct {
	client *http.Client
	limit  time.Duration // of one try; TCP sends again what was lost after one and three seconds
	pause  time.Duration // before the next
}

// newCaller makes a connection for each call: one that lasts would hide what has
// broken since.
func newCaller() caller {
	return caller{client: httpclient.New(&http.Transport{DisableKeepAlives: true}), limit: callLimit, pause: time.Second}
}

const callLimit = 5 * time.Second

// place is where a pod that answered said it was.
type place struct{ node, host string }

// call sends size bytes to HOST:PORT and wants them back.
func (c caller) call(ctx context.Context, address string, size int) (place, error) {
	ctx, cancel := context.WithTimeout(ctx, c.limit)
	defer cancel()
	sent := bytes.Repeat([]byte("airgap--"), size/8)
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+address+"/echo", bytes.NewReader(sent))
	if err != nil {
		return place{}, err
	}
	response, err := c.client.Do(request)
	if err != nil {
		return place{}, err
	}
	defer response.Body.Close()
	got, err := io.ReadAll(io.LimitReader(response.Body, large+1))
	if err != nil {
		return place{}, err
	}
	if response.StatusCode != http.StatusOK || response.Header.Get(nodeHeader) == "" {
		return place{}, fmt.Errorf("something else answered (%s)", response.Status)
	}
	if !bytes.Equal(got, sent) {
		return place{}, errors.New("other bytes came back than were sent")
	}
	return place{response.Header.Get(nodeHeader), response.Header.Get(hostHeader)}, nil
}

// lookup resolves a name as every program in a pod does.
func (c caller) lookup(ctx context.Context, name string) error {
	ctx, cancel := context.WithTimeout(ctx, c.limit)
	defer cancel()
	_, err := net.DefaultResolver.LookupNetIP(ctx, "ip4", name)
	return err
}

// persist gives the failure of the last try, called target, or nil.
func (c caller) persist(ctx context.Context, target string, try func(context.Context) error) []Failure {
	for n := 1; ; n++ {
		err := try(ctx)
		if err == nil {
			return nil
		}
		if n == tries || ctx.Err() != nil {
			return []Failure{{target, said(err)}}
		}
		select {
		case <-ctx.Done():
		case <-time.After(c.pause):
		}
	}
}

// said is an error in words that need no Go to be understood.
func said(err error) string {
	unknown, isDNS := errors.AsType[*net.DNSError](err)
	timeout, isNet := errors.AsType[net.Error](err)
	switch {
	case isDNS && unknown.IsNotFound:
		return "no such name"
	case errors.Is(err, context.DeadlineExceeded), isNet && timeout.Timeout():
		return "no answer"
	case errors.Is(err, syscall.ECONNREFUSED):
		return "connection refused"
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return "no route to host"
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "the connection broke"
	case isDNS: // the resolver keeps but the text: "read udp A->B: read: connection refused"
		return strings.TrimSpace(unknown.Err[strings.LastIndex(unknown.Err, ": ")+1:])
	default:
		return err.Error()
	}
}
