package main

import (
	"errors"

	"airgap.dev/airgap/bundle/rpm"
)

// trustChanged says what to do where less vouches for a repository than before.
func trustChanged(err error) error {
	changed, is := errors.AsType[*rpm.TrustError](err)
	switch {
	case !is:
		return err
	case changed.Required:
		return hint(err, "ask those who run the repository for its signature; write signedMetadata: optional in packages.repositories only where its vendor signs none")
	default:
		return hint(err, "ask its vendor on another way whether that is right, then take it: airgap bundle --update %s", changed.Repository)
	}
}
