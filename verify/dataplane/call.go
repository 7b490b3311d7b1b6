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

// tries is how often a request is sent before it counts as failed: a lost packet does not mean
// that the network is broken.
const tries = 3

// caller calls pods and resolves names.
type caller struct {
	client *http.Client
	limit  time.Duration // of one try; TCP retransmits after one and three seconds
	pause  time.Duration // before the next try
}

// newCaller returns a caller with a new connection for each call: an established connection may
// hide a new fault.
func newCaller() caller {
	return caller{client: httpclient.New(&http.Transport{DisableKeepAlives: true}), limit: callLimit, pause: time.Second}
}

const callLimit = 5 * time.Second

// place is the node and its address in a pod's answer.
type place struct{ node, host string }

// call sends size bytes to HOST:PORT and expects them in the answer.
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
		return place{}, fmt.Errorf("another program answered (%s)", response.Status)
	}
	if !bytes.Equal(got, sent) {
		return place{}, errors.New("the answer has other bytes than the request")
	}
	return place{response.Header.Get(nodeHeader), response.Header.Get(hostHeader)}, nil
}

// lookup resolves a name with the pod's resolver.
func (c caller) lookup(ctx context.Context, name string) error {
	ctx, cancel := context.WithTimeout(ctx, c.limit)
	defer cancel()
	_, err := net.DefaultResolver.LookupNetIP(ctx, "ip4", name)
	return err
}

// persist returns the failure of the last try with the name target, or nil.
func (c caller) persist(ctx context.Context, target string, try func(context.Context) error) []Failure {
	for n := 1; ; n++ {
		err := try(ctx)
		if err == nil {
			return nil
		}
		if n == tries || ctx.Err() != nil {
			return []Failure{{target, plainText(err)}}
		}
		select {
		case <-ctx.Done():
		case <-time.After(c.pause):
		}
	}
}

const noReply = "no answer"

// plainText converts an error to a text without Go's details.
func plainText(err error) string {
	unknown, isDNS := errors.AsType[*net.DNSError](err)
	timeout, isNet := errors.AsType[net.Error](err)
	switch {
	case isDNS && unknown.IsNotFound:
		return "no such name"
	case errors.Is(err, context.DeadlineExceeded), isNet && timeout.Timeout(), errors.Is(err, net.ErrClosed): // closed by the end of the call during a write
		return noReply
	case errors.Is(err, syscall.ECONNREFUSED):
		return "connection refused"
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH):
		return "no route to host"
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "the connection was closed"
	case isDNS: // the resolver keeps only the text: "read udp A->B: read: connection refused"
		return strings.TrimSpace(unknown.Err[strings.LastIndex(unknown.Err, ": ")+1:])
	default:
		return err.Error()
	}
}
