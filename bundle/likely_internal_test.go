package bundle

import (
	"fmt"
	"io"
	"net/http"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-containerregistry/pkg/v1/remote/transport"
)

// TestReasonFor: a page of a proxy does not count as an answer of the registry.
func TestReasonFor(t *testing.T) {
	const page = "<!DOCTYPE html><html><head><title>Blocked</title></head></html>"
	for _, tc := range []struct {
		status int
		body   string
		want   string
	}{
		{403, `{"errors":[{"code":"DENIED"}]}`, reasonRefused},
		{403, page, reasonPage},
		{401, page, reasonPage},
		{502, "", reasonSilent},
		{502, page, reasonPage},
		{404, page, reasonMissing},
	} {
		err := transport.CheckError(&http.Response{StatusCode: tc.status, Body: io.NopCloser(strings.NewReader(tc.body))}, http.StatusOK)
		if got := reasonFor(fmt.Errorf("image quay.io/a:1: %w", err)); got != tc.want {
			t.Errorf("%d with %q: got %q, want %q", tc.status, tc.body, got, tc.want)
		}
	}
}

// TestJoinPlaces: an image from both a rule and a setting is listed once, with both places.
func TestJoinPlaces(t *testing.T) {
	got := joinPlaces([]NotCarried{
		{Reference: "quay.io/a:1", Reason: "first", FoundIn: []string{"rule"}},
		{Reference: "quay.io/a:1", Reason: "second", FoundIn: []string{"setting"}},
		{Reference: "quay.io/b:1", FoundIn: []string{"setting"}},
	})
	want := []NotCarried{{"quay.io/a:1", "first", []string{"rule", "setting"}}, {"quay.io/b:1", "", []string{"setting"}}}
	if !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, want %+v", got, want)
	}
}
