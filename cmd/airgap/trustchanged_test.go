package main

import (
	"errors"
	"fmt"
	"testing"

	"airgap.dev/airgap/bundle/rpm"
)

// TestTrustChanged: what to do is a command with the repository's name, but where
// airgap.yaml itself asks for what is missing.
func TestTrustChanged(t *testing.T) {
	wrapped := func(required bool) error {
		return fmt.Errorf("plan bundle: %w", errors.Join(errors.New("other"), &rpm.TrustError{Repository: "baseos", Reason: "r", Required: required}))
	}
	for name, c := range map[string]struct {
		err  error
		want string
	}{
		"changed":  {wrapped(false), "ask its vendor on another way whether that is right, then take it: airgap bundle --update baseos"},
		"required": {wrapped(true), "ask those who run the repository for its signature; write signedMetadata: optional in packages.repositories only where its vendor signs none"},
		"another":  {errors.New("x"), ""},
	} {
		var hinted *coded
		if got := trustChanged(c.err); errors.As(got, &hinted) != (c.want != "") || hinted != nil && hinted.hint != c.want {
			t.Errorf("%s: %#v", name, got)
		}
	}
}
