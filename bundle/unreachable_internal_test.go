package bundle

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"
	"testing"

	"airgap.dev/airgap/internal/advice"
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
	err := groupUnreachable(errors.Join(nil, images, packages))
	want := "connect to 3 servers:\n  quay.io: dial tcp: connection refused\n  m1.example: dial tcp: connection refused\n  m2.example: dial tcp: connection refused\nimage quay.io/c: does not exist"
	if err.Error() != want || !strings.Contains(advice.Of(err), "set sources.proxy of airgap.yaml") {
		t.Errorf("hint %q\n%v", advice.Of(err), err)
	}
	for _, other := range []error{
		errors.New("image a: does not exist"),
		fmt.Errorf("read repository baseos: %w", errors.Join(refused("https://m1.example/"), errors.New("m2.example: 404"))),
	} {
		if got := groupUnreachable(other); !errors.Is(got, other) || got.Error() != other.Error() {
			t.Errorf("%v became %v", other, got)
		}
	}
}
