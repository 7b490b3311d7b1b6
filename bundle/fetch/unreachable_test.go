package fetch

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"

	"airgap.dev/airgap/internal/porttest"
)

// TestUnreachableIn: names that do not resolve and failed connections have the host of the request,
// also behind a proxy. Answers and broken transfers are not among them.
func TestUnreachableIn(t *testing.T) {
	to := func(err error) error { return &url.Error{Op: "Get", URL: "https://quay.io/v2/", Err: err} }
	for text, tc := range map[string]struct {
		err  error
		want bool
	}{
		"name":      {to(&net.OpError{Op: "dial", Err: &net.DNSError{Err: "no such host", Name: "quay.io"}}), true},
		"refused":   {to(&net.OpError{Op: "dial", Err: errors.New("connection refused")}), true},
		"proxy":     {to(&net.OpError{Op: "proxyconnect", Err: &net.OpError{Op: "dial", Err: errors.New("connection refused")}}), true},
		"reset":     {to(&net.OpError{Op: "read", Err: errors.New("connection reset")}), false},
		"cancelled": {to(context.Canceled), false},
		"answer":    {&statusError{url: "https://quay.io/", status: 404}, false},
	} {
		found := UnreachableIn(fmt.Errorf("image a: %w", &answerError{"explained", tc.err}))
		if tc.want != (len(found) == 1 && found[0].Host == "quay.io" && found[0].Cause != nil) {
			t.Errorf("%s: %+v", text, found)
		}
	}
}

// TestUnreachableRegistry: the error of a real registry client is recognized.
func TestUnreachableRegistry(t *testing.T) {
	host := "127.0.0.1:" + porttest.Reserve(t)
	c, err := NewClient(Sources{})
	if err != nil {
		t.Fatal(err)
	}
	c.Attempts = 1
	ref, err := name.ParseReference(host + "/a:1")
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.Manifest(t.Context(), ref)
	if found := UnreachableIn(err); len(found) == 0 || found[0].Host != host {
		t.Errorf("%+v: %v", found, err)
	}
	_, _, err = c.Open(t.Context(), "https://"+host+"/repomd.xml", 0)
	if found := UnreachableIn(err); len(found) != 1 || found[0].Host != host {
		t.Errorf("%+v: %v", found, err)
	}
}
