package httpclient_test

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"testing"

	"airgap.dev/airgap/internal/httpclient"
)

// socks is a SOCKS 5 server without a login. It answers code, and connects through dial if it is 0.
func socks(t *testing.T, code byte, dial func(context.Context, string, string) (net.Conn, error)) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	serve := func(from net.Conn) {
		defer from.Close()
		head := make([]byte, 2)
		if _, err := io.ReadFull(from, head); err != nil { // version and number of methods
			return
		}
		_, _ = io.CopyN(io.Discard, from, int64(head[1]))
		_, _ = from.Write([]byte{5, 0})
		request := make([]byte, 5) // version, command, reserved, a name and its length
		if _, err := io.ReadFull(from, request); err != nil || request[3] != 3 {
			return
		}
		_, _ = io.CopyN(io.Discard, from, int64(request[4])+2)
		_, _ = from.Write([]byte{5, code, 0, 1, 0, 0, 0, 0, 0, 0})
		if code != 0 {
			return
		}
		to, err := dial(context.Background(), "tcp", "")
		if err != nil {
			return
		}
		defer to.Close()
		go func() { _, _ = io.Copy(to, from) }()
		_, _ = io.Copy(from, to)
	}
	go func() {
		for {
			from, err := l.Accept()
			if err != nil {
				return
			}
			go serve(from)
		}
	}()
	return l.Addr().String()
}

// TestSOCKS: ALL_PROXY with a SOCKS proxy, which resolves names, works; a refusal names it.
func TestSOCKS(t *testing.T) {
	noProxySettings(t)
	upstream, dial := server(t)
	t.Setenv("ALL_PROXY", "socks5h://"+socks(t, 0, dial))
	proxies, err := httpclient.EnvironmentProxies()
	if err != nil {
		t.Fatal(err)
	}
	if text, err := get(t, proxies, upstream.Certificate(), "https://example.com/x"); err != nil || text != "here" {
		t.Errorf("%q, %v", text, err)
	}
	t.Setenv("ALL_PROXY", "socks5://"+socks(t, 2, dial))
	if proxies, err = httpclient.EnvironmentProxies(); err != nil {
		t.Fatal(err)
	}
	_, err = get(t, proxies, upstream.Certificate(), "https://example.com/x")
	known, is := errors.AsType[*httpclient.ProxyError](err)
	if !is || !strings.Contains(known.Error(), "the proxy socks5://127.0.0.1") || !strings.Contains(known.Hint(), "ALL_PROXY") {
		t.Errorf("%v", err)
	}
}
