package fetch

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"testing"

	"airgap.dev/airgap/internal/advice"
	"airgap.dev/airgap/internal/httpclient"
)

// TestGroupUnreachable: each server is reported once, with one hint, next to the other errors.
func TestGroupUnreachable(t *testing.T) {
	refused := func(of string) error {
		return &url.Error{Op: "Get", URL: of, Err: &net.OpError{Op: "dial", Net: "tcp", Err: errors.New("connection refused")}}
	}
	images := errors.Join(
		fmt.Errorf("image quay.io/a: %w", refused("https://quay.io/v2/")),
		fmt.Errorf("image quay.io/b: %w", refused("https://quay.io/v2/")),
		advice.Add(errors.New("image quay.io/c: does not exist"), "another hint"),
	)
	packages := fmt.Errorf("read repository baseos: %w", errors.Join(refused("https://m1.example/os/repodata/repomd.xml"), refused("https://m2.example/os/repodata/repomd.xml")))
	err := GroupUnreachable(errors.Join(nil, images, packages))
	want := "connect to 3 servers:\n  quay.io: dial tcp: connection refused\n  m1.example: dial tcp: connection refused\n  m2.example: dial tcp: connection refused\nimage quay.io/c: does not exist"
	if err.Error() != want || !strings.Contains(advice.Of(err), "set sources.proxy of airgap.yaml") {
		t.Errorf("hint %q\n%v", advice.Of(err), err)
	}
	blocked := func(host string) error {
		return &url.Error{Op: "Get", URL: "https://" + host + "/v2/", Err: &httpclient.ProxyError{Proxy: "http://proxy:3128", Setting: "HTTPS_PROXY", Target: host + ":443", Status: 403}}
	}
	ntlm := &url.Error{Op: "Get", URL: "https://quay.io/", Err: &httpclient.ProxyError{Proxy: "http://proxy:3128", Setting: "HTTPS_PROXY", Target: "quay.io:443", Status: 407, Schemes: []string{"NTLM"}}}
	err = GroupUnreachable(errors.Join(blocked("ghcr.io"), blocked("ghcr.io"), blocked("quay.io"), ntlm))
	want = "connect to 3 servers:\n  ghcr.io: the proxy http://proxy:3128 refuses the connection to ghcr.io:443 (403 Forbidden)\n" +
		"  quay.io: the proxy http://proxy:3128 refuses the connection to quay.io:443 (403 Forbidden)\n" +
		"  http://proxy:3128: the proxy http://proxy:3128 accepts only logins with NTLM (407 Proxy Authentication Required)"
	if err.Error() != want || !strings.Contains(advice.Of(err), "allow ghcr.io:443") || !strings.Contains(advice.Of(err), "px or cntlm") {
		t.Errorf("hint %q\n%v", advice.Of(err), err)
	}
	for _, other := range []error{
		errors.New("image a: does not exist"),
		fmt.Errorf("read repository baseos: %w", errors.Join(refused("https://m1.example/"), errors.New("m2.example: 404"))),
	} {
		if got := GroupUnreachable(other); !errors.Is(got, other) || got.Error() != other.Error() {
			t.Errorf("%v became %v", other, got)
		}
	}
}
